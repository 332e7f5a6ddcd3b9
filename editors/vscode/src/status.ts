// What the status bar and the language status say, and the contexts that menus and welcome texts depend on.

import * as vscode from "vscode";
import type { Connection } from "./client";
import { append } from "./markdown";
import type { Memories } from "./memories";
import { isStale } from "./memories";
import { age, daysSince, label, plain } from "./text";

const { t } = vscode.l10n;

/** View is what package.json's viewsWelcome and enablement ask for as memls.state. */
export type View = "starting" | "failed" | "untrusted" | "none" | "degraded" | "ready" | "stopped";

export function viewOf(connection: Connection, memories: Memories): View {
  if (connection.condition === "failed" || connection.condition === "stopped") return connection.condition;
  if (connection.condition === "starting" || !memories.loaded) return "starting";
  if (memories.list.length > 0) return memories.roots("degraded", "error").length > 0 ? "degraded" : "ready";
  if (memories.roots("loading").length > 0) return "starting";
  if (memories.roots("error", "degraded").length > 0) return "degraded";
  const untrusted = memories.roots("untrusted").length > 0 || (memories.status?.discovered ?? []).some((d) => d.state === "untrusted");
  return untrusted ? "untrusted" : "none";
}

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("memls.status", vscode.StatusBarAlignment.Right, 90);
  private language: vscode.LanguageStatusItem | undefined;
  private readonly subscriptions: vscode.Disposable[];
  private pending = 0;

  constructor(
    private readonly connection: Connection,
    private readonly memories: Memories,
  ) {
    this.item.name = "memls";
    this.item.command = "memls.actions";
    this.subscriptions = [
      this.item,
      memories.onChange(() => this.update()),
      connection.onCondition(() => this.update()),
      connection.on("memory/plansChanged", ({ pending }) => {
        this.pending = pending;
        this.update();
      }),
      vscode.window.onDidChangeActiveTextEditor(() => this.updateLanguage()),
    ];
    this.update();
    this.item.show();
  }

  private update(): void {
    const view = viewOf(this.connection, this.memories);
    void vscode.commands.executeCommand("setContext", "memls.state", view);
    if (view === "starting") this.pending = this.memories.status?.plans ?? this.pending;
    const count = this.memories.list.length;
    const tooltip = new vscode.MarkdownString();
    append(tooltip, this.summary(view, count));
    this.item.text = this.text(view, count);
    this.item.tooltip = tooltip;
    this.item.accessibilityInformation = { label: this.summary(view, count), role: "button" };
    this.item.backgroundColor = this.background(view);
    this.updateLanguage();
  }

  private background(view: View): vscode.ThemeColor | undefined {
    if (view === "failed") return new vscode.ThemeColor("statusBarItem.errorBackground");
    return view === "degraded" ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
  }

  private text(view: View, count: number): string {
    if (view === "starting") return "$(sync~spin) memls";
    if (view === "failed" || view === "stopped") return "$(error) memls";
    const inbox = this.pending > 0 ? ` $(inbox) ${this.pending}` : "";
    return `${view === "degraded" ? "$(warning)" : "$(book)"} ${count}${inbox}`;
  }

  private summary(view: View, count: number): string {
    switch (view) {
      case "starting":
        return t("memls is reading the memories");
      case "failed":
      case "stopped":
        return t("memls does not run. {0}", this.connection.reason);
      case "degraded": {
        const bad = this.memories.roots("degraded", "error").map((r) => `${plain(r.path, 120)}: ${plain(r.reason ?? r.state, 200)}`);
        return t("{0} memories. {1}", count, bad.join("; "));
      }
      case "untrusted":
        return t("Memories inside this workspace are not read: it is not trusted.");
      default:
        return this.pending > 0 ? t("{0} memories, {1} proposals in the inbox", count, this.pending) : t("{0} memories", count);
    }
  }

  private updateLanguage(): void {
    const document = vscode.window.activeTextEditor?.document;
    const memory = document && this.memories.of(document.uri);
    void vscode.commands.executeCommand("setContext", "memls.inMemory", memory !== undefined);
    if (!document || !memory) {
      this.language?.dispose();
      this.language = undefined;
      return;
    }
    this.language ??= vscode.languages.createLanguageStatusItem("memls.memory", { scheme: "file", language: "markdown" });
    const now = Date.now();
    const marks = [memory.scope, memory.type, age(daysSince(memory.updatedAt, now), t)].filter(Boolean);
    if (memory.status !== "active") marks.push(memory.status);
    this.language.name = "memls";
    this.language.text = label(marks.join(" · "));
    this.language.detail = memory.recallCount > 0 ? t("recalled {0} times", memory.recallCount) : t("memory");
    this.language.severity = memory.status !== "active" || isStale(memory, now) ? vscode.LanguageStatusSeverity.Warning : vscode.LanguageStatusSeverity.Information;
    this.language.command = { title: memory.pinned ? t("Unpin") : t("Pin"), command: memory.pinned ? "memls.unpin" : "memls.pin", arguments: [memory] };
  }

  dispose(): void {
    for (const s of this.subscriptions) s.dispose();
    this.language?.dispose();
  }
}
