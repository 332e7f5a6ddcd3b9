// Shows a plan as the native diff of each file, before anything is done, and asks what shall become of it.

import * as vscode from "vscode";
import { after } from "./patch";
import type { Plan, PlanChange } from "./protocol";
import { label, lines, plain } from "./text";

const { t } = vscode.l10n;
const scheme = "memls-plan";

/** Previews keeps the texts of the plans that are shown, for as long as they are. */
export class Previews implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly subscriptions: vscode.Disposable[];
  private count = 0;

  constructor() {
    this.subscriptions = [
      vscode.workspace.registerTextDocumentContentProvider(scheme, this),
      vscode.workspace.onDidCloseTextDocument((d) => {
        if (d.uri.scheme === scheme) this.texts.delete(d.uri.toString());
      }),
    ];
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  private virtual(side: string, change: PlanChange, text: string): vscode.Uri {
    const name = vscode.Uri.parse(change.uri, true).path.split("/").at(-1) ?? "memory.md";
    const uri = vscode.Uri.from({ scheme, path: `/${++this.count}/${side}/${name}` });
    this.texts.set(uri.toString(), lines(text));
    return uri;
  }

  /** Both sides of a change: as the file is, and as it would be. Both are copies, so that nothing in them can be edited or run. */
  private async sides(change: PlanChange): Promise<[vscode.Uri, vscode.Uri]> {
    const before = change.action === "create" ? "" : await read(vscode.Uri.parse(change.uri, true));
    const made = after(change, before);
    if (made === undefined) return [this.virtual("before", change, ""), this.virtual("diff", change, change.diff)];
    return [this.virtual("before", change, before), this.virtual("after", change, made)];
  }

  /** show opens the diff of a change, or one editor with those of several. */
  async show(title: string, changes: readonly PlanChange[]): Promise<void> {
    const sides = await Promise.all(changes.map((c) => this.sides(c)));
    const only = sides[0];
    if (!only) return;
    if (sides.length === 1) await vscode.commands.executeCommand("vscode.diff", ...only, title, { preview: true });
    else {
      const named = sides.map(([before, made], i) => [vscode.Uri.parse(changes[i]?.uri ?? "", true), before, made]);
      await vscode.commands.executeCommand("vscode.changes", title, named);
    }
  }

  /** close takes away the diffs that show opened. */
  async close(): Promise<void> {
    const ours = vscode.window.tabGroups.all
      .flatMap((g) => g.tabs)
      .filter((tab) => {
        const input = tab.input as { modified?: vscode.Uri; textDiffs?: { modified?: vscode.Uri }[] } | undefined;
        return [input?.modified, ...(input?.textDiffs ?? []).map((d) => d.modified)].some((uri) => uri?.scheme === scheme);
      });
    if (ours.length > 0) await vscode.window.tabGroups.close(ours, true);
  }

  dispose(): void {
    for (const s of this.subscriptions) s.dispose();
    this.texts.clear();
  }
}

async function read(uri: vscode.Uri): Promise<string> {
  return new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
}

export interface Choice {
  label: string;
  description?: string;
  value: string;
}

/**
 * ask puts a question that stays while the person looks through a diff beside it. It answers undefined when it was waved away.
 */
export async function ask(title: string, placeholder: string, choices: Choice[]): Promise<string | undefined> {
  const picked = await vscode.window.showQuickPick(choices, { title, placeHolder: placeholder, ignoreFocusOut: true });
  return picked?.value;
}

/** A row of a list of changes from which some are chosen. */
export interface ChangeItem extends vscode.QuickPickItem {
  change: PlanChange;
}

export function changeItem(change: PlanChange, title: string): ChangeItem {
  const words = (change.why ?? []).map((w) => w.term).join(", ");
  const verbs = { create: t("new"), update: t("changed"), delete: t("removed") };
  return {
    change,
    label: label(title, 100),
    description: verbs[change.action],
    detail: label([change.reason, words].filter(Boolean).join(" · "), 200),
  };
}

/** choose lets a person take some changes of a plan, looking at each while it is focused. */
export async function choose(plan: Plan, previews: Previews, title: string, name: (c: PlanChange) => string, all: boolean): Promise<PlanChange[] | undefined> {
  const pick = vscode.window.createQuickPick<ChangeItem>();
  pick.title = title;
  pick.placeholder = plain(plan.warnings.join(" ") || t("Choose what shall be done"), 300);
  pick.canSelectMany = true;
  pick.ignoreFocusOut = true;
  pick.matchOnDetail = true;
  pick.items = plan.changes.map((c) => changeItem(c, name(c)));
  if (all) pick.selectedItems = pick.items;
  const [first] = plan.changes;
  if (first) await previews.show(title, [first]);
  const chosen = await new Promise<readonly ChangeItem[] | undefined>((resolve) => {
    let shown = first;
    pick.onDidChangeActive(([item]) => {
      if (!item || item.change === shown) return;
      shown = item.change;
      void previews.show(title, [item.change]);
    });
    pick.onDidAccept(() => {
      resolve(pick.selectedItems);
      pick.hide();
    });
    pick.onDidHide(() => resolve(undefined));
    pick.show();
  });
  pick.dispose();
  return chosen && chosen.length > 0 ? chosen.map((i) => i.change) : undefined;
}
