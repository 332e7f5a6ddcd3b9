// Texts of memories where VS Code draws Markdown: tooltips and chats.

import * as vscode from "vscode";

/**
 * append adds a text as it is. Escaping alone would leave addresses, which are made links of where they stand: the characters
 * that tell them are written as entities.
 */
export function append(to: vscode.MarkdownString, text: string): vscode.MarkdownString {
  const escaped = new vscode.MarkdownString().appendText(text).value;
  return to.appendMarkdown(escaped.replace(/[:@.]/g, (c) => `&#${c.charCodeAt(0)};`));
}
