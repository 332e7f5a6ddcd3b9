// A model endpoint for the tests: it plays the agent's model and, slowly, the
// selector that memls asks.

import { createServer, type IncomingMessage, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { ChatMessage, ToolCall } from "../src/model.js";

export interface Seen {
  messages: ChatMessage[];
  /** Whether the selector had answered when the request came. */
  selected: boolean;
}

/** What the agent's model does with one request. */
export type Step = { say: string } | { call: string[]; settled?: number } | { hang: true } | { fail: number };

export class Stub {
  readonly requests: Seen[] = [];
  readonly asked: string[] = [];
  script: Step[] = [];
  /** Titles that the selector chooses, and how long it takes. */
  choose: string[] = [];
  delay = 250;
  selected = 0;
  private calls = 0;
  private readonly waiting: (() => void)[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Stub> {
    const server = createServer();
    const stub = new Stub(server);
    server.on("request", (request, response) => {
      void stub.serve(request).then((answer) => {
        if (answer === null) return; // it hangs until the client goes
        response.statusCode = typeof answer === "number" ? answer : 200;
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify(typeof answer === "number" ? { error: { message: "no" } } : { choices: [{ index: 0, message: answer, finish_reason: "stop" }] }));
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return stub;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, "close");
  }

  /** Resolves when the selector has answered n times. */
  async settled(n: number): Promise<void> {
    while (this.selected < n) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  private async serve(request: IncomingMessage): Promise<object | number | null> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const body = JSON.parse(text) as { model: string; messages: ChatMessage[] };
    if (body.model === "selector") return await this.select(body.messages);
    this.requests.push({ messages: body.messages, selected: this.selected > 0 });
    const step = this.script.shift() ?? { say: "Done." };
    if ("hang" in step) return null;
    if ("fail" in step) return step.fail;
    if ("say" in step) return { role: "assistant", content: step.say };
    if (step.settled !== undefined) await this.settled(step.settled);
    const calls: ToolCall[] = step.call.map((name) => ({ id: `call${++this.calls}`, type: "function", function: { name, arguments: "{}" } }));
    return { role: "assistant", content: null, tool_calls: calls };
  }

  /** Answers the ids of the lines that hold the titles. */
  private async select(messages: ChatMessage[]): Promise<object> {
    const lines = messages.flatMap((m) => (typeof m.content === "string" ? m.content.split("\n") : []));
    const ids = this.choose.flatMap((title) => {
      const line = lines.find((l) => l.includes(title) && /\bm\d+\b/.test(l));
      return line === undefined ? [] : [/\bm\d+\b/.exec(line)![0]];
    });
    this.asked.push(lines.join("\n"));
    await new Promise((resolve) => setTimeout(resolve, this.delay));
    this.selected++;
    for (const wake of this.waiting.splice(0)) wake();
    return { role: "assistant", content: JSON.stringify({ ids }) };
  }
}
