// An ACP client with the agent as a real process, a real memls, and the stub.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import * as acp from "@agentclientprotocol/sdk";
import { inputKey } from "../src/agent.js";
import type { ChatMessage, Part } from "../src/model.js";
import { Stub } from "./stub.js";

const memls = process.env["MEMLS_BIN"];
const main = fileURLToPath(new URL("../src/main.js", import.meta.url));

export interface Call {
  method: string;
  params: Record<string, unknown>;
}

/** Desk is one person with one directory; the agent may be started anew. */
export class Desk {
  private child: ChildProcess | null = null;
  private connection: acp.ClientConnection | null = null;
  private readonly extra: Record<string, string>;

  private constructor(
    readonly dir: string,
    readonly stub: Stub,
    extra: Record<string, string>,
  ) {
    this.extra = extra;
  }

  static async open(notes: Record<string, string>, extra: Record<string, string> = {}): Promise<Desk> {
    const desk = new Desk(await mkdtemp(join(tmpdir(), "memls-acp-")), await Stub.start(), extra);
    await mkdir(join(desk.dir, "memory"));
    await mkdir(join(desk.dir, "work"));
    for (const [name, text] of Object.entries(notes)) await desk.write(name, text);
    await desk.start();
    return desk;
  }

  write(name: string, text: string): Promise<void> {
    return writeFile(join(this.dir, "memory", name), text);
  }

  async start(): Promise<void> {
    if (memls === undefined) throw new Error("MEMLS_BIN names no memls to test with");
    const child = spawn(process.execPath, [main], {
      stdio: ["pipe", "pipe", "inherit"],
      env: {
        ...process.env,
        XDG_STATE_HOME: join(this.dir, "state"),
        XDG_CACHE_HOME: join(this.dir, "cache"),
        MODEL_URL: this.stub.url,
        MODEL_NAME: "agent",
        MEMLS: JSON.stringify([memls, "serve", "--stdio"]),
        MEMLS_OPTIONS: JSON.stringify({
          trusted: true,
          roots: [{ scope: "project", path: join(this.dir, "memory") }],
          model: { baseURL: this.stub.url, name: "selector" },
          extract: { enabled: true },
        }),
        MEMLS_TRACE: join(this.dir, "trace"),
        BLOCK: "forbidden",
        ...this.extra,
      },
    });
    this.child = child;
    const stream = acp.ndJsonStream(Writable.toWeb(child.stdin!), Readable.toWeb(child.stdout!) as ReadableStream<Uint8Array>);
    this.connection = acp
      .client({ name: "test" })
      .onNotification(acp.methods.client.session.update, () => {})
      .connect(stream);
    await this.connection.agent.request(acp.methods.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
  }

  /** Ends the agent as an editor does that closes it, and with it its memls. */
  async stop(): Promise<void> {
    const child = this.child;
    if (child === null) return;
    this.child = null;
    const gone = once(child, "exit");
    child.stdin!.end();
    await gone;
    this.connection?.close();
  }

  /** Ends the agent without a word. */
  async kill(): Promise<void> {
    const gone = once(this.child!, "exit");
    this.child!.kill("SIGKILL");
    this.child = null;
    await gone;
    this.connection?.close();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.stub.stop();
    await rm(this.dir, { recursive: true });
  }

  async session(): Promise<string> {
    return (await this.agent.request(acp.methods.agent.session.new, { cwd: join(this.dir, "work"), mcpServers: [] })).sessionId;
  }

  async prompt(sessionId: string, text: string, kind?: string): Promise<acp.StopReason> {
    const meta = kind === undefined ? {} : { _meta: { [inputKey]: kind } };
    return (await this.agent.request(acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }], ...meta })).stopReason;
  }

  cancel(sessionId: string): Promise<void> {
    return this.agent.notify(acp.methods.agent.session.cancel, { sessionId });
  }

  /** What the agent has said to memls. */
  async calls(): Promise<Call[]> {
    const text = await readFile(join(this.dir, "trace"), "utf8").catch(() => "");
    return text.split("\n").filter(Boolean).map((line) => JSON.parse(line) as Call);
  }

  private get agent(): acp.ClientContext {
    return this.connection!.agent;
  }
}

export const note = (title: string, description: string, body: string): string =>
  `---\nname: ${title}\ndescription: ${description}\ntype: project\n---\n${body}\n`;

/** The texts of a message. */
export function parts(message: ChatMessage | undefined): string[] {
  if (message?.content == null) return [];
  return typeof message.content === "string" ? [message.content] : message.content.map((p: Part) => p.text);
}
