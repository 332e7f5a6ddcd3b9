import assert from "node:assert/strict";
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Memls } from "./client.mjs";

const base = await mkdtemp(join(tmpdir(), "memls node "));
const memory = join(base, "ws", ".memory");
await mkdir(memory, { recursive: true });
await writeFile(join(memory, "port.md"), "---\nname: Gateway port\n---\n\nThe gateway listens on 7433.\n");
after(() => rm(base, { recursive: true, force: true }));

const start = (options = { trusted: true }) =>
  Memls.start(process.env.MEMLS_BIN, pathToFileURL(join(base, "ws")).href, options, { ...process.env, HOME: base, XDG_STATE_HOME: base, XDG_DATA_HOME: base });

test("a recall is answered twice, and summed up", async () => {
  const client = await start();
  assert.ok(client.capabilities.capabilities.experimental.memory.methods.includes("memory/recall"));
  const results = [];
  const summary = await client.recall("s", "which port does the gateway use", (result) => results.push(result));
  assert.deepEqual(results.map((r) => r.phase), ["fast", "refined"]);
  assert.match(results[0].prompt, /The gateway listens on 7433/);
  assert.equal(summary.outcome, "settled");
  assert.equal(await client.stop(), 0);
});

test("without custom requests everything is a command", async () => {
  const client = await start();
  const found = await client.request("workspace/executeCommand", { command: "memory.search", arguments: [{ query: "gateway" }] });
  assert.equal(found.documents[0].title, "Gateway port");
  await client.stop();
});

test("a saved file is told", async () => {
  const client = await start();
  const changed = new Promise((resolve) => client.on("memory/changed", (p) => p.added.includes("project:tide.md") && resolve(p)));
  await client.recall("s", "gateway", () => {}); // the roots are read
  await writeFile(join(memory, "tide.md"), "The tide tables are in the office.\n");
  await changed;
  await client.stop();
});

test("errors say what kind they are, and which field is wrong", async () => {
  const client = await start();
  await assert.rejects(client.request("memory/get", { ref: "project:nothing.md" }), (e) => e.code === -32803 && e.data.kind === "not_found");
  await assert.rejects(client.request("memory/search", { query: "x", limit: 0 }), (e) => e.code === -32602 && e.data.field === "limit");
  await client.stop();
});

test("a workspace that is not trusted is not read", async () => {
  const client = await start({});
  const summary = await client.recall("s", "which port does the gateway use", () => assert.fail("nothing is known"));
  assert.equal(summary.reason, "no_roots");
  await client.stop();
});

test("a program that is not there rejects", async () => {
  await assert.rejects(Memls.start("/no/such/memls", "file:///tmp"), { code: "ENOENT" });
});
