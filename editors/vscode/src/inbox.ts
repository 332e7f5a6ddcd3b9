// The view of proposals that wait for a person.

import * as vscode from "vscode";
import { accept, drop, planName } from "./commands/review";
import { attempt, type Context } from "./commands/context";
import type { Plan, PlanChange } from "./protocol";
import { plain } from "./text";

const { t } = vscode.l10n;

export type InboxNode = { plan: Plan; change?: PlanChange };

export class Inbox implements vscode.TreeDataProvider<InboxNode>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<InboxNode>;
  private readonly subscriptions: vscode.Disposable[];
  private plans: Plan[] = [];

  constructor(private readonly context: Context) {
    this.view = vscode.window.createTreeView<InboxNode>("memls.inbox", { treeDataProvider: this });
    this.subscriptions = [
      this.view,
      context.connection.on("memory/plansChanged", () => void this.load()),
      context.connection.onCondition((condition) => {
        if (condition === "running") void this.load();
      }),
    ];
  }

  async load(): Promise<void> {
    try {
      this.plans = (await this.context.connection.request("memory/plans", {})).plans;
    } catch (error) {
      this.context.log.warn(`inbox: ${String(error)}`);
      this.plans = [];
    }
    void vscode.commands.executeCommand("setContext", "memls.inbox", this.plans.length > 0);
    this.view.badge = this.plans.length > 0 ? { value: this.plans.length, tooltip: t("{0} proposals", this.plans.length) } : undefined;
    this.changed.fire(undefined);
  }

  getChildren(node?: InboxNode): InboxNode[] {
    if (!node) return this.plans.map((plan) => ({ plan }));
    return node.change ? [] : node.plan.changes.map((change) => ({ plan: node.plan, change }));
  }

  getTreeItem({ plan, change }: InboxNode): vscode.TreeItem {
    if (!change) {
      const item = new vscode.TreeItem(planName(plan), vscode.TreeItemCollapsibleState.Expanded);
      item.id = plan.id;
      item.description = t("{0} changes", plan.changes.length);
      item.iconPath = new vscode.ThemeIcon(plan.kind === "dream" ? "sparkle" : "lightbulb");
      item.contextValue = "inbox.plan";
      return item;
    }
    const item = new vscode.TreeItem(plain(this.context.memories.named(change.ref)?.title ?? change.ref));
    const icons = { create: "diff-added", update: "diff-modified", delete: "diff-removed" };
    item.id = `${plan.id}/${change.id}`;
    item.description = plain(change.reason, 120);
    item.tooltip = plain(change.reason, 500);
    item.iconPath = new vscode.ThemeIcon(icons[change.action]);
    item.contextValue = "inbox.change";
    item.command = { command: "memls.inbox.show", title: t("Show Changes"), arguments: [{ plan, change }] };
    return item;
  }

  async show(node: InboxNode): Promise<void> {
    await this.context.previews.show(planName(node.plan), node.change ? [node.change] : node.plan.changes);
  }

  async accept(node: InboxNode): Promise<void> {
    await attempt(this.context, () => accept(this.context, node.plan, node.change ? [node.change] : node.plan.changes));
    await this.context.previews.close();
    await this.load();
  }

  async drop(node: InboxNode): Promise<void> {
    await attempt(this.context, () => drop(this.context, node.plan));
    await this.context.previews.close();
    await this.load();
  }

  dispose(): void {
    for (const s of this.subscriptions) s.dispose();
    this.changed.dispose();
  }
}
