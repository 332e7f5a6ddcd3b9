// Recall for Selection…, Recall for Prompt…: what an agent would be given, shown in the panel.

import * as vscode from "vscode";
import { folder, type Context } from "./context";

const { t } = vscode.l10n;

async function recall(context: Context, query: string, source: string): Promise<void> {
  await vscode.commands.executeCommand("memls.surfaced.focus");
  await context.turns.recall({ session: context.turns.session, query, source, ...folder() });
}

export async function recallPrompt(context: Context, args: readonly unknown[]): Promise<void> {
  const query =
    typeof args[0] === "string"
      ? args[0]
      : await vscode.window.showInputBox({ title: t("Recall for Prompt"), prompt: t("Type what you would say to an agent; the panel shows what it would be given."), ignoreFocusOut: true });
  if (query?.trim()) await recall(context, query, t("prompt"));
}

export async function recallSelection(context: Context): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const query = editor?.document.getText(editor.selection) ?? "";
  if (query.trim()) await recall(context, query, t("selection"));
  else void vscode.window.showInformationMessage(t("Select the text of a question first."));
}
