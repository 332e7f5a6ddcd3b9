// A chat in a few lines: what the person says goes to a model together with the memories that memls brings to mind. The model here
// only answers what it was sent, so that it can be seen.

const vscode = require("vscode");
const { randomUUID } = require("node:crypto");

const session = `sample-chat-${randomUUID()}`;

async function memls() {
  const extension = vscode.extensions.getExtension("memls.memls");
  return (await extension.activate()).getApi(1);
}

/** Push: memories are added to the request as they come. */
async function push(query) {
  const memory = await memls();
  const phases = [];
  let prompt = "";
  const response = await memory.recall({ session, token: randomUUID(), query, source: "Sample Chat" }, (result) => {
    phases.push(result.phase);
    prompt += result.prompt;
  });
  return { outcome: response.outcome, phases, request: `${prompt}${query}` };
}

/** Pull: the agent takes what there is when its request can still take it, and the rest with the results of a tool. */
async function pull(query) {
  const memory = await memls();
  const token = randomUUID();
  const agent = `${session}-agent`;
  const settled = memory.announce({ session: agent, token, query, source: "Sample Chat" });
  settled.catch(() => {}); // a turn without memories is better than none
  const first = await memory.consume({ session: agent, token, point: "initial" });
  const requests = [`${first?.prompt ?? ""}${query}`];
  await memory.toolUsed({ session: agent, tool: "list_files", status: "ok" });
  const rest = await memory.consume({ session: agent, token, point: "tool_result" });
  requests.push(`the results of list_files ${rest?.prompt ?? ""}`);
  const { outcome } = await settled;
  const finished = await memory.finish({ session: agent, token, outcome: "end_turn", messages: [{ role: "user", text: query }] });
  return { outcome, requests, finished };
}

/** A model that calls a tool of memls; the editor asks the person first. */
async function forget() {
  try {
    const result = await vscode.lm.invokeTool("memls_forget", { input: { refs: ["project:deploy.md"] }, toolInvocationToken: undefined });
    vscode.window.showInformationMessage(`The tool says: ${result.content.map((part) => part.value).join("")}`);
  } catch (error) {
    vscode.window.showInformationMessage(`The tool was not run: ${error.message}`);
  }
}

exports.activate = (context) => {
  for (const [name, run] of Object.entries({ push, pull, forget })) {
    context.subscriptions.push(vscode.commands.registerCommand(`sampleChat.${name}`, run));
  }
};
