// What went wrong, in words for a person, with the remedy.

import * as vscode from "vscode";
import { ResponseError } from "vscode-languageclient/node";
import type { FailureData } from "./protocol";
import { plain } from "./text";

const { t } = vscode.l10n;

/** Unavailable is thrown where memls does not run or cannot do what is asked. Its message is for a person. */
export class Unavailable extends Error {}

/** failureOf answers what memls says of a request that it refused, or undefined for any other error. */
export function failureOf(error: unknown): FailureData | undefined {
  if (!(error instanceof ResponseError)) return undefined;
  const data: unknown = error.data;
  if (typeof data !== "object" || data === null) return undefined;
  const { kind, detail } = data as Partial<FailureData>;
  return typeof kind === "string" && typeof detail === "string" ? (data as FailureData) : undefined;
}

/** cancelled tells an error that only says that nobody waits any more. */
export function cancelled(error: unknown): boolean {
  return error instanceof vscode.CancellationError || (error instanceof ResponseError && (error.code === -32800 || error.code === -32802));
}

function remedy(kind: string): string {
  switch (kind) {
    case "conflict":
    case "stale_plan":
      return t("Save or close the file, and try again.");
    case "locked":
      return t("Try again in a moment.");
    case "untrusted":
      return t("Trust the workspace to use its memories.");
    case "secret_found":
      return t("Take the credential out of the text.");
    case "disabled":
      return t("See the settings of memls.");
    default:
      return "";
  }
}

/** explain puts any error into one sentence or two. */
export function explain(error: unknown): string {
  const failure = failureOf(error);
  if (failure) return [plain(failure.detail, 500), remedy(failure.kind)].filter(Boolean).join(failure.detail.endsWith(".") ? " " : ". ");
  if (error instanceof ResponseError && error.code === -32601) {
    return t("This memls does not have that feature yet. A newer memls may have it: see the setting memls.server.path.");
  }
  return plain(error instanceof Error ? error.message : String(error), 500);
}
