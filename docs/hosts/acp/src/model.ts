// The smallest client of an OpenAI-compatible model that can call tools.

export interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

export type Part = { type: "text"; text: string };

export type ChatMessage =
  | { role: "system" | "user"; content: string | Part[] }
  | { role: "assistant"; content: string | null; tool_calls?: ToolCall[] }
  | { role: "tool"; tool_call_id: string; content: string };

export interface Model {
  baseURL: string;
  name: string;
  key?: string | undefined;
}

export interface Answer {
  text: string;
  calls: ToolCall[];
}

export async function complete(model: Model, messages: ChatMessage[], tools: object[], signal: AbortSignal): Promise<Answer> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (model.key !== undefined) headers["authorization"] = `Bearer ${model.key}`;
  const response = await fetch(`${model.baseURL}/chat/completions`, {
    method: "POST",
    headers,
    body: JSON.stringify({ model: model.name, messages, tools }),
    signal,
  });
  if (!response.ok) throw new Error(`the model answered ${response.status}`);
  const body = (await response.json()) as { choices?: { message?: { content?: string | null; tool_calls?: ToolCall[] } }[] };
  const message = body.choices?.[0]?.message;
  if (message === undefined) throw new Error("the model answered no message");
  return { text: message.content ?? "", calls: message.tool_calls ?? [] };
}
