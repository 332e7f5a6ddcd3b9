// Search Memories…: what is typed is looked for at once, what is focused is shown.

import * as vscode from "vscode";
import { cancelled, explain } from "../failure";
import type { RecallDocument } from "../protocol";
import { age, label, plain } from "../text";
import { attempt, folder, open, type Context } from "./context";

const { t } = vscode.l10n;

/** Long enough that a word typed at ease is one question, short enough to seem immediate. */
const debounceMs = 120;

interface Item extends vscode.QuickPickItem {
  memory?: RecallDocument;
}

const pinButton: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("pin"), tooltip: t("Pin") };
const unpinButton: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("pinned"), tooltip: t("Unpin") };
const forgetButton: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("trash"), tooltip: t("Forget…") };

function item(memory: RecallDocument): Item {
  const marks = [memory.scope, memory.type, age(memory.ageDays, t)];
  if (memory.status !== "active") marks.push(memory.status === "superseded" ? t("superseded") : t("expired"));
  else if (memory.stale) marks.push(t("stale"));
  return {
    memory,
    label: label(memory.title, 120),
    description: label(marks.filter(Boolean).join(" · ")),
    detail: label(memory.body || memory.description, 180),
    alwaysShow: true,
    buttons: [memory.pinned ? unpinButton : pinButton, forgetButton],
  };
}

/** One search box: at most one question is under way, and answers to older ones are dropped. */
class Search {
  readonly pick = vscode.window.createQuickPick<Item>();
  private timer: NodeJS.Timeout | undefined;
  private asked: vscode.CancellationTokenSource | undefined;

  constructor(private readonly context: Context) {
    this.pick.title = t("Search Memories");
    this.pick.placeholder = t("Words that a memory may have; superseded and expired ones are found, too");
    this.pick.onDidChangeValue(() => this.later());
    this.pick.onDidChangeActive(([active]) => void this.preview(active));
    this.pick.onDidAccept(() => void this.accept());
    this.pick.onDidTriggerItemButton((e) => void this.button(e.item, e.button));
    this.pick.onDidHide(() => this.end());
  }

  show(value: string): void {
    this.pick.value = value;
    this.pick.show();
    if (value) void this.ask();
  }

  private later(): void {
    this.asked?.cancel();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.ask(), debounceMs);
  }

  private async ask(): Promise<void> {
    const query = this.pick.value;
    this.asked?.dispose();
    const asked = (this.asked = new vscode.CancellationTokenSource());
    this.pick.busy = true;
    try {
      const found = await this.context.connection.request("memory/search", { query, limit: 50, inactive: true, ...folder() }, asked.token);
      if (asked.token.isCancellationRequested) return;
      const items = found.documents.map(item);
      if (items.length === 0 && query.trim()) items.push({ label: t("Nothing found"), detail: t("No memory shares a word with this."), alwaysShow: true });
      this.pick.items = items;
    } catch (error) {
      if (!cancelled(error) && !asked.token.isCancellationRequested) this.pick.items = [{ label: t("The search failed"), detail: label(explain(error)), alwaysShow: true }];
    } finally {
      if (this.asked === asked) this.pick.busy = false;
    }
  }

  private async preview(active: Item | undefined): Promise<void> {
    if (!active?.memory) return;
    const { uri, range } = active.memory;
    const selection = new vscode.Range(range.start.line, range.start.character, range.start.line, range.start.character);
    try {
      await vscode.window.showTextDocument(vscode.Uri.parse(uri, true), { preview: true, preserveFocus: true, selection });
    } catch {
      // Gone, or too large to be shown; the list stays usable.
    }
  }

  private async accept(): Promise<void> {
    const memory = this.pick.activeItems[0]?.memory;
    if (!memory) return;
    this.pick.hide();
    await attempt(this.context, () => open(memory.uri, memory.range));
  }

  private async button(chosen: Item, button: vscode.QuickInputButton): Promise<void> {
    if (!chosen.memory) return;
    if (button === forgetButton) {
      this.pick.hide();
      await vscode.commands.executeCommand("memls.forget", chosen.memory.ref);
      return;
    }
    await vscode.commands.executeCommand(button === pinButton ? "memls.pin" : "memls.unpin", chosen.memory.ref);
    await this.ask();
  }

  private end(): void {
    clearTimeout(this.timer);
    this.asked?.cancel();
    this.asked?.dispose();
    this.pick.dispose();
  }
}

export function search(context: Context, args: readonly unknown[]): void {
  new Search(context).show(typeof args[0] === "string" ? plain(args[0]) : "");
}
