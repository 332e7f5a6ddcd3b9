// The API that other extensions get: vscode.extensions.getExtension("memls.memls").exports.getApi(1). docs/api.md describes it.
// Version 1 stays as it is; what changes becomes version 2.

import * as vscode from "vscode";
import type { Context } from "./commands/context";
import { Unavailable } from "./failure";
import type { FinishParams, FinishResult, RecallResponse, RecallResult, Turn as TurnKind } from "./protocol";

export interface RecallRequest {
  /** One conversation. What it was given it is not given again. 1 to 200 bytes. */
  session: string;
  /** Names this recall within the session. */
  token: string;
  /** What the person typed, before anything is added to it. */
  query: string;
  /** Who is asking, for the panel: the name of a chat, say. */
  source: string;
  turn?: TurnKind;
  /** URI of a workspace folder; the first when absent. */
  folder?: string;
  limit?: number;
  recentTools?: string[];
  exclude?: string[];
}

export interface MemlsApi1 {
  readonly version: 1;
  /** Push: onResult gets the fast result, then the refined one; the promise ends after both. */
  recall(request: RecallRequest, onResult: (result: RecallResult) => void, token?: vscode.CancellationToken): Promise<RecallResponse>;
  /** Pull: begins a recall. Do not wait for the promise before consume; it ends when the selection has settled. */
  announce(request: RecallRequest, token?: vscode.CancellationToken): Promise<RecallResponse>;
  /** Pull: what there is to place into a request now, or null. What it answers counts as given. */
  consume(at: { session: string; token: string; point: "initial" | "tool_result" }, token?: vscode.CancellationToken): Promise<RecallResult | null>;
  /** Ends a turn of pull delivery, however it ended. */
  finish(turn: FinishParams): Promise<FinishResult>;
  /** Says that a tool was used: memories that only document it are left out. */
  toolUsed(used: { session: string; tool: string; status: "ok" | "error" | "cancelled" }): Promise<void>;
  /** Says that the conversation began anew, that it was compacted, or that these memories have left it. */
  resetSession(reset: { session: string; reason?: "reset" | "compacted"; refs?: string[] }): Promise<void>;
  /** Fires when memories have changed. */
  readonly onDidChangeMemories: vscode.Event<void>;
}

export interface Exports {
  getApi(version: 1): MemlsApi1;
}

export function makeExports(context: Context): Exports {
  const api: MemlsApi1 = {
    version: 1,
    recall: (request, onResult, token) => context.turns.recall({ ...request, onResult }, token),
    announce: (request, token) => context.turns.announce(request, token),
    consume: (at, token) => context.turns.consume(at, token),
    finish: (turn) => context.connection.request("memory/finish", turn),
    toolUsed: (used) => context.connection.notifyServer("memory/toolUsed", used),
    resetSession: async (reset) => {
      await context.connection.request("memory/resetSession", reset);
    },
    onDidChangeMemories: context.memories.onChange,
  };
  return {
    getApi(version: number): MemlsApi1 {
      if (version !== 1) throw new Unavailable(`memls has version 1 of its API and not ${version}`);
      return api;
    },
  };
}
