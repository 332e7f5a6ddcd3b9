import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { Desk, note, parts, type Call } from "./desk.js";

const seeds = {
  "port.md": note("Gateway port", "which port the gateway uses", "The gateway listens on MARKER-7433."),
  "owner.md": note("Gateway owner", "who owns the gateway", "The gateway belongs to MARKER-Ana."),
  "moon.md": note("Tides", "harbour tables", "Nothing of the kind: MARKER-tide."),
};
const query = "which port does the gateway use";

let desk: Desk;
const open = async (extra: Record<string, string> = {}): Promise<void> => {
  desk = await Desk.open(seeds, extra);
};
beforeEach(() => open());
afterEach(() => desk.close());

const methods = (calls: Call[]): string[] => calls.map((c) => c.method.replace("memory/", ""));

/** Waits until memls has been told of the end of n turns. */
async function finished(n: number): Promise<Call[]> {
  for (;;) {
    const calls = await desk.calls();
    if (calls.filter((c) => c.method === "memory/finish").length >= n) return calls;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("a turn", () => {
  test("has the memory in its first request, while the selector still thinks", async () => {
    desk.stub.choose = ["Gateway port"];
    desk.stub.script = [{ say: "7433" }];
    assert.equal(await desk.prompt(await desk.session(), query), "end_turn");
    const [first, ...more] = desk.stub.requests;
    assert.equal(more.length, 0);
    assert.equal(first!.selected, false);
    const texts = parts(first!.messages.at(-1));
    assert.match(texts[0]!, /MARKER-7433/);
    assert.match(texts[0]!, /^<memls-memory /);
    assert.match(texts[1]!, /^Today is /);
    assert.equal(texts[2], query);
    assert.equal(texts.length, 3);
  });

  test("has the refined memory behind the results of tools and before any text", async () => {
    desk.stub.choose = ["Tides", "Gateway port"]; // the index would not choose the first
    // The selector answers before the first tools are called; in which of the
    // requests after that memls has its answer is a matter of milliseconds.
    const rounds = [...Array(12).keys()].map((i) => (i % 2 === 0 ? ["list_files", "list_files"] : ["list_files"]));
    desk.stub.script = [{ call: rounds[0]!, settled: 1 }, ...rounds.slice(1).map((call) => ({ call })), { say: "7433" }];
    assert.equal(await desk.prompt(await desk.session(), query), "end_turn");
    const requests = desk.stub.requests;
    assert.equal(requests.length, 13);
    assert.match(parts(requests[0]!.messages.at(-1))[0]!, /MARKER-7433/);
    const at = requests.findIndex((r) => JSON.stringify(r.messages).includes("MARKER-tide"));
    assert.ok(at > 0, "the refined memory reached no request");
    const messages = requests[at]!.messages;
    const texts = parts(messages.at(-1));
    assert.match(texts[0]!, /MARKER-tide/);
    assert.doesNotMatch(texts[0]!, /MARKER-7433/); // it had that before
    assert.match(texts[1]!, /^Today is /);
    const results = rounds[at - 1]!.length;
    assert.deepEqual(messages.slice(-2 - results).map((m) => m.role), ["assistant", ...Array<string>(results).fill("tool"), "user"]);
    // Each memory stands once in all that the model was sent.
    const all = JSON.stringify(requests.at(-1)!.messages);
    for (const marker of [/MARKER-7433/g, /MARKER-tide/g]) assert.equal(all.match(marker)?.length, 1, String(marker));
    const calls = await finished(1);
    assert.equal(calls.filter((c) => c.method === "memory/toolUsed").length, 18);
  });

  test("is given nothing that its session has", async () => {
    desk.stub.choose = ["Gateway port"];
    const session = await desk.session();
    await desk.prompt(session, query);
    await desk.prompt(session, query);
    const last = JSON.stringify(desk.stub.requests.at(-1)!.messages);
    assert.equal((last.match(/MARKER-7433/g) ?? []).length, 1);
  });

  test("that is not sent has taken nothing", async () => {
    await desk.close();
    await open({ MAX_REQUEST: "400" });
    const session = await desk.session();
    assert.equal(await desk.prompt(session, query + " ".repeat(500)), "max_turn_requests");
    assert.equal(desk.stub.requests.length, 0);
    const calls = await finished(1);
    assert.deepEqual(methods(calls), ["recall", "finish"]);
    assert.equal(calls.at(-1)!.params["outcome"], "limit");
    await desk.prompt(session, query);
    assert.match(parts(desk.stub.requests[0]!.messages.at(-1))[0]!, /MARKER-7433/);
  });

  test("that is cancelled ends as cancelled, and its memory is free to come again", async () => {
    const session = await desk.session();
    desk.stub.script = [{ hang: true }];
    const turn = desk.prompt(session, query);
    while (desk.stub.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await desk.cancel(session);
    assert.equal(await turn, "cancelled");
    const calls = await finished(1);
    assert.equal(calls.findLast((c) => c.method === "memory/finish")!.params["outcome"], "cancelled");
    await desk.prompt(session, query);
    assert.match(parts(desk.stub.requests.at(-1)!.messages.at(-1))[0]!, /MARKER-7433/);
  });

  test("that loops is stopped and not learnt from", async () => {
    desk.stub.script = [{ call: ["list_files"] }, { call: ["list_files"] }, { call: ["list_files"] }, { say: "never" }];
    assert.equal(await desk.prompt(await desk.session(), query), "max_turn_requests");
    assert.equal((await finished(1)).findLast((c) => c.method === "memory/finish")!.params["outcome"], "loop_protection");
  });

  test("that fails is finished as an error", async () => {
    desk.stub.script = [{ fail: 500 }];
    await assert.rejects(desk.prompt(await desk.session(), query));
    assert.equal((await finished(1)).findLast((c) => c.method === "memory/finish")!.params["outcome"], "error");
  });

  test("is learnt from once, with its final history", async () => {
    desk.stub.script = [{ call: ["list_files"] }, { say: "7433" }];
    await desk.prompt(await desk.session(), query);
    const ends = (await finished(1)).filter((c) => c.method === "memory/finish");
    assert.equal(ends.length, 1);
    assert.equal(ends[0]!.params["outcome"], "end_turn");
    const messages = ends[0]!.params["messages"] as { role: string; text: string }[];
    assert.deepEqual(messages.filter((m) => m.role !== "user").map((m) => m.role), ["assistant", "tool", "assistant"]);
    assert.equal(messages.at(-1)!.text, "7433");
  });

  test("goes on without memls", async () => {
    await desk.close();
    await open({ MEMLS: '["/nonexistent/memls"]' });
    desk.stub.script = [{ say: "no idea" }];
    assert.equal(await desk.prompt(await desk.session(), query), "end_turn");
    assert.deepEqual(parts(desk.stub.requests[0]!.messages.at(-1)).at(-1), query);
  });

  test("drops what is old from a long history, and may be given it again", async () => {
    await desk.close();
    await open({ MAX_HISTORY: "1500" });
    desk.stub.choose = ["Gateway port"];
    const session = await desk.session();
    await desk.prompt(session, query);
    desk.stub.choose = [];
    await desk.prompt(session, "ok thanks " + "x".repeat(1500));
    await desk.prompt(session, "ok thanks");
    assert.ok(methods(await desk.calls()).includes("resetSession"));
    desk.stub.choose = ["Gateway port"];
    await desk.prompt(session, query);
    assert.match(parts(desk.stub.requests.at(-1)!.messages.at(-1))[0]!, /MARKER-7433/);
  });
});

test("a memory that was written is there after a restart, in the first turn of a new session", async () => {
  await desk.prompt(await desk.session(), "ok thanks");
  await desk.write("new.md", note("Deploy day", "when we deploy", "We deploy on MARKER-Tuesday."));
  for (const end of [() => desk.stop(), () => desk.kill()]) {
    await end();
    await desk.start();
    await desk.prompt(await desk.session(), "when do we deploy");
    assert.match(parts(desk.stub.requests.at(-1)!.messages.at(-1))[0]!, /MARKER-Tuesday/);
  }
});

// The table of docs/hosts.md, row by row.
describe("an input of the kind", () => {
  const rows: { kind: string; text: string; calls: "recalls" | "announces" | "nothing" }[] = [
    { kind: "prompt", text: query, calls: "recalls" },
    { kind: "prompt", text: `/review ${query}`, calls: "recalls" }, // a command that the model answers
    { kind: "channel", text: query, calls: "recalls" },
    { kind: "goal", text: query, calls: "recalls" },
    { kind: "prompt", text: "/help", calls: "nothing" }, // a command that is answered here
    { kind: "prompt", text: `forbidden: ${query}`, calls: "nothing" }, // a hook refuses it
    { kind: "retry", text: query, calls: "announces" },
    { kind: "continue", text: query, calls: "announces" },
    { kind: "restore", text: query, calls: "announces" },
    { kind: "goal_runtime", text: query, calls: "announces" },
    { kind: "cron", text: query, calls: "announces" },
    { kind: "notification", text: query, calls: "announces" },
  ];
  for (const row of rows) {
    test(`${row.kind}, ${JSON.stringify(row.text)}: ${row.calls}`, async () => {
      assert.equal(await desk.prompt(await desk.session(), row.text, row.kind), "end_turn");
      if (row.calls === "nothing") {
        assert.deepEqual(await desk.calls(), []);
        assert.equal(desk.stub.requests.length, 0);
        return;
      }
      const calls = await finished(1);
      assert.deepEqual(methods(calls), ["recall", "consume", "finish"]);
      assert.equal(calls[0]!.params["turn"] === "user", row.calls === "recalls");
      // The query is what was typed, not what a command makes of it.
      assert.equal(calls[0]!.params["query"], row.text);
      const request = JSON.stringify(desk.stub.requests[0]!.messages);
      assert.equal(request.includes("MARKER-7433"), row.calls === "recalls");
    });
  }
});
