// The settings `memls.…` of the editor, checked, and what they are to the server.

import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import type { InitializationOptions, RootOption, Scope } from "./protocol";

/** Settings are those that the extension itself uses; options is what the server is given. */
export interface Settings {
  serverPath: string;
  serverArgs: string[];
  groupBy: "type" | "age";
  options: InitializationOptions;
  /** The endpoint of the model, for which a key may be kept. */
  endpoint: string | undefined;
  /** What is set and cannot be used, one sentence each. */
  problems: string[];
}

const { t } = vscode.l10n;

/** A reader of one configuration, that notes what has the wrong type and goes on with the default. */
class Reader {
  readonly problems: string[] = [];
  private readonly config: vscode.WorkspaceConfiguration;

  constructor(scope?: vscode.ConfigurationScope) {
    this.config = vscode.workspace.getConfiguration("memls", scope);
  }

  private wrong(key: string, wanted: string): void {
    this.problems.push(t("memls.{0} is ignored: it should be {1}.", key, wanted));
  }

  text(key: string): string {
    const value = this.config.get<unknown>(key);
    if (typeof value === "string") return value.trim();
    if (value !== undefined && value !== null) this.wrong(key, t("a text"));
    return "";
  }

  flag(key: string, fallback: boolean): boolean {
    const value = this.config.get<unknown>(key);
    if (typeof value === "boolean") return value;
    if (value !== undefined && value !== null) this.wrong(key, t("true or false"));
    return fallback;
  }

  number(key: string, min: number, max: number): number | undefined {
    const value = this.config.get<unknown>(key);
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
    if (value !== undefined && value !== null) this.wrong(key, t("a whole number from {0} to {1}", min, max));
    return undefined;
  }

  choice<T extends string>(key: string, choices: readonly T[], fallback: T): T {
    const value = this.config.get<unknown>(key);
    if (choices.includes(value as T)) return value as T;
    if (value !== undefined && value !== null) this.wrong(key, t("one of {0}", choices.join(", ")));
    return fallback;
  }

  texts(key: string): string[] {
    const value = this.config.get<unknown>(key);
    if (Array.isArray(value) && value.every((v) => typeof v === "string")) return value;
    if (value !== undefined && value !== null) this.wrong(key, t("a list of texts"));
    return [];
  }

  /** The roots that are named, or undefined: then memls looks for them itself. */
  roots(folder: vscode.WorkspaceFolder | undefined): RootOption[] | undefined {
    const value = this.config.get<unknown>("roots");
    if (value === undefined || value === null) return undefined;
    const found: RootOption[] = [];
    for (const item of Array.isArray(value) ? value : [undefined]) {
      const root = rootOption(item, folder);
      if (typeof root !== "object") {
        this.wrong("roots", t('a list of {"scope": "project, user or team", "path": "an absolute path"}'));
        return undefined;
      }
      found.push(root);
    }
    return found;
  }
}

function rootOption(item: unknown, folder: vscode.WorkspaceFolder | undefined): RootOption | undefined {
  if (typeof item !== "object" || item === null) return undefined;
  const { scope, path: where, readOnly } = item as Record<string, unknown>;
  if (scope !== "project" && scope !== "user" && scope !== "team") return undefined;
  if (typeof where !== "string" || (readOnly !== undefined && typeof readOnly !== "boolean")) return undefined;
  let absolute = where.replace(/^~(?=$|[\\/])/, os.homedir());
  if (folder?.uri.scheme === "file") absolute = absolute.replaceAll("${workspaceFolder}", folder.uri.fsPath);
  if (!path.isAbsolute(absolute)) return undefined;
  return { scope: scope satisfies Scope, path: path.normalize(absolute), ...(readOnly === undefined ? {} : { readOnly }) };
}

/** Roots of all workspace folders together: each folder may name its own. */
function allRoots(problems: string[]): RootOption[] | undefined {
  const folders: (vscode.WorkspaceFolder | undefined)[] = [...(vscode.workspace.workspaceFolders ?? [])];
  if (folders.length === 0) folders.push(undefined);
  let named: RootOption[] | undefined;
  for (const folder of folders) {
    const reader = new Reader(folder);
    for (const root of reader.roots(folder) ?? []) {
      named ??= [];
      if (!named.some((r) => r.scope === root.scope && r.path === root.path)) named.push(root);
    }
    for (const problem of reader.problems) if (!problems.includes(problem)) problems.push(problem);
  }
  return named;
}

/** The name under which a key in the editor's secret storage is asked for. A variable that the person names goes before it. */
export const keyVariable = "MEMLS_MODEL_KEY";

/**
 * readSettings reads everything anew. hasKey answers whether the secret storage has a key for an endpoint.
 * Inv: what a folder that is not trusted sets is not among it; VS Code leaves out what package.json declares as restricted.
 */
export function readSettings(hasKey: (endpoint: string) => boolean): Settings {
  const reader = new Reader();
  const endpoint = reader.text("model.endpoint");
  const name = reader.text("model.name");
  const timeout = reader.number("model.requestTimeoutMs", 1, 30_000);
  const variable = reader.text("model.apiKeyVariable") || (endpoint && hasKey(endpoint) ? keyVariable : "");
  const problems = reader.problems;
  if (endpoint && !name) problems.push(t("memls.model.endpoint is ignored: memls.model.name does not name a model."));
  const roots = allRoots(problems);
  const options: InitializationOptions = {
    trusted: vscode.workspace.isTrusted,
    profile: reader.choice("profile", ["auto", "qwen", "claude", "plain"], "auto"),
    recall: { enabled: reader.flag("recall.enabled", true) },
    extract: { enabled: reader.flag("extract.enabled", false) },
    dream: { enabled: reader.flag("dream.enabled", false) },
    writePolicy: reader.choice("writePolicy", ["off", "review", "auto"], "review"),
    watcher: reader.choice("watcher", ["auto", "poll"], "auto"),
    worktrees: reader.choice("worktrees", ["isolate", "share"], "isolate"),
    activity: reader.flag("activity", true),
    ...(roots ? { roots } : {}),
  };
  if (endpoint && name) {
    options.model = { baseURL: endpoint, name, ...(variable ? { apiKeyEnv: variable } : {}), ...(timeout ? { requestTimeoutMs: timeout } : {}) };
  }
  return {
    serverPath: reader.text("server.path"),
    serverArgs: reader.texts("server.args"),
    groupBy: reader.choice("tree.groupBy", ["type", "age"], "type"),
    options,
    endpoint: options.model?.baseURL,
    problems,
  };
}

/** changes answers what must be sent for the server to know the new options: what is no longer set goes back to its default. */
export function changes(before: InitializationOptions, after: InitializationOptions): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof InitializationOptions>) {
    if (JSON.stringify(before[key]) !== JSON.stringify(after[key])) sent[key] = after[key] ?? null;
  }
  return sent;
}
