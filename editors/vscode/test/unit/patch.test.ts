import assert from "node:assert/strict";
import { after } from "../../src/patch";

describe("what a change makes of a file", () => {
  const diff = "--- a/user:editor.md\n+++ b/user:editor.md\n@@ -1,3 +1,2 @@\n - dark mode\n - short lines\n-- tabs, never spaces\n";
  it("is computed from its diff", () => {
    assert.equal(after({ action: "update", diff }, "- dark mode\n- short lines\n- tabs, never spaces\n"), "- dark mode\n- short lines\n");
  });
  it("keeps the line ends of the file", () => {
    assert.equal(after({ action: "update", diff }, "- dark mode\r\n- short lines\r\n- tabs, never spaces\r\n"), "- dark mode\r\n- short lines\r\n");
  });
  it("is nothing when the file goes", () => {
    assert.equal(after({ action: "delete", diff: "" }, "x"), "");
  });
  it("is not known when the diff does not fit", () => {
    assert.equal(after({ action: "update", diff }, "something else\n"), undefined);
    assert.equal(after({ action: "update", diff: "no diff" }, "x"), undefined);
  });
});
