// A model endpoint for the tests: it chooses memories by their titles, when it is told to.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export class Model {
  /** Titles that it chooses, best first. */
  choose: string[] = [];
  /** What it is asked, one text a request, and the key that came along. */
  readonly asked: string[] = [];
  readonly keys: (string | undefined)[] = [];
  private held: (() => void)[] | undefined;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Model> {
    const server = createServer();
    const model = new Model(server);
    server.on("request", (request, response) => {
      void model.answer(request).then((content) => {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] }));
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return model;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  /** hold keeps answers back until release. */
  hold(): void {
    this.held = [];
  }

  release(): void {
    for (const go of this.held ?? []) go();
    this.held = undefined;
  }

  private async answer(request: IncomingMessage): Promise<string> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const { messages } = JSON.parse(text) as { messages: { content: unknown }[] };
    const asked = messages.flatMap((m) => (typeof m.content === "string" ? m.content.split("\n") : []));
    this.asked.push(asked.join("\n"));
    this.keys.push(request.headers.authorization);
    const held = this.held;
    if (held) await new Promise<void>((resolve) => held.push(resolve));
    const ids = this.choose.flatMap((title) => {
      const line = asked.find((l) => l.includes(title) && /\bm\d+\b/.test(l));
      return line ? [/\bm\d+\b/.exec(line)?.[0]] : [];
    });
    return JSON.stringify({ ids });
  }

  async stop(): Promise<void> {
    this.release();
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, "close");
  }
}
