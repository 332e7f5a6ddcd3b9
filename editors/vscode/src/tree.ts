// The view of all memories: by scope, and below that by type or by age.

import * as vscode from "vscode";
import type { Connection } from "./client";
import { explain } from "./failure";
import { append } from "./markdown";
import { isStale, type Memories } from "./memories";
import type { GetResult, ListedDocument, Scope } from "./protocol";
import { age, daysSince, lines, plain } from "./text";

const { t } = vscode.l10n;

/** So many rows stand below one group; more are parted into runs of the alphabet, since thousands of rows are no list. */
const runLength = 200;

interface Group {
  kind: "scope" | "type" | "run";
  id: string;
  label: string;
  scope: Scope;
  icon: string;
  memories: ListedDocument[];
}
export type Node = Group | ListedDocument;

function isGroup(node: Node): node is Group {
  return "kind" in node;
}

/** memoriesOf answers the memories that a selection stands for. */
export function memoriesOf(nodes: readonly Node[]): ListedDocument[] {
  const found = new Map<string, ListedDocument>();
  for (const node of nodes) for (const m of isGroup(node) ? node.memories : [node]) found.set(m.ref, m);
  return [...found.values()];
}

const typeIcons: Record<string, string> = { user: "person", feedback: "comment-discussion", project: "project", reference: "link-external" };
const scopeIcons: Record<Scope, string> = { project: "folder-library", user: "account", team: "organization" };

export class MemoryTree implements vscode.TreeDataProvider<Node>, vscode.TreeDragAndDropController<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly dropMimeTypes = ["application/vnd.code.tree.memls.memories"];
  readonly dragMimeTypes = [];
  readonly view: vscode.TreeView<Node>;
  private words: string[] = [];
  private filterText = "";
  private readonly subscriptions: vscode.Disposable[] = [];

  constructor(
    private readonly memories: Memories,
    private readonly connection: Connection,
    private readonly groupBy: () => "type" | "age",
    private readonly move: (memories: ListedDocument[], scope: Scope) => Promise<void>,
  ) {
    this.view = vscode.window.createTreeView<Node>("memls.memories", { treeDataProvider: this, canSelectMany: true, showCollapseAll: true, dragAndDropController: this });
    this.subscriptions.push(this.view, memories.onChange(() => this.refresh()));
  }

  refresh(): void {
    this.changed.fire(undefined);
    const shown = this.filterText ? this.filtered().length : this.memories.list.length;
    this.view.message = this.message(shown) ?? "";
  }

  /** What stands above the tree: the filter, and what is wrong with which root. */
  private message(shown: number): string | undefined {
    const said: string[] = [];
    if (this.filterText) said.push(t("{0} of {1} memories match “{2}”.", shown, this.memories.list.length, plain(this.filterText, 60)));
    for (const root of this.memories.roots("degraded", "error")) {
      said.push(t("{0}: {1}", plain(root.path, 120), plain(root.reason ?? root.state, 200)));
    }
    // With memories on the screen the welcome of an empty view is not seen.
    if (shown > 0 && this.memories.roots("untrusted").length > 0) said.push(t("Memories inside this workspace are not read: it is not trusted."));
    return said.length > 0 ? said.join("\n") : undefined;
  }

  get filter(): string {
    return this.filterText;
  }

  set filter(text: string) {
    this.filterText = text;
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
    void vscode.commands.executeCommand("setContext", "memls.filtered", this.words.length > 0);
    this.refresh();
  }

  private filtered(): ListedDocument[] {
    if (this.words.length === 0) return [...this.memories.list];
    return this.memories.list.filter((m) => {
      const text = `${m.title}\n${m.description}\n${m.type}\n${m.ref}\n${m.keywords.join("\n")}`.toLowerCase();
      return this.words.every((w) => text.includes(w));
    });
  }

  getChildren(node?: Node): Node[] {
    if (!node) return this.scopes();
    if (!isGroup(node)) return [];
    if (node.kind === "scope") return this.groupBy() === "age" ? this.ages(node) : this.types(node);
    return node.kind === "type" ? this.runs(node) : node.memories;
  }

  private scopes(): Node[] {
    const all = this.filtered();
    const names: Record<Scope, string> = { project: t("Project"), user: t("User"), team: t("Team") };
    return (["project", "user", "team"] as const)
      .map((scope) => ({ kind: "scope" as const, id: scope, label: names[scope], scope, icon: scopeIcons[scope], memories: all.filter((m) => m.scope === scope) }))
      .filter((g) => g.memories.length > 0);
  }

  private types(parent: Group): Node[] {
    const known = ["user", "feedback", "project", "reference"];
    const place = (type: string): number => (known.includes(type) ? known.indexOf(type) : known.length);
    const types = [...new Set(parent.memories.map((m) => m.type))].sort((a, b) => place(a) - place(b) || a.localeCompare(b));
    return types.map((type) => ({
      kind: "type",
      id: `${parent.id}/${type}`,
      label: type ? plain(type, 40) : t("no type"),
      scope: parent.scope,
      icon: typeIcons[type] ?? "note",
      memories: parent.memories.filter((m) => m.type === type).sort(byTitle),
    }));
  }

  private ages(parent: Group): Node[] {
    const now = Date.now();
    const bounds: [number, string][] = [
      [7, t("This week")],
      [staleBound, t("This month")],
      [365, t("This year")],
      [Infinity, t("Older")],
    ];
    const groups: Group[] = bounds.map(([, name], i) => ({ kind: "type", id: `${parent.id}/age${i}`, label: name, scope: parent.scope, icon: "calendar", memories: [] }));
    for (const m of [...parent.memories].sort((a, b) => b.updatedAt.localeCompare(a.updatedAt))) {
      const days = daysSince(m.updatedAt, now);
      groups[bounds.findIndex(([bound]) => days < bound)]?.memories.push(m);
    }
    return groups.filter((g) => g.memories.length > 0);
  }

  private runs(parent: Group): Node[] {
    if (parent.memories.length <= runLength) return parent.memories;
    const runs: Node[] = [];
    for (let i = 0; i < parent.memories.length; i += runLength) {
      const part = parent.memories.slice(i, i + runLength);
      const ends = [part[0], part.at(-1)].map((m) => plain(m?.title ?? "", 24));
      runs.push({ kind: "run", id: `${parent.id}/run${i}`, label: ends.join(" – "), scope: parent.scope, icon: "list-unordered", memories: part });
    }
    return runs;
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return isGroup(node) ? this.groupItem(node) : this.memoryItem(node);
  }

  private groupItem(group: Group): vscode.TreeItem {
    const open = group.kind === "scope" || (group.kind === "type" && group.memories.length <= 50);
    const item = new vscode.TreeItem(group.label, open ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed);
    // The filter opens what it leaves; without it a group is as it was left.
    item.id = this.filterText ? `${group.id}?${this.filterText}` : group.id;
    item.description = String(group.memories.length);
    item.iconPath = new vscode.ThemeIcon(group.icon);
    item.contextValue = `group.${group.kind}`;
    item.accessibilityInformation = { label: t("{0}, {1} memories", group.label, group.memories.length) };
    return item;
  }

  private memoryItem(m: ListedDocument): vscode.TreeItem {
    const now = Date.now();
    const marks = [age(daysSince(m.updatedAt, now), t)];
    if (m.pinned) marks.push(t("pinned"));
    if (m.status === "superseded") marks.push(t("superseded"));
    else if (m.status === "expired") marks.push(t("expired"));
    else if (isStale(m, now)) marks.push(t("stale"));
    if (m.diagnostics > 0) marks.push(t("{0} problems", m.diagnostics));
    const title = plain(m.title) || this.memories.where(m);
    const item = new vscode.TreeItem(title);
    item.id = m.ref;
    item.description = marks.join(" · ");
    item.iconPath = memoryIcon(m, now);
    item.contextValue = `memory.${m.scope}.${m.pinned ? "pinned" : "loose"}`;
    item.accessibilityInformation = { label: `${title}, ${marks.join(", ")}` };
    item.command = { command: "vscode.open", title: t("Open"), arguments: [vscode.Uri.parse(m.uri, true)] };
    return item;
  }

  /** The tooltip is asked for when it is about to be shown: only then is the memory itself read. */
  async resolveTreeItem(item: vscode.TreeItem, node: Node, token: vscode.CancellationToken): Promise<vscode.TreeItem> {
    if (isGroup(node)) return item;
    try {
      item.tooltip = tooltip(node, await this.connection.request("memory/get", { ref: node.ref }, token), this.memories.where(node));
    } catch (error) {
      item.tooltip = explain(error);
    }
    return item;
  }

  handleDrag(source: readonly Node[], transfer: vscode.DataTransfer): void {
    transfer.set("application/vnd.code.tree.memls.memories", new vscode.DataTransferItem(memoriesOf(source)));
  }

  async handleDrop(target: Node | undefined, transfer: vscode.DataTransfer): Promise<void> {
    const dragged = transfer.get("application/vnd.code.tree.memls.memories")?.value as ListedDocument[] | undefined;
    if (!target || !Array.isArray(dragged)) return;
    const moved = dragged.filter((m) => m.scope !== target.scope);
    if (moved.length > 0) await this.move(moved, target.scope);
  }

  dispose(): void {
    for (const s of this.subscriptions) s.dispose();
    this.changed.dispose();
  }
}

/** "This month" ends where a memory begins to be stale. */
const staleBound = 30;

function byTitle(a: ListedDocument, b: ListedDocument): number {
  return a.title.localeCompare(b.title) || a.ref.localeCompare(b.ref);
}

function memoryIcon(m: ListedDocument, now: number): vscode.ThemeIcon {
  if (m.pinned) return new vscode.ThemeIcon("pinned");
  if (m.status !== "active") return new vscode.ThemeIcon("circle-slash", new vscode.ThemeColor("disabledForeground"));
  if (isStale(m, now)) return new vscode.ThemeIcon("history", new vscode.ThemeColor("list.warningForeground"));
  return new vscode.ThemeIcon("note");
}

function tooltip(m: ListedDocument, full: GetResult, where: string): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  const line = (name: string, value: string | undefined): void => {
    if (value) append(text, `${name}: ${plain(value, 300)}`).appendMarkdown("  \n");
  };
  append(text.appendMarkdown("**"), plain(m.title)).appendMarkdown("**\n\n");
  if (m.description) append(text, plain(m.description, 400)).appendMarkdown("\n\n");
  line(t("Path"), where);
  line(t("Updated"), m.updatedAt.slice(0, 10));
  line(t("Created"), full.provenance.createdAt?.slice(0, 10));
  line(t("Last verified"), full.provenance.lastVerifiedAt?.slice(0, 10));
  line(t("Expires"), full.provenance.expiresAt?.slice(0, 10));
  line(t("Category"), full.provenance.category);
  line(t("Supersedes"), full.provenance.supersedes?.join(", "));
  line(t("Stale"), full.stale?.detail);
  line(t("Last recalled"), m.lastRecalledAt ? `${m.lastRecalledAt.slice(0, 16).replace("T", " ")} (${m.recallCount}×)` : t("never, as far as is known"));
  if (m.feedback) line(t("Verdicts"), t("useful {0}, wrong {1}, outdated {2}", m.feedback.useful, m.feedback.wrong, m.feedback.outdated));
  line(t("Linked from"), full.backlinks.length > 0 ? String(full.backlinks.length) : undefined);
  return append(text.appendMarkdown("\n\n"), lines(full.body.slice(0, 400)));
}
