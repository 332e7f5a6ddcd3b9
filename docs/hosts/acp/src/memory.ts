// A client of memls with pull delivery: the four calls that an agent's turn makes.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import {
  createMessageConnection,
  StreamMessageReader,
  StreamMessageWriter,
  type MessageConnection,
} from "vscode-jsonrpc/node";

/** Who or what a turn comes from. Only "user" recalls. */
export type Turn = "user" | "retry" | "continue" | "restore" | "runtime";

/** How a turn ended. */
export type Outcome = "end_turn" | "cancelled" | "error" | "loop_protection" | "limit";

/** What memory/consume answers, as far as an agent needs it. */
export interface Memories {
  phase: "fast" | "refined";
  documents: { ref: string; version: string }[];
  prompt: string;
}

export interface Message {
  role: string;
  text: string;
}

export interface MemoryOptions {
  /** The program and its arguments, such as ["memls", "serve", "--stdio"]. */
  command: string[];
  /** The workspace folder. */
  cwd: string;
  /** initializationOptions; see docs/protocol.md. */
  options: Record<string, unknown>;
  /** A file to which every message to memls is added, one JSON object a line. */
  trace?: string | undefined;
}

/**
 * Memory is a running memls. An agent works without it: when it cannot be started
 * or has gone, turns go on and have no memories.
 */
export class Memory {
  private constructor(
    private readonly child: ChildProcess,
    private readonly connection: MessageConnection,
    private readonly trace: string | undefined,
  ) {}

  static async start(o: MemoryOptions): Promise<Memory> {
    const [program, ...args] = o.command;
    if (program === undefined) throw new Error("no command for memls");
    const child = spawn(program, args, { cwd: o.cwd, stdio: ["pipe", "pipe", "inherit"] });
    await once(child, "spawn");
    const connection = createMessageConnection(new StreamMessageReader(child.stdout!), new StreamMessageWriter(child.stdin!));
    const memory = new Memory(child, connection, o.trace);
    // A memls that dies must end no turn: what is under way fails, and is caught.
    connection.onError(() => {});
    child.stdin!.on("error", () => {});
    child.on("exit", () => connection.dispose());
    connection.listen();
    await connection.sendRequest("initialize", {
      processId: process.pid,
      clientInfo: { name: "memls-acp-host" },
      capabilities: {},
      workspaceFolders: [{ uri: pathToFileURL(o.cwd).href, name: "workspace" }],
      initializationOptions: o.options,
    });
    await connection.sendNotification("initialized", {});
    return memory;
  }

  /**
   * Announces a turn. It does not wait: the answer comes when the selection has
   * settled, and a turn must not wait for that.
   */
  recall(session: string, token: string, query: string, turn: Turn): void {
    this.request("memory/recall", { session, token, query, turn, delivery: "pull" }).catch(() => {});
  }

  /**
   * Takes what there is. What it returns counts as delivered: call it last, when
   * nothing can drop the request any more.
   */
  async consume(session: string, token: string, point: "initial" | "tool_result"): Promise<Memories | null> {
    try {
      return await this.request<Memories | null>("memory/consume", { session, token, point });
    } catch {
      return null; // a turn without memories is better than none
    }
  }

  toolUsed(session: string, tool: string, status: "ok" | "error" | "cancelled"): void {
    this.note("memory/toolUsed", { session, tool, status });
    this.connection.sendNotification("memory/toolUsed", { session, tool, status }).catch(() => {});
  }

  /** Ends a turn. Nothing waits for what memls makes of it. */
  finish(session: string, token: string, outcome: Outcome, messages: Message[]): void {
    this.request("memory/finish", { session, token, outcome, messages }).catch(() => {});
  }

  /** Says that earlier messages have left the context of a session. */
  compacted(session: string): void {
    this.request("memory/resetSession", { session, reason: "compacted" }).catch(() => {});
  }

  /** Says that these memories are not in the context of a session any more. */
  withdrawn(session: string, refs: string[]): void {
    this.request("memory/resetSession", { session, refs }).catch(() => {});
  }

  async close(): Promise<void> {
    const gone = this.child.exitCode === null && this.child.signalCode === null ? once(this.child, "exit") : undefined;
    try {
      await this.connection.sendRequest("shutdown");
      await this.connection.sendNotification("exit");
    } catch {
      this.child.kill();
    }
    await gone;
  }

  private request<R>(method: string, params: object): Promise<R> {
    this.note(method, params);
    return this.connection.sendRequest<R>(method, params);
  }

  private note(method: string, params: object): void {
    if (this.trace !== undefined) appendFileSync(this.trace, JSON.stringify({ method, params }) + "\n", { mode: 0o600 });
  }
}
