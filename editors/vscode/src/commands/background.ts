// Extract from Transcript… and Dream: Preview Consolidation: work of a model that ends as a proposal in the inbox.

import * as path from "node:path";
import * as vscode from "vscode";
import type { DreamResult, ExtractResult, Scope } from "../protocol";
import { plain } from "../text";
import { folder, type Context } from "./context";
import { review } from "./review";

const { t } = vscode.l10n;

/** The longest transcript that is sent: a frame has 64 MiB, and escaping may double a text. */
const longest = 24 << 20;

async function transcript(): Promise<{ text: string; name: string } | undefined> {
  const active = vscode.window.activeTextEditor?.document;
  const choices: (vscode.QuickPickItem & { from: "open" | "file" })[] = [{ label: t("From a File…"), from: "file" }];
  if (active) choices.unshift({ label: t("From the Active Editor"), description: plain(path.basename(active.fileName)), from: "open" });
  const choice = choices.length === 1 ? choices[0] : await vscode.window.showQuickPick(choices, { title: t("Extract from Transcript") });
  if (!choice) return undefined;
  if (choice.from === "open" && active) return { text: active.getText(), name: active.uri.toString() };
  const [file] = (await vscode.window.showOpenDialog({ title: t("Extract from Transcript"), openLabel: t("Extract") })) ?? [];
  if (!file) return undefined;
  const bytes = await vscode.workspace.fs.readFile(file);
  if (bytes.byteLength > longest) throw new Error(t("The transcript is longer than {0} MiB.", longest >> 20));
  return { text: new TextDecoder().decode(bytes), name: file.toString() };
}

export async function extract(context: Context): Promise<void> {
  const source = await transcript();
  if (!source) return;
  const result = await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: t("Extracting memories…"), cancellable: true }, (_p, token) =>
    context.connection.request("memory/extract", { session: `transcript ${source.name}`.slice(0, 200), transcript: { text: source.text }, trigger: "manual", ...folder() }, token),
  );
  await proposed(context, result, t("Nothing was found that is worth remembering."));
}

export async function dream(context: Context): Promise<void> {
  const scopes = context.memories.writableScopes();
  const scope = scopes.length === 1 ? scopes[0] : await vscode.window.showQuickPick(scopes, { title: t("Preview Consolidation"), placeHolder: t("The memories of which scope?") });
  if (!scope) return;
  const result = await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: t("Looking for what can be consolidated…"), cancellable: true }, (_p, token) =>
    context.connection.request("memory/dream", { scope: scope as Scope, ...folder() }, token),
  );
  await proposed(context, result, t("Nothing needs to be consolidated."));
}

/** proposed shows the plan that came of it, or why there is none. */
async function proposed(context: Context, result: DreamResult | ExtractResult, nothing: string): Promise<void> {
  const skipped = result.skipped.map((s) => plain(s.detail || s.reason, 300));
  if (result.plan && result.plan.changes.length > 0) {
    if (skipped.length > 0) context.log.info(`left out: ${skipped.join("; ")}`);
    await review(context, result.plan);
  } else if (result.operation) {
    void vscode.window.showInformationMessage(t("Done: {0} files were changed.", result.operation.changes.length));
  } else void vscode.window.showInformationMessage([nothing, ...skipped].join(" "));
}
