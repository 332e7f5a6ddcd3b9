// The agent as a program: ACP on standard input and output.
//
//   MODEL_URL, MODEL_NAME, MODEL_KEY   the model that answers
//   MEMLS                              how to start memls, as a JSON list; default ["memls", "serve", "--stdio"]
//   MEMLS_OPTIONS                      initializationOptions, as JSON; default {}
//   MEMLS_TRACE                        a file that gets every message to memls
//   BLOCK                              prompts that hold this text are refused by a hook
//   MAX_REQUEST, MAX_HISTORY           bounds in characters

import { readdir } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import { createAgent, type Host } from "./agent.js";
import { Memory } from "./memory.js";
import type { Agent, Tool } from "./turn.js";

const env = process.env;
const running = new Map<string, Promise<Agent>>();

const listFiles: Tool = {
  name: "list_files",
  description: "Lists the names in the working directory.",
  run: async (session) => (await readdir(session.cwd)).sort().join("\n"),
};

async function open(cwd: string): Promise<Agent> {
  const memory = await Memory.start({
    command: JSON.parse(env["MEMLS"] ?? '["memls", "serve", "--stdio"]') as string[],
    cwd,
    options: JSON.parse(env["MEMLS_OPTIONS"] ?? "{}") as Record<string, unknown>,
    trace: env["MEMLS_TRACE"],
  }).catch((error: unknown) => {
    console.error("without memories:", error);
    return null;
  });
  return {
    model: { baseURL: env["MODEL_URL"] ?? "http://localhost:11434/v1", name: env["MODEL_NAME"] ?? "qwen3:8b", key: env["MODEL_KEY"] },
    memory,
    tools: [listFiles],
    limits: { request: Number(env["MAX_REQUEST"] ?? 200_000), history: Number(env["MAX_HISTORY"] ?? 100_000), requests: 20, repeats: 3 },
    system: "You are a coding agent. Answer briefly.",
    reminders: () => [`Today is ${new Date().toDateString()}.`],
  };
}

const host: Host = {
  // Sessions of one directory share a memls; each has a ledger of its own there.
  open: (cwd) => {
    let agent = running.get(cwd);
    if (agent === undefined) running.set(cwd, (agent = open(cwd)));
    return agent;
  },
  commands: {
    help: { local: () => "/help, /review TEXT" },
    review: { prompt: (argument) => `Review with care and name every fault.\n\n${argument}` },
  },
  hook: (text) => (env["BLOCK"] && text.includes(env["BLOCK"]) ? "A hook has refused this prompt." : undefined),
};

const connection = createAgent(host).connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>));
await connection.closed;
for (const agent of running.values()) await (await agent).memory?.close();
