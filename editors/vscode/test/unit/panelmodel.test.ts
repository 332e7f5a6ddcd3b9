import assert from "node:assert/strict";
import { message } from "../../src/panelmodel";

describe("messages of the panel", () => {
  it("are taken when they are whole", () => {
    assert.deepEqual(message({ type: "open", ref: "project:a.md", more: 1 }), { type: "open", ref: "project:a.md" });
    assert.deepEqual(message({ type: "verdict", ref: "project:a.md", verdict: "wrong" }), { type: "verdict", ref: "project:a.md", verdict: "wrong" });
    assert.deepEqual(message({ type: "ready" }), { type: "ready" });
  });
  it("are dropped when they are anything else", () => {
    for (const raw of [null, 1, "open", {}, { type: "open" }, { type: "open", ref: 1 }, { type: "verdict", ref: "a", verdict: "delete" }, { type: "command", command: "x" }]) assert.equal(message(raw), undefined);
  });
});
