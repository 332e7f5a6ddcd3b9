// Forget…: candidates, the diff of each, a question, and only then the change. Moving between scopes goes the same way.

import * as vscode from "vscode";
import { ask, choose } from "../preview";
import type { ListedDocument, MemoryTarget, Plan, PlanChange, Scope } from "../protocol";
import { plain } from "../text";
import { attempt, done, folder, saved, targets, type Context } from "./context";

const { t } = vscode.l10n;

function name(context: Context, change: PlanChange): string {
  return context.memories.named(change.ref)?.title ?? change.ref;
}

async function carryOut(context: Context, plan: Plan, changes: PlanChange[], purge: boolean): Promise<void> {
  if (!(await saved(changes.map((c) => c.uri)))) return;
  const operation = await context.connection.request("memory/apply", { plan: plan.id, only: changes.map((c) => c.id), ...(purge ? { purge } : {}) });
  const what = changes.length === 1 && changes[0] ? plain(name(context, changes[0]), 80) : t("{0} memories", changes.length);
  void done(context, purge ? t("Forgotten without a trace: {0}.", what) : t("Forgotten: {0}.", what), operation);
}

/** confirm shows what would go and asks. It answers whether something was done. */
async function confirm(context: Context, plan: Plan, changes: PlanChange[]): Promise<boolean> {
  const names = changes.map((c) => plain(name(context, c), 60)).join(", ");
  const title = changes.length === 1 ? t("Forget: {0}", names) : t("Forget {0} memories", changes.length);
  await context.previews.show(title, changes);
  const answer = await ask(title, plain(plan.warnings.join(" ") || t("This is what would go. It can be undone for a day."), 300), [
    { label: t("Forget"), description: names, value: "forget" },
    { label: t("Forget Without a Trace"), description: t("cannot be undone"), value: "purge" },
    { label: t("Keep"), value: "keep" },
  ]);
  const yes = answer === "forget" || answer === "purge";
  if (yes) await carryOut(context, plan, changes, answer === "purge");
  else await discard(context, plan);
  await context.previews.close();
  return yes;
}

async function discard(context: Context, plan: Plan): Promise<void> {
  // A plan that has expired meanwhile is as good as discarded.
  await context.connection.request("memory/discard", { plan: plan.id }).catch(() => undefined);
}

/** forgetTargets forgets exactly these memories, or entries, when the person says yes. */
export async function forgetTargets(context: Context, refs: MemoryTarget[]): Promise<boolean> {
  const plan = await context.connection.request("memory/forget", { refs });
  return confirm(context, plan, plan.changes);
}

async function forgetWords(context: Context): Promise<void> {
  const query = await vscode.window.showInputBox({ title: t("Forget"), prompt: t("What should be forgotten? Nothing goes before you have seen it."), ignoreFocusOut: true });
  if (!query?.trim()) return;
  const plan = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title: t("Looking for what to forget…"), cancellable: true }, (_p, token) =>
    context.connection.request("memory/forget", { query, limit: 20, ...folder() }, token),
  );
  const title = t("Forget: {0}", plain(query, 60));
  const chosen = await choose(plan, context.previews, title, (c) => name(context, c), plan.changes.length === 1);
  if (chosen) await confirm(context, plan, chosen);
  else {
    await context.previews.close();
    await discard(context, plan);
  }
}

/** forget forgets what it was called with, or from; from the palette it asks for words. */
export async function forget(context: Context, args: readonly unknown[]): Promise<void> {
  const memories = args.length > 0 ? targets(context, args) : [];
  if (memories.length > 0) await forgetTargets(context, memories.map(({ ref, version }) => ({ ref, version })));
  else await forgetWords(context);
}

/** forgetOpen forgets the memory in the active editor. */
export async function forgetOpen(context: Context, args: readonly unknown[]): Promise<void> {
  const memories = targets(context, args);
  if (memories.length === 0) throw new Error(t("This file is no memory."));
  await forgetTargets(context, memories.map(({ ref, version }) => ({ ref, version })));
}

/** move moves memories to another scope, each through a plan. */
export async function move(context: Context, memories: ListedDocument[], scope: Scope): Promise<void> {
  await attempt(context, async () => {
    const names = memories.map((m) => plain(m.title, 60)).join(", ");
    const title = t("Move to {0}: {1}", scope, plain(names, 120));
    const plans: Plan[] = [];
    for (const { ref, version } of memories) plans.push(await context.connection.request("memory/move", { ref, version, scope, ...folder() }));
    await context.previews.show(title, plans.flatMap((p) => p.changes));
    const warnings = plans.flatMap((p) => p.warnings).join(" ");
    const answer = await ask(title, plain(warnings || t("The file moves as it is. It can be undone for a day."), 300), [
      { label: t("Move"), description: plain(names, 120), value: "move" },
      { label: t("Leave"), value: "leave" },
    ]);
    await context.previews.close();
    if (answer !== "move") {
      for (const plan of plans) await discard(context, plan);
      return;
    }
    if (!(await saved(memories.map((m) => m.uri)))) return;
    for (const plan of plans) void done(context, t("Moved to {0}: {1}.", scope, plain(names, 120)), await context.connection.request("memory/apply", { plan: plan.id }));
  });
}

export async function moveCommand(context: Context, args: readonly unknown[]): Promise<void> {
  const memories = targets(context, args);
  if (memories.length === 0) throw new Error(t("Select a memory first."));
  const scopes = context.memories.writableScopes().filter((s) => memories.some((m) => m.scope !== s));
  if (scopes.length === 0) throw new Error(t("There is no other scope that can be written to."));
  const scope = await vscode.window.showQuickPick(scopes, { title: t("Move to Scope") });
  if (!scope) return;
  const moved = memories.filter((m) => m.scope !== scope);
  await move(context, moved, scope as Scope);
}
