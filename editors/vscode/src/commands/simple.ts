// Commands that ask memls for one thing: pin, verdicts, undo, the index, status, diagnostics.

import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Operation, StatusResult, Verdict } from "../protocol";
import { age, daysSince, label, plain } from "../text";
import { done, targets, type Context } from "./context";

const { t } = vscode.l10n;

export async function pin(context: Context, args: readonly unknown[], pinned: boolean): Promise<void> {
  for (const { ref } of targets(context, args)) await context.connection.request("memory/pin", { ref, pinned });
}

export async function feedback(context: Context, args: readonly unknown[], verdict: Verdict): Promise<void> {
  for (const { ref } of targets(context, args)) await context.connection.request("memory/feedback", { ref, verdict });
  await context.memories.refresh();
}

function kindName(operation: Operation): string {
  switch (operation.kind) {
    case "remember":
      return t("remembered");
    case "forget":
      return t("forgotten");
    case "move":
      return t("moved");
    case "pin":
      return t("pinned or unpinned");
    case "index":
      return t("index rebuilt");
    case "undo":
      return t("undone");
    case "extract":
      return t("extracted");
    case "dream":
      return t("consolidated");
  }
}

/** undo lists what can be taken back, the last change first. */
export async function undo(context: Context): Promise<void> {
  const { operations } = await context.connection.request("memory/operations", { limit: 50 });
  const undone = new Set(operations.map((o) => o.undoes));
  const possible = operations.filter((o) => o.id && o.undoUntil && !undone.has(o.id));
  if (possible.length === 0) {
    void vscode.window.showInformationMessage(t("There is nothing that memls could undo."));
    return;
  }
  const items = possible.map((operation) => ({
    operation,
    label: label(`${kindName(operation)}: ${operation.changes.map((c) => c.ref).join(", ")}`, 120),
    description: `${operation.at.slice(0, 16).replace("T", " ")} UTC`,
  }));
  const picked = await vscode.window.showQuickPick(items, { title: t("Undo Last Change"), placeHolder: t("Every file becomes what it was, byte for byte") });
  if (!picked) return;
  const operation = await context.connection.request("memory/undo", { operation: picked.operation.id ?? "" });
  void done(context, t("Undone: {0}.", plain(picked.label, 120)), operation);
}

/** openIndex opens the MEMORY.md of a root; of several, the one that is chosen. */
export async function openIndex(context: Context): Promise<void> {
  const roots = context.memories.roots("ready", "degraded", "loading");
  const uris = roots.map((root) => ({ root, uri: vscode.Uri.file(path.join(root.path, "MEMORY.md")) }));
  const there = (await Promise.all(uris.map(async (u) => ((await exists(u.uri)) ? [u] : [])))).flat();
  if (there.length === 0) {
    const make = t("Make One");
    const scope = roots.find((r) => !r.readOnly)?.scope;
    if (!scope) throw new Error(t("No memories are served here."));
    if ((await vscode.window.showInformationMessage(t("There is no MEMORY.md yet."), make)) !== make) return;
    await context.connection.request("memory/rebuildIndex", { scope });
    const uri = uris.find((u) => u.root.scope === scope && !u.root.readOnly)?.uri;
    if (uri) await vscode.window.showTextDocument(uri);
    return;
  }
  const items = there.map(({ root, uri }) => ({ label: root.scope, description: label(root.path), uri }));
  const picked = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { title: t("Open MEMORY.md") });
  if (picked) await vscode.window.showTextDocument(picked.uri);
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  return vscode.workspace.fs.stat(uri).then(
    () => true,
    () => false,
  );
}

/** report is the status as text. With paths of the home directory shortened it can be given away: it holds no memory and no question. */
export function report(status: StatusResult, home: string): string {
  const short = (text: string): string => (home && text.startsWith(home) ? `~${text.slice(home.length)}` : text);
  const out: string[] = [`memls ${status.process.version}, pid ${status.process.pid}, up ${Math.round(status.process.uptimeMs / 1000)} s`];
  out.push(`model: ${status.model.state}${status.model.name ? ` ${plain(status.model.name)}` : ""}${status.model.detail ? ` (${plain(status.model.detail)})` : ""}`);
  for (const r of status.roots) {
    out.push(`root ${r.scope} ${short(r.path)}: ${r.state}${r.reason ? ` (${plain(r.reason)})` : ""}, ${r.catalogued} of ${r.onDisk} files, changes by ${r.watch.mode}`);
    for (const s of r.skipped.slice(0, 20)) out.push(`  skipped ${plain(s.path)}: ${plain(s.reason)}`);
    if (r.skippedTotal > 20) out.push(`  … ${r.skippedTotal} skipped in all`);
  }
  for (const d of status.discovered) out.push(`place ${d.profile} ${d.scope} ${short(d.path)}: ${d.state}${d.reason ? ` (${plain(d.reason)})` : ""}`);
  for (const note of status.notes) out.push(`note: ${plain(note, 400)}`);
  out.push(`inbox: ${status.plans}`);
  return out.join("\n");
}

export async function showStatus(context: Context): Promise<void> {
  const status = await context.connection.request("memory/status", {});
  const document = await vscode.workspace.openTextDocument({ language: "plaintext", content: report(status, "") });
  await vscode.window.showTextDocument(document, { preview: true });
}

/** copyDiagnostics puts what a report of a fault needs on the clipboard; it works without a server, too. */
export async function copyDiagnostics(context: Context, version: string): Promise<void> {
  const { connection } = context;
  const out = [
    `extension ${version}, VS Code ${vscode.version} (${vscode.env.appName}, ${vscode.env.remoteName ?? "local"}), ${process.platform} ${process.arch}`,
    `server ${connection.condition}${connection.reason ? `: ${connection.reason}` : ""}, started ${connection.starts} times, from ${connection.server?.origin ?? "nowhere"}`,
    `workspace: ${vscode.workspace.workspaceFolders?.length ?? 0} folders, ${vscode.workspace.isTrusted ? "trusted" : "not trusted"}`,
  ];
  if (connection.condition === "running") out.push(report(await connection.request("memory/status", {}), os.homedir()));
  await vscode.env.clipboard.writeText(out.join("\n") + "\n");
  void vscode.window.showInformationMessage(t("Copied. It holds paths and counts, and no memory."));
}

/** newest answers in words how old the newest memory is, for the list of actions. */
export function newest(context: Context): string {
  const times = context.memories.list.map((m) => m.updatedAt).sort();
  const last = times.at(-1);
  return last ? age(daysSince(last, Date.now()), t) : "";
}
