// What chat panes of the editor get: tools for a language model, and the participant @memory.

import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { folder, type Context } from "./commands/context";
import { explain } from "./failure";
import { append } from "./markdown";
import type { MemoryTarget, Plan, RecallDocument, RecallResult, Scope } from "./protocol";
import { lines, plain } from "./text";

const { t } = vscode.l10n;

export interface RecallInput {
  query: string;
}
export interface RememberInput {
  text: string;
  scope?: Scope;
}
export interface ForgetInput {
  query?: string;
  refs?: string[];
}

function answer(text: string): vscode.LanguageModelToolResult {
  return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
}

/** Recalls what a model asks for. Each call stands for itself: a model that asks again has lost what it was given. */
class RecallTool implements vscode.LanguageModelTool<RecallInput> {
  constructor(private readonly context: Context) {}

  prepareInvocation({ input }: vscode.LanguageModelToolInvocationPrepareOptions<RecallInput>): vscode.PreparedToolInvocation {
    return { invocationMessage: t("Recalling memories about “{0}”", plain(input.query, 80)) };
  }

  async invoke({ input }: vscode.LanguageModelToolInvocationOptions<RecallInput>, token: vscode.CancellationToken): Promise<vscode.LanguageModelToolResult> {
    const prompts: string[] = [];
    const ask = { session: `tool-${randomUUID()}`, query: input.query, source: t("tool"), ...folder(), onResult: (r: RecallResult) => void prompts.push(r.prompt) };
    await this.context.turns.recall(ask, token);
    const prompt = prompts.filter(Boolean).join("\n");
    return answer(prompt || "No memory is about this.");
  }
}

class RememberTool implements vscode.LanguageModelTool<RememberInput> {
  constructor(private readonly context: Context) {}

  prepareInvocation({ input }: vscode.LanguageModelToolInvocationPrepareOptions<RememberInput>): vscode.PreparedToolInvocation {
    return {
      invocationMessage: t("Remembering"),
      confirmationMessages: { title: t("Remember this?"), message: shown(input.text) },
    };
  }

  async invoke({ input }: vscode.LanguageModelToolInvocationOptions<RememberInput>, token: vscode.CancellationToken): Promise<vscode.LanguageModelToolResult> {
    const result = await this.context.connection.request("memory/remember", { text: input.text, ...(input.scope ? { scope: input.scope } : {}), ...folder() }, token);
    if (result.unchanged) return answer(`A memory says this already: ${result.unchanged.join(", ")}`);
    return answer(`Remembered: ${result.changes.map((c) => `${c.action} ${c.ref}`).join(", ")}`);
  }
}

/** shown is text of a model in a place that draws Markdown: as code, so that none of it is drawn. */
function shown(text: string): vscode.MarkdownString {
  return new vscode.MarkdownString().appendCodeblock(lines(text.slice(0, 2000)), "text");
}

/**
 * Forgets what the person says yes to.
 * Inv: what is forgotten is what the question showed, in the version that it showed; nothing is chosen after the answer.
 */
class ForgetTool implements vscode.LanguageModelTool<ForgetInput> {
  /** Plans that a person was asked about, by what was asked for, until they are carried out. */
  private readonly asked = new Map<string, Plan>();

  constructor(private readonly context: Context) {}

  private async plan(input: ForgetInput, token: vscode.CancellationToken): Promise<Plan> {
    const refs: MemoryTarget[] = (input.refs ?? []).map((ref) => ({ ref }));
    const params = refs.length > 0 ? { refs } : { query: input.query ?? "", limit: 10, ...folder() };
    return this.context.connection.request("memory/forget", params, token);
  }

  private exact(input: ForgetInput, plan: Plan): boolean {
    return (input.refs?.length ?? 0) > 0 || plan.changes.length === 1;
  }

  async prepareInvocation({ input }: vscode.LanguageModelToolInvocationPrepareOptions<ForgetInput>, token: vscode.CancellationToken): Promise<vscode.PreparedToolInvocation> {
    const invocationMessage = t("Forgetting");
    let plan: Plan;
    try {
      plan = await this.plan(input, token);
    } catch {
      return { invocationMessage }; // invoke meets the same and says it
    }
    if (!this.exact(input, plan)) return { invocationMessage };
    if (this.asked.size >= 20) this.asked.clear();
    this.asked.set(JSON.stringify(input), plan);
    const names = plan.changes.map((c) => `${c.ref}: ${plain(this.context.memories.named(c.ref)?.title ?? "", 120)}`);
    return { invocationMessage, confirmationMessages: { title: t("Forget this?"), message: shown(names.join("\n")) } };
  }

  async invoke({ input }: vscode.LanguageModelToolInvocationOptions<ForgetInput>, token: vscode.CancellationToken): Promise<vscode.LanguageModelToolResult> {
    const key = JSON.stringify(input);
    const plan = this.asked.get(key);
    this.asked.delete(key);
    if (!plan) return this.candidates(input, token);
    const operation = await this.context.connection.request("memory/apply", { plan: plan.id, only: plan.changes.map((c) => c.id) }, token);
    return answer(`Forgotten: ${operation.changes.map((c) => c.ref).join(", ")}. It can be undone for a day.`);
  }

  /** Words that several memories fit choose none: the model is told which there are, and asks again by name. */
  private async candidates(input: ForgetInput, token: vscode.CancellationToken): Promise<vscode.LanguageModelToolResult> {
    const plan = await this.plan(input, token);
    const rows = plan.changes.map((c) => `${c.ref}: ${plain(this.context.memories.named(c.ref)?.title ?? "", 120)}`);
    await this.context.connection.request("memory/discard", { plan: plan.id });
    return answer(`Nothing was forgotten. Call again with the refs that are meant:\n${rows.join("\n")}`);
  }
}

/** The participant answers with the memories themselves, as references that can be opened. It needs no model. */
function participant(context: Context): vscode.ChatRequestHandler {
  return async (request, chat, stream, token) => {
    const session = sessionOf(chat);
    try {
      const response = await context.turns.recall({ session, query: request.prompt, source: "@memory", ...folder(), onResult: (r) => show(context, r, stream) }, token);
      if (response.outcome === "not_started") stream.markdown(escaped(response.detail ?? response.reason ?? ""));
      else if (response.fast?.refs.length === 0 && response.refined?.refs.length === 0) stream.markdown(escaped(t("No memory is about this that was not given before.")));
    } catch (error) {
      stream.markdown(escaped(explain(error)));
    }
    return { metadata: { session } };
  };
}

function escaped(text: string): vscode.MarkdownString {
  return append(new vscode.MarkdownString(), text);
}

/** One conversation is one session: its name is kept with its answers. */
function sessionOf(chat: vscode.ChatContext): string {
  for (const turn of chat.history) {
    if (!("result" in turn)) continue;
    const known: unknown = turn.result.metadata?.["session"];
    if (typeof known === "string") return known;
  }
  return `chat-${randomUUID()}`;
}

function show(context: Context, result: RecallResult, stream: vscode.ChatResponseStream): void {
  for (const d of result.documents) {
    const uri = vscode.Uri.parse(d.uri, true);
    const { start, end } = d.range;
    stream.reference(new vscode.Location(uri, new vscode.Range(start.line, start.character, end.line, end.character)));
    stream.markdown(passage(context, d));
  }
  for (const d of result.degraded) stream.progress(plain(d.detail, 200));
}

function passage(context: Context, d: RecallDocument): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  append(text.appendMarkdown("**"), plain(d.title)).appendMarkdown("**  \n");
  append(text, plain(context.memories.where(d))).appendMarkdown("\n\n");
  return text.appendCodeblock(lines(d.body), "markdown");
}

/** registerChat registers what the running editor has an API for. */
export function registerChat(context: Context, icon: vscode.Uri): vscode.Disposable[] {
  const made: vscode.Disposable[] = [
    vscode.lm.registerTool("memls_recall", new RecallTool(context)),
    vscode.lm.registerTool("memls_remember", new RememberTool(context)),
    vscode.lm.registerTool("memls_forget", new ForgetTool(context)),
  ];
  // Builds without a chat have the namespace and not always the function.
  if (typeof vscode.chat?.createChatParticipant === "function") {
    const memory = vscode.chat.createChatParticipant("memls.memory", participant(context));
    memory.iconPath = icon;
    made.push(memory);
  }
  return made;
}
