// The ACP side: sessions, and what kind of input a prompt is.

import { randomUUID } from "node:crypto";
import * as acp from "@agentclientprotocol/sdk";
import { runTurn, type Agent, type Input, type Result, type Session } from "./turn.js";

/**
 * Kinds of input that do not come from a person who types. A client that sends one
 * names it in the prompt's _meta under this key.
 */
export const inputKey = "memls-acp-host/input";

const kinds: Record<string, Input["kind"]> = {
  prompt: "user", // what a person has typed; the default
  channel: "user", // a person's message from another channel, such as a chat room
  goal: "user", // a goal that the person has set
  retry: "retry", // the same request once more, after a failure
  continue: "continue", // the agent goes on where it stopped
  restore: "restore", // a question that was open when a session was loaded
  goal_runtime: "runtime", // the host itself goes on towards a goal
  cron: "runtime",
  notification: "runtime",
};

/** Command is a slash command: it answers by itself, or makes a prompt. */
export type Command = { local: (session: Session) => string } | { prompt: (argument: string) => string };

export interface Host {
  /** The agent of a working directory. */
  open(cwd: string): Promise<Agent>;
  commands: Record<string, Command>;
  /** Looks at every prompt before anything else does; a reason refuses it. */
  hook(text: string): string | undefined;
}

interface Open {
  session: Session;
  agent: Agent;
  abort: AbortController | null;
}

/** Refused and answered prompts reach neither memls nor the model. */
type Read = { answer: string } | Input;

export function createAgent(host: Host): acp.AgentApp {
  const sessions = new Map<string, Open>();
  const find = (id: string): Open => {
    const open = sessions.get(id);
    if (open === undefined) throw acp.RequestError.invalidParams({ sessionId: id });
    return open;
  };
  return acp
    .agent({ name: "memls-acp-host" })
    .onRequest(acp.methods.agent.initialize, () => ({
      protocolVersion: acp.PROTOCOL_VERSION,
      agentInfo: { name: "memls-acp-host", version: "1" },
      agentCapabilities: {},
      authMethods: [],
    }))
    .onRequest(acp.methods.agent.session.new, async ({ params }) => {
      const session: Session = { id: randomUUID(), cwd: params.cwd, history: [], turns: 0 };
      sessions.set(session.id, { session, agent: await host.open(params.cwd), abort: null });
      return { sessionId: session.id };
    })
    .onRequest(acp.methods.agent.session.prompt, async ({ params, client, signal }) => {
      const open = find(params.sessionId);
      if (open.abort !== null) throw acp.RequestError.invalidParams({ problem: "a turn is under way" });
      const say = (text: string): Promise<void> =>
        client.notify(acp.methods.client.session.update, {
          sessionId: params.sessionId,
          update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
        });
      const input = read(host, open.session, params);
      if ("answer" in input) {
        await say(input.answer);
        return { stopReason: "end_turn" };
      }
      const abort = new AbortController();
      open.abort = abort;
      try {
        const result = await runTurn(open.agent, open.session, input, AbortSignal.any([abort.signal, signal]), say);
        return { stopReason: stopReason(result) };
      } finally {
        open.abort = null;
      }
    })
    .onNotification(acp.methods.agent.session.cancel, ({ params }) => {
      sessions.get(params.sessionId)?.abort?.abort();
    });
}

/** read tells what a prompt is. */
function read(host: Host, session: Session, params: acp.PromptRequest): Read {
  const text = params.prompt.map((block) => (block.type === "text" ? block.text : "")).join("");
  const reason = host.hook(text);
  if (reason !== undefined) return { answer: reason };
  const name = params._meta?.[inputKey] ?? "prompt";
  const kind = typeof name === "string" ? kinds[name] : undefined;
  if (kind === undefined) throw acp.RequestError.invalidParams({ [inputKey]: name });
  const typed = /^\/(\S+)\s*([\s\S]*)$/.exec(text);
  const command = typed === null ? undefined : host.commands[typed[1] ?? ""];
  if (command === undefined) return { kind, query: text, text };
  if ("local" in command) return { answer: command.local(session) };
  const made = command.prompt(typed?.[2] ?? "");
  return { kind, query: text, text: made };
}

function stopReason(result: Result): acp.StopReason {
  switch (result.outcome) {
    case "end_turn":
      return "end_turn";
    case "cancelled":
      return "cancelled";
    default:
      return "max_turn_requests";
  }
}
