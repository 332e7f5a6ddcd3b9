// What the commands work with.

import * as vscode from "vscode";
import type { Connection } from "../client";
import { cancelled, explain } from "../failure";
import { fileKey, type Memories } from "../memories";
import type { Previews } from "../preview";
import type { ListedDocument, Operation } from "../protocol";
import type { MemoryTree, Node } from "../tree";
import { memoriesOf } from "../tree";
import { plain } from "../text";
import type { Turns } from "../turns";

const { t } = vscode.l10n;

export interface Context {
  connection: Connection;
  memories: Memories;
  previews: Previews;
  turns: Turns;
  log: vscode.LogOutputChannel;
  tree(): MemoryTree;
}

/** The workspace folder that a request is about: that of the active editor, else the first. */
export function folder(): { folder?: string } {
  const active = vscode.window.activeTextEditor?.document.uri;
  const found = (active && vscode.workspace.getWorkspaceFolder(active)) ?? vscode.workspace.workspaceFolders?.[0];
  return found?.uri.scheme === "file" ? { folder: found.uri.toString() } : {};
}

/** attempt runs a command and shows why it could not be done. */
export async function attempt(context: Context, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (cancelled(error)) return;
    const message = explain(error);
    context.log.warn(message);
    const output = t("Show Output");
    if ((await vscode.window.showErrorMessage(message, output)) === output) context.log.show();
  }
}

/**
 * targets answers which memories a command is about: those of the view that it was called from, those that it was called with,
 * or the one in the active editor.
 */
export function targets(context: Context, args: readonly unknown[]): ListedDocument[] {
  const [first, selection] = args;
  if (Array.isArray(selection) && selection.length > 0) return memoriesOf(selection as Node[]);
  if (first instanceof vscode.Uri) {
    const memory = context.memories.of(first);
    return memory ? [memory] : [];
  }
  if (typeof first === "string") {
    const memory = context.memories.named(first);
    return memory ? [memory] : [];
  }
  if (typeof first === "object" && first !== null) return memoriesOf([first as Node]);
  const selected = context.tree().view.visible ? memoriesOf(context.tree().view.selection) : [];
  const active = vscode.window.activeTextEditor?.document.uri;
  const open = active && context.memories.of(active);
  return open ? [open] : selected;
}

/** done tells what an operation did and offers to take it back. */
export async function done(context: Context, message: string, operation: Operation): Promise<void> {
  const undo = t("Undo");
  const said = [message, ...(operation.warnings ?? []).map((w) => plain(w, 300))].join(" ");
  const choice = operation.id && operation.undoUntil ? [undo] : [];
  if ((await vscode.window.showInformationMessage(said, ...choice)) !== undo || !operation.id) return;
  await attempt(context, async () => {
    await context.connection.request("memory/undo", { operation: operation.id ?? "" });
    void vscode.window.showInformationMessage(t("Undone."));
  });
}

/** saved makes sure that no file with unsaved changes is in the way: memls refuses to write to those. */
export async function saved(uris: readonly string[]): Promise<boolean> {
  const keys = new Set(uris.map(fileKey));
  const dirty = vscode.workspace.textDocuments.filter((d) => d.isDirty && d.uri.scheme === "file" && keys.has(fileKey(d.uri)));
  if (dirty.length === 0) return true;
  const save = t("Save");
  const names = dirty.map((d) => vscode.workspace.asRelativePath(d.uri)).join(", ");
  if ((await vscode.window.showWarningMessage(t("{0} has unsaved changes.", plain(names, 200)), { modal: true }, save)) !== save) return false;
  return (await Promise.all(dirty.map((d) => d.save()))).every(Boolean);
}

export async function open(uri: string, range?: { start: { line: number; character: number } }): Promise<void> {
  const at = range && new vscode.Position(range.start.line, range.start.character);
  await vscode.window.showTextDocument(vscode.Uri.parse(uri, true), { preview: true, ...(at ? { selection: new vscode.Range(at, at) } : {}) });
}
