// What an editor gets of memory files, and what other extensions get of memls, through the API of VS Code.

import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { Exports, MemlsApi1 } from "../../../src/api";

async function until<T>(what: string, ask: () => T | undefined | false | Promise<T | undefined | false>, ms = 30_000): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`waited for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

const folder = (): vscode.Uri => {
  const [first] = vscode.workspace.workspaceFolders ?? [];
  assert.ok(first);
  return first.uri;
};
const memory = (name: string): vscode.Uri => vscode.Uri.joinPath(folder(), ".memory", name);
const write = (name: string, text: string): Thenable<void> => vscode.workspace.fs.writeFile(memory(name), new TextEncoder().encode(text));
const text = async (name: string): Promise<string> => new TextDecoder().decode(await vscode.workspace.fs.readFile(memory(name)));

async function api(): Promise<MemlsApi1> {
  const extension = vscode.extensions.getExtension<Exports>("memls.memls");
  assert.ok(extension);
  return (await extension.activate()).getApi(1);
}

describe("memory files", () => {
  const uri = (): vscode.Uri => memory("linked.md");
  before(async () => {
    await api();
    await write("linked.md", "---\nname: Linked\ntype: projekt\ndescription: What links\n---\n\nSee [[Gateway port]] and [[nowhere at all]].\n\n## A heading\n\ntext\n");
    await vscode.window.showTextDocument(uri());
  });
  after(() => vscode.workspace.fs.delete(uri()));
  const at = async (words: string): Promise<vscode.Position> => {
    const document = await vscode.workspace.openTextDocument(uri());
    return document.positionAt(document.getText().indexOf(words) + 1);
  };

  it("have diagnostics", async () => {
    const codes = await until("diagnostics", () => {
      const found = vscode.languages.getDiagnostics(uri()).map((d) => (typeof d.code === "object" ? d.code.value : d.code));
      return found.includes("link-broken") && found;
    });
    assert.ok(codes.includes("type-unknown"), codes.join());
  });
  it("have hover, definition and links", async () => {
    const place = await at("Gateway port");
    const hovers = await vscode.commands.executeCommand<vscode.Hover[]>("vscode.executeHoverProvider", uri(), place);
    assert.ok(hovers.some((h) => h.contents.some((c) => (c as vscode.MarkdownString).value.includes("Gateway port"))));
    const places = await vscode.commands.executeCommand<(vscode.Location | vscode.LocationLink)[]>("vscode.executeDefinitionProvider", uri(), place);
    assert.ok(places.some((p) => ("uri" in p ? p.uri : p.targetUri).path.endsWith("gateway.md")));
    const references = await vscode.commands.executeCommand<vscode.Location[]>("vscode.executeReferenceProvider", memory("gateway.md"), new vscode.Position(7, 1));
    assert.ok(references.some((r) => r.uri.path.endsWith("linked.md")));
  });
  it("have completion", async () => {
    const list = await vscode.commands.executeCommand<vscode.CompletionList>("vscode.executeCompletionItemProvider", uri(), (await at("[[Gateway port")).translate(0, 1));
    assert.ok(list.items.some((i) => (typeof i.label === "string" ? i.label : i.label.label).includes("Rota of the week")));
  });
  it("have code actions that mend them", async () => {
    const document = await vscode.workspace.openTextDocument(uri());
    const place = document.positionAt(document.getText().indexOf("projekt"));
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>("vscode.executeCodeActionProvider", uri(), new vscode.Range(place, place));
    assert.ok(actions.some((a) => /project/.test(a.title)), actions.map((a) => a.title).join("; "));
    assert.ok(actions.some((a) => /Forget this memory/.test(a.title)));
  });
  it("have lenses, symbols and folding", async () => {
    await vscode.window.showTextDocument(memory("gateway.md"));
    const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>("vscode.executeCodeLensProvider", memory("gateway.md"), 10);
    assert.ok(lenses.length > 0);
    const symbols = await vscode.commands.executeCommand<vscode.SymbolInformation[]>("vscode.executeWorkspaceSymbolProvider", "gateway port");
    assert.ok(symbols.some((s) => s.name.includes("Gateway port")));
    const folds = await vscode.commands.executeCommand<vscode.FoldingRange[]>("vscode.executeFoldingRangeProvider", uri());
    assert.ok(folds.length > 0);
  });
  it("are renamed together with the links to them", async () => {
    const edit = await vscode.commands.executeCommand<vscode.WorkspaceEdit>("vscode.executeDocumentRenameProvider", uri(), await at("Linked"), "Joined");
    assert.ok(edit.entries().some(([u]) => u.path.endsWith("linked.md")));
  });
});

describe("the API for other extensions", () => {
  it("has version 1 and no other", async () => {
    const extension = vscode.extensions.getExtension<Exports>("memls.memls");
    assert.equal((await api()).version, 1);
    assert.throws(() => extension?.exports.getApi(2 as 1), /version 1/);
  });
  it("pushes what comes to mind, once in a session", async () => {
    const answer = await vscode.commands.executeCommand<{ outcome: string; phases: string[]; request: string }>("sampleChat.push", "which port does the zanzibar gateway use");
    assert.equal(answer.outcome, "settled");
    assert.deepEqual(answer.phases, ["fast", "refined"]);
    assert.match(answer.request, /7433/);
    assert.match(answer.request, /^<memls-memory nonce=/);
    const again = await vscode.commands.executeCommand<{ request: string }>("sampleChat.push", "which port does the zanzibar gateway use");
    assert.equal(again.request, "which port does the zanzibar gateway use");
  });
  it("lets an agent take what there is when its request can hold it", async () => {
    const answer = await vscode.commands.executeCommand<{ outcome: string; requests: string[]; finished: { recall: { outcome: string } } }>("sampleChat.pull", "who has the quokka rota");
    assert.match(answer.requests[0] ?? "", /wiki/);
    assert.equal(answer.requests.join("").match(/lies in the wiki/g)?.length, 1);
    assert.ok(["settled", "cancelled"].includes(answer.outcome));
  });
  it("tells of changes", async () => {
    const memls = await api();
    const fired = new Promise<void>((resolve) => memls.onDidChangeMemories(() => resolve()));
    await write("change.md", "# A change\n");
    await fired;
    await vscode.workspace.fs.delete(memory("change.md"));
  });
  it("says why when recalling is switched off, and goes on when it is on again", async () => {
    const memls = await api();
    const config = vscode.workspace.getConfiguration("memls");
    const ask = async (token: string): Promise<string | undefined> => (await memls.recall({ session: "off", token, query: "zanzibar", source: "test" }, () => undefined)).reason;
    await config.update("recall.enabled", false, vscode.ConfigurationTarget.Global);
    await until("the setting", async () => (await ask(String(Math.random()))) === "disabled");
    await config.update("recall.enabled", undefined, vscode.ConfigurationTarget.Global);
    await until("the setting", async () => (await ask(String(Math.random()))) === undefined);
  });
});

describe("tools of language models", () => {
  const invoke = async (name: string, input: object): Promise<string> => {
    const result = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined });
    return result.content.map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : "")).join("");
  };

  it("are there", () => {
    const names = vscode.lm.tools.map((tool) => tool.name);
    for (const name of ["memls_recall", "memls_remember", "memls_forget"]) assert.ok(names.includes(name), names.join());
  });
  it("recall, as a block that says that it is data", async () => {
    const text = await invoke("memls_recall", { query: "which port does the zanzibar gateway use" });
    assert.match(text, /^<memls-memory nonce=[\s\S]*7433/);
    assert.match(await invoke("memls_recall", { query: "which port does the zanzibar gateway use" }), /7433/, "each call stands for itself");
    assert.equal(await invoke("memls_recall", { query: "what is the capital of Peru" }), "No memory is about this.");
  });
  it("remember when the person says yes", async () => {
    assert.match(await invoke("memls_remember", { text: "The otter holds the spare key", scope: "project" }), /^Remembered: create project:/);
  });
  it("forget nothing by words that fit several, and what the person says yes to by name", async () => {
    assert.match(await invoke("memls_forget", { query: "gateway" }), /^Nothing was forgotten[\s\S]*project:deploy\.md/);
    assert.match(await invoke("memls_forget", { refs: ["project:deploy.md"] }), /^Forgotten: project:deploy\.md/);
    await assert.rejects(async () => await text("deploy.md"));
  });
  it("say what is wrong with what a model makes up", async () => {
    await assert.rejects(invoke("memls_forget", { refs: ["project:../../etc/passwd"] }));
    await assert.rejects(invoke("memls_forget", {}));
  });
});

describe("the editor", () => {
  it("has commands of this extension and of the server, each by its own name", async () => {
    const names = await vscode.commands.getCommands(true);
    for (const name of ["memls.search", "memls.forget", "memory.search", "memory.confirmForget"]) assert.ok(names.includes(name), name);
  });
  it("keeps one connection after a restart, with its commands", async () => {
    await vscode.commands.executeCommand("memls.restart");
    const found = await until("an answer of the server", async () => await vscode.commands.executeCommand<{ total: number } | undefined>("memory.search", { query: "zanzibar" }).then((r) => r, () => undefined));
    assert.equal(found.total, 1);
  });
});
