// Remember… and Remember Selection…

import * as vscode from "vscode";
import type { RememberResult, Scope } from "../protocol";
import { plain } from "../text";
import { done, folder, open, type Context } from "./context";

const { t } = vscode.l10n;

/** The longest text that memls takes as one memory. */
const longest = 64 << 10;

async function scope(context: Context): Promise<Scope | "auto" | undefined> {
  const names: Record<Scope, [string, string]> = {
    project: [t("Project"), t("about this project")],
    user: [t("User"), t("about you, in every project")],
    team: [t("Team"), t("shared with everybody who works on the project")],
  };
  const items: (vscode.QuickPickItem & { scope: Scope | "auto" })[] = [
    { label: t("By Its Words"), description: t("memls decides"), scope: "auto" },
    ...context.memories.writableScopes().map((s) => ({ label: names[s][0], description: names[s][1], scope: s })),
  ];
  return (await vscode.window.showQuickPick(items, { title: t("Remember"), placeHolder: t("Where does this belong?") }))?.scope;
}

export async function remember(context: Context, text: string): Promise<void> {
  const where = await scope(context);
  if (!where) return;
  const result = await context.connection.request("memory/remember", { text, ...folder(), ...(where === "auto" ? {} : { scope: where }) });
  await told(context, result);
}

async function told(context: Context, result: RememberResult): Promise<void> {
  const already = result.unchanged?.[0];
  if (already !== undefined) {
    const show = t("Show It");
    if ((await vscode.window.showInformationMessage(t("A memory says this already."), show)) === show) {
      const memory = await context.connection.request("memory/get", { ref: already });
      await open(memory.uri, memory.range);
    }
    return;
  }
  const [change] = result.changes;
  if (!change) return;
  const message = change.action === "create" ? t("Remembered in {0}.", plain(change.ref)) : t("Updated {0}.", plain(change.ref));
  await done(context, message, {
    kind: "remember",
    at: result.at ?? "",
    changes: [],
    ...(result.id === undefined ? {} : { id: result.id }),
    ...(result.undoUntil === undefined ? {} : { undoUntil: result.undoUntil }),
    ...(result.warnings === undefined ? {} : { warnings: result.warnings }),
  });
}

/** rememberTyped asks for the text. */
export async function rememberTyped(context: Context, args: readonly unknown[]): Promise<void> {
  const given = typeof args[0] === "string" ? args[0] : "";
  const text = await vscode.window.showInputBox({
    title: t("Remember"),
    prompt: t("What should be remembered? One fact, in words that you would search for."),
    value: given,
    ignoreFocusOut: true,
    validateInput: (value) => (Buffer.byteLength(value) > longest ? t("This is too long for one memory.") : undefined),
  });
  if (text?.trim()) await remember(context, text);
}

/** rememberSelection takes what is selected in the editor, with no change to it but what the person makes. */
export async function rememberSelection(context: Context): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const text = editor?.document.getText(editor.selection) ?? "";
  if (!text.trim()) {
    void vscode.window.showInformationMessage(t("Select the text that should be remembered first."));
    return;
  }
  // A box of one line would join the lines of a longer selection.
  if (/[\r\n]/.test(text.trim())) await remember(context, text);
  else await rememberTyped(context, [text.trim()]);
}
