// The memls processes of an editor, and an agent elsewhere that uses the same memories.

import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";
import { until, type Editor } from "./servers";

/** pids answers the processes that run the memls of an editor, or a program given. */
export function pids(program: string): number[] {
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const words = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        return words.includes(program) && words.includes("serve");
      } catch {
        return false; // it has ended
      }
    })
    .map(Number);
}

export function bundled(editor: Editor): string {
  return path.join(editor.installed, "bin/memls");
}

/** Kills the memls of an editor and waits for the next one, or for none when none is expected. */
export async function kill(editor: Editor, again: boolean): Promise<void> {
  const [pid] = await until("a running memls", () => {
    const found = pids(bundled(editor));
    return found.length > 0 && found;
  });
  if (pid === undefined) throw new Error("no memls runs");
  process.kill(pid, "SIGKILL");
  await until("the end of memls", () => {
    const now = pids(bundled(editor));
    return !now.includes(pid) && (again ? now.length > 0 : true);
  });
}

/** An agent in a terminal: it recalls in the same workspace, in a process of its own. */
export async function agentElsewhere(editor: Editor, name: string, query: string): Promise<void> {
  const env = { PATH: process.env["PATH"], HOME: editor.home, XDG_DATA_HOME: `${editor.home}/.local/share`, XDG_STATE_HOME: `${editor.home}/.local/state`, XDG_CONFIG_HOME: `${editor.home}/.config` };
  const child = spawn(bundled(editor), ["serve", "--stdio"], { env, stdio: ["pipe", "pipe", "ignore"] });
  const connection = createMessageConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
  connection.listen();
  await connection.sendRequest("initialize", {
    processId: process.pid,
    clientInfo: { name },
    capabilities: {},
    workspaceFolders: [{ uri: pathToFileURL(editor.workspace).href, name: "workspace" }],
    initializationOptions: { trusted: true, activity: true },
  });
  await connection.sendNotification("initialized", {});
  await connection.sendRequest("memory/recall", { session: "s", token: "t", query });
  await connection.sendRequest("shutdown");
  await connection.sendNotification("exit");
  connection.dispose();
}
