// Recall for Selection…, Recall for Prompt…: what an agent would be given, shown in the panel.

import * as vscode from "vscode";
import { plain } from "../text";
import { folder, targets, type Context } from "./context";

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

/** explain says why a memory would be recalled for a prompt, or why it would not. */
export async function explainRecall(context: Context, args: readonly unknown[]): Promise<void> {
  const [memory] = targets(context, args);
  if (!memory) throw new Error(t("Select a memory first."));
  const query = await vscode.window.showInputBox({ title: t("Explain Recall: {0}", plain(memory.title, 60)), prompt: t("For which prompt should it be recalled?"), ignoreFocusOut: true });
  if (!query?.trim()) return;
  const { candidate } = await context.connection.request("memory/explain", { query, ref: memory.ref, ...folder() });
  if (!candidate) return;
  const words = [...new Set(candidate.why.map((w) => plain(w.term, 40)))].join(", ");
  const verdict = candidate.verdict === "returned" ? t("It would be recalled, at rank {0}.", candidate.rank) : t("It would not be recalled: {0}.", plain(candidate.detail ?? candidate.verdict, 300));
  void vscode.window.showInformationMessage(`${plain(memory.title, 80)}: ${verdict} ${words ? t("Words that match: {0}.", words) : ""}`);
}
