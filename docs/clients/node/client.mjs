// A client of memls for Node.js programs: starts it, asks it, and leaves.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";

// The package is CommonJS, and may lie where NODE_PATH says.
const { createProtocolConnection, StreamMessageReader, StreamMessageWriter } = createRequire(import.meta.url)("vscode-languageserver-protocol/node");

export class Memls {
  #process;
  #connection;
  #token = 0;
  #pending = new Map(); // what a recall is told, by its token

  /** Starts memls for the workspace at `uri` with `initializationOptions` of docs/protocol.md. */
  static async start(command, uri, options = {}, env = process.env) {
    const client = new Memls();
    client.#process = spawn(command, ["serve", "--stdio"], { stdio: ["pipe", "pipe", "inherit"], env });
    await once(client.#process, "spawn"); // rejects when there is no such program
    client.#connection = createProtocolConnection(
      new StreamMessageReader(client.#process.stdout),
      new StreamMessageWriter(client.#process.stdin),
    );
    for (const method of ["memory/recallFast", "memory/recallRefined"]) {
      client.#connection.onNotification(method, (result) => client.#pending.get(result.token)?.(result));
    }
    client.#connection.listen();
    client.capabilities = await client.request("initialize", {
      processId: process.pid,
      clientInfo: { name: "node-client" },
      rootUri: uri,
      workspaceFolders: [{ uri, name: "workspace" }],
      capabilities: { experimental: { memory: true } },
      initializationOptions: options,
    });
    await client.#connection.sendNotification("initialized", {});
    return client;
  }

  /** Any request of docs/protocol.md. Rejects with the server's error, whose `data` says what kind it is. */
  request(method, params) {
    return params === undefined ? this.#connection.sendRequest(method) : this.#connection.sendRequest(method, params);
  }

  /** Calls back for each notification of a kind, such as memory/changed. */
  on(method, callback) {
    return this.#connection.onNotification(method, callback);
  }

  /** Recalls: `each` gets the fast result and then the refined one; the summary is returned. */
  async recall(session, query, each) {
    const token = `t${++this.#token}`;
    this.#pending.set(token, each);
    try {
      return await this.request("memory/recall", { session, token, query });
    } finally {
      this.#pending.delete(token);
    }
  }

  /** Leaves in order; returns the exit code, 0. */
  async stop() {
    await this.request("shutdown");
    const exited = once(this.#process, "exit");
    await this.#connection.sendNotification("exit");
    const [code] = await exited;
    this.#connection.dispose();
    return code;
  }
}
