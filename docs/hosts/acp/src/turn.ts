// One turn of the agent: what goes into each request, in which order, and when
// the memories are taken.

import { complete, type ChatMessage, type Model, type Part, type ToolCall } from "./model.js";
import type { Memory, Message, Outcome, Turn } from "./memory.js";

/** Tool is what the model may call. */
export interface Tool {
  name: string;
  description: string;
  run(session: Session): Promise<string>;
}

export interface Session {
  id: string;
  cwd: string;
  history: ChatMessage[];
  turns: number;
}

export interface Limits {
  /** Characters of one request; a request that has more is not sent. */
  request: number;
  /** Characters of history from which on the oldest turns are dropped. */
  history: number;
  /** Requests of one turn. */
  requests: number;
  /** The same calls in a row that count as a loop. */
  repeats: number;
}

export interface Agent {
  model: Model;
  memory: Memory | null;
  tools: Tool[];
  limits: Limits;
  system: string;
  /** What the host adds to each request besides memories, such as the date. */
  reminders(): string[];
}

export interface Input {
  kind: Turn;
  /** The person's own words, before anything is added. */
  query: string;
  /** What is sent to the model; for a command that is more than was typed. */
  text: string;
}

export interface Result {
  outcome: Outcome;
  text: string;
}

/** TooLong is a request that must not be sent. */
class TooLong extends Error {}

/**
 * runTurn runs a turn to its end.
 *
 * It announces every turn that reaches the model, and memls decides by its kind
 * whether to recall. It finishes every turn that it has announced, however that
 * ends.
 */
export async function runTurn(agent: Agent, session: Session, input: Input, signal: AbortSignal, say: (text: string) => Promise<void>): Promise<Result> {
  const token = `${session.id}-${++session.turns}`;
  const before = session.history.length;
  const given: string[] = [];
  let result: Result = { outcome: "error", text: "" };
  agent.memory?.recall(session.id, token, input.query, input.kind);
  try {
    result = await converse(agent, session, token, input, signal, say, given);
  } catch (error) {
    if (signal.aborted) result = { outcome: "cancelled", text: "" };
    else if (error instanceof TooLong) result = { outcome: "limit", text: error.message };
    else throw error;
  } finally {
    agent.memory?.finish(session.id, token, result.outcome, plain(session.history));
    if (result.outcome !== "end_turn") {
      // The turn is taken back, and with it the memories that it was given.
      session.history.length = Math.min(session.history.length, before);
      if (given.length > 0) agent.memory?.withdrawn(session.id, given);
    }
  }
  return result;
}

async function converse(
  agent: Agent,
  session: Session,
  token: string,
  input: Input,
  signal: AbortSignal,
  say: (text: string) => Promise<void>,
  given: string[],
): Promise<Result> {
  let point: "initial" | "tool_result" = "initial";
  let calls: string[] = [];
  for (let n = 0; n < agent.limits.requests; n++) {
    compact(agent, session);
    const texts = [...agent.reminders(), ...(point === "initial" ? [input.text] : [])];
    check(agent, session, texts);
    signal.throwIfAborted();
    // Nothing can drop the request from here on: the memories are taken last.
    const memories = await agent.memory?.consume(session.id, token, point);
    given.push(...(memories?.documents ?? []).map((d) => d.ref));
    signal.throwIfAborted();
    // They stand before everything else of the turn: at its start before the
    // reminders and the person's words, later behind the results of tools, which
    // must follow their calls at once.
    if (memories) texts.unshift(memories.prompt);
    if (texts.length > 0) session.history.push({ role: "user", content: texts.map(part) });
    const answer = await complete(agent.model, [{ role: "system", content: agent.system }, ...session.history], agent.tools.map(schema), signal);
    session.history.push({ role: "assistant", content: answer.text, ...(answer.calls.length > 0 ? { tool_calls: answer.calls } : {}) });
    if (answer.calls.length === 0) {
      await say(answer.text);
      return { outcome: "end_turn", text: answer.text };
    }
    calls = [...calls, answer.calls.map((c) => c.function.name + c.function.arguments).join("\n")].slice(-agent.limits.repeats);
    if (calls.length === agent.limits.repeats && new Set(calls).size === 1) return { outcome: "loop_protection", text: "" };
    for (const call of answer.calls) {
      session.history.push({ role: "tool", tool_call_id: call.id, content: await use(agent, session, call, signal) });
    }
    point = "tool_result";
  }
  return { outcome: "limit", text: "" };
}

async function use(agent: Agent, session: Session, call: ToolCall, signal: AbortSignal): Promise<string> {
  const tool = agent.tools.find((t) => t.name === call.function.name);
  try {
    signal.throwIfAborted();
    if (tool === undefined) throw new Error(`there is no tool ${call.function.name}`);
    const result = await tool.run(session);
    agent.memory?.toolUsed(session.id, tool.name, "ok");
    return result;
  } catch (error) {
    if (tool !== undefined) agent.memory?.toolUsed(session.id, tool.name, signal.aborted ? "cancelled" : "error");
    signal.throwIfAborted();
    return `error: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** compact drops the oldest turns of a long history, and says so. */
function compact(agent: Agent, session: Session): void {
  let dropped = false;
  while (size(session.history) > agent.limits.history) {
    // A turn begins with a person's message that follows an answer without calls.
    const next = session.history.findIndex((m, i) => i > 0 && m.role === "user" && ended(session.history[i - 1]));
    if (next < 0) break;
    session.history.splice(0, next);
    dropped = true;
  }
  if (dropped) agent.memory?.compacted(session.id);
}

function ended(m: ChatMessage | undefined): boolean {
  return m?.role === "assistant" && m.tool_calls === undefined;
}

/** check refuses a request that the model would not take. */
function check(agent: Agent, session: Session, texts: string[]): void {
  const length = agent.system.length + size(session.history) + texts.reduce((n, t) => n + t.length, 0);
  if (length > agent.limits.request) throw new TooLong(`the request has ${length} characters, at most ${agent.limits.request} can be sent`);
}

const size = (history: ChatMessage[]): number => history.reduce((n, m) => n + words(m).length, 0);
const part = (text: string): Part => ({ type: "text", text });
const schema = (t: Tool): object => ({
  type: "function",
  function: { name: t.name, description: t.description, parameters: { type: "object", properties: {} } },
});

function words(m: ChatMessage): string {
  if (m.content === null) return "";
  return typeof m.content === "string" ? m.content : m.content.map((p) => p.text).join("\n");
}

/** plain is the history as memls takes it. */
function plain(history: ChatMessage[]): Message[] {
  return history.map((m) => ({ role: m.role, text: words(m) }));
}
