// What the editor knows of the memories: the list without bodies and the state of the roots, asked anew when memls says that
// something has changed, and at no other time.

import * as path from "node:path";
import * as vscode from "vscode";
import type { Connection } from "./client";
import { cancelled, explain } from "./failure";
import type { ListedDocument, RootCondition, Scope, StatusResult } from "./protocol";
import { daysSince } from "./text";

/** As memls has it: a memory that is older should be checked before it is trusted. */
export const staleDays = 30;

export function isStale(memory: ListedDocument, now: number): boolean {
  return memory.status === "active" && daysSince(memory.updatedAt, now) >= staleDays;
}

/** One key for a file, however its URI is spelt. */
export function fileKey(uri: vscode.Uri | string): string {
  const file = (typeof uri === "string" ? vscode.Uri.parse(uri, true) : uri).fsPath;
  return process.platform === "linux" ? file : file.toLowerCase();
}

export class Memories implements vscode.Disposable {
  private all: ListedDocument[] = [];
  private byFile = new Map<string, ListedDocument>();
  private byRef = new Map<string, ListedDocument>();
  private readonly changed = new vscode.EventEmitter<void>();
  /** Fires when the list or the state of a root is another. */
  readonly onChange = this.changed.event;
  status: StatusResult | undefined;
  /** Whether the list has been read to its end since memls started. */
  loaded = false;
  private running: Promise<void> | undefined;
  private again = false;
  private readonly subscriptions: vscode.Disposable[] = [];

  constructor(
    private readonly connection: Connection,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.subscriptions.push(
      connection.on("memory/changed", () => void this.refresh()),
      connection.on("memory/statusChanged", () => void this.refresh()),
      connection.onCondition((condition) => {
        if (condition === "running") void this.refresh();
        else this.forgetAll();
      }),
    );
  }

  private forgetAll(): void {
    this.loaded = false;
    this.status = undefined;
    // The list stays on the screen while memls starts again after a crash; it is replaced when it has been read anew.
    if (this.connection.condition !== "starting") this.take([]);
    this.changed.fire();
  }

  /** refresh reads everything anew. What is asked for while that goes on is done once more afterwards, not many times. */
  refresh(): Promise<void> {
    if (this.running) {
      this.again = true;
      return this.running;
    }
    this.running = this.load().finally(() => {
      this.running = undefined;
      if (!this.again) return;
      this.again = false;
      void this.refresh();
    });
    return this.running;
  }

  private async load(): Promise<void> {
    if (this.connection.condition !== "running") return;
    try {
      const status = await this.connection.request("memory/status", {});
      const found: ListedDocument[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await this.connection.request("memory/list", { limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
        found.push(...page.documents);
        cursor = page.cursor;
        if (cursor === undefined) break;
      }
      this.status = status;
      this.loaded = true;
      this.take(found);
      this.changed.fire();
    } catch (error) {
      if (!cancelled(error)) this.log.warn(`the list of memories could not be read: ${explain(error)}`);
    }
  }

  private take(found: ListedDocument[]): void {
    this.all = found;
    this.byFile = new Map(found.map((m) => [fileKey(m.uri), m]));
    this.byRef = new Map(found.map((m) => [m.ref, m]));
  }

  get list(): readonly ListedDocument[] {
    return this.all;
  }

  /** of answers the memory in a file. */
  of(uri: vscode.Uri): ListedDocument | undefined {
    return uri.scheme === "file" ? this.byFile.get(fileKey(uri)) : undefined;
  }

  /** named answers the memory that a ref names; a ref of an entry stands for its file. */
  named(ref: string): ListedDocument | undefined {
    return this.byRef.get(ref.replace(/#\d+$/, ""));
  }

  /** The roots that are served, or could be. */
  roots(...states: RootCondition[]): StatusResult["roots"] {
    return (this.status?.roots ?? []).filter((r) => states.length === 0 || states.includes(r.state));
  }

  /** The scopes that something can be written to. */
  writableScopes(): Scope[] {
    const scopes = this.roots("ready", "degraded", "loading", "missing")
      .filter((r) => !r.readOnly)
      .map((r) => r.scope);
    for (const place of this.status?.discovered ?? []) if (place.state === "new") scopes.push(place.scope);
    return (["project", "user", "team"] as const).filter((s) => scopes.includes(s));
  }

  /** The path of a memory as a person knows it: relative to its root. */
  where(memory: { uri: string; scope: Scope }): string {
    const file = vscode.Uri.parse(memory.uri, true).fsPath;
    const root = this.roots().find((r) => r.scope === memory.scope && !path.relative(r.path, file).startsWith(".."));
    return root ? path.relative(root.path, file) : file;
  }

  dispose(): void {
    for (const s of this.subscriptions) s.dispose();
    this.changed.dispose();
  }
}
