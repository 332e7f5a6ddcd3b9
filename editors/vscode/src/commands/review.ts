// Review Inbox: what extraction and consolidation propose, file by file, to be accepted in part or dropped.

import * as vscode from "vscode";
import type { Plan, PlanChange } from "../protocol";
import { ask, choose } from "../preview";
import { label, plain } from "../text";
import { done, saved, type Context } from "./context";

const { t } = vscode.l10n;

export function planName(plan: Plan): string {
  const kind = plan.kind === "dream" ? t("Consolidation") : plan.kind === "extract" ? t("Extraction") : plan.kind;
  return t("{0} of {1}", kind, plan.createdAt.slice(0, 16).replace("T", " "));
}

function name(context: Context, change: PlanChange): string {
  return context.memories.named(change.ref)?.title ?? change.ref;
}

/** accept applies some changes of a plan. What is left of it stays in the inbox. */
export async function accept(context: Context, plan: Plan, changes: PlanChange[]): Promise<void> {
  if (!(await saved(changes.map((c) => c.uri)))) return;
  const operation = await context.connection.request("memory/apply", { plan: plan.id, only: changes.map((c) => c.id) });
  void done(context, t("Accepted {0} of {1} changes.", changes.length, plan.changes.length), operation);
}

export async function drop(context: Context, plan: Plan): Promise<void> {
  await context.connection.request("memory/discard", { plan: plan.id });
}

/** review goes through one plan: all changes are chosen at first. */
export async function review(context: Context, plan: Plan): Promise<void> {
  const title = planName(plan);
  await context.previews.show(title, plan.changes);
  const answer = await ask(title, plain(plan.warnings.join(" ") || t("{0} changes are proposed. Nothing has been done yet.", plan.changes.length), 300), [
    { label: t("Accept All"), value: "all" },
    { label: t("Choose…"), description: t("accept some of the changes"), value: "some" },
    { label: t("Drop"), description: t("the proposal is thrown away"), value: "drop" },
    { label: t("Decide Later"), value: "later" },
  ]);
  let chosen: PlanChange[] | undefined;
  if (answer === "all") chosen = plan.changes;
  else if (answer === "some") chosen = await choose(plan, context.previews, title, (c) => name(context, c), true);
  if (chosen) await accept(context, plan, chosen);
  else if (answer === "drop") await drop(context, plan);
  await context.previews.close();
}

export async function reviewInbox(context: Context): Promise<void> {
  const { plans } = await context.connection.request("memory/plans", {});
  if (plans.length === 0) {
    void vscode.window.showInformationMessage(t("The inbox is empty."));
    return;
  }
  const items = plans.map((plan) => ({ plan, label: label(planName(plan)), description: t("{0} changes", plan.changes.length) }));
  const picked = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { title: t("Review Inbox") });
  if (picked) await review(context, picked.plan);
}
