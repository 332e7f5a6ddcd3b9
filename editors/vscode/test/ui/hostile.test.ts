// Memories that would like to be more than text, or are awkward: shown inert, wherever they are shown.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { memory } from "../rig/samples";
import { Editor, until } from "../rig/servers";
import { closeBrowser, Workbench } from "../rig/workbench";

const evil = `<img src=x onerror="document.title='owned'"> <script>document.title='owned'</script> [click](command:workbench.action.terminal.new) $(trash) \u202etxt.exe\u202c`;

describe("memories that are not harmless", () => {
  let editor: Editor;
  let w: Workbench;

  before(async () => {
    const workspace = {
      ".memory/evil.md": `---\nname: ${JSON.stringify(`Evil ${evil}`)}\ndescription: ${JSON.stringify(evil)}\ntype: project\n---\n\nThe platypus says ${evil}\n\n[run](command:workbench.action.files.newUntitledFile) and ![x](https://example.com/x.png)\n`,
      ".memory/large.md": `---\nname: Large one\ntype: project\n---\n\nThe narwhal begins here.\n${"0123456789abcdef ".repeat(130_000)}\n`,
      ".memory/crlf.md": memory("Windows note", "project", "- first line, said the axolotl\n- second line\n- third line").replace(/\n/g, "\r\n"),
    };
    editor = await Editor.start({ workspace });
    w = await Workbench.open(editor);
    await w.view();
  });
  after(async () => {
    await closeBrowser();
    editor.stop();
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") await w.shot(`failed-${this.currentTest.title.replace(/\W+/g, "-")}`);
  });

  it("are text in the view and its tooltip", async () => {
    const row = w.row("Evil").first();
    await row.waitFor();
    const text = (await row.textContent()) ?? "";
    assert.ok(text.includes("<img src=x"), text);
    assert.ok(text.includes("$(trash)"), text);
    assert.ok(!text.includes("\u202e"), text);
    await row.locator(".label-name").first().hover();
    const hover = w.page.locator(".workbench-hover", { hasText: "Evil" }).first();
    await hover.waitFor();
    assert.equal(await hover.locator("a, img, script").count(), 0);
    await w.page.mouse.move(900, 500);
  });
  it("are text in a quick pick", async () => {
    await w.command("Memory: Search Memories");
    await w.type("platypus");
    const row = w.rows("Evil").first();
    await row.waitFor();
    assert.ok(((await row.textContent()) ?? "").includes("$(trash)"));
    assert.equal(await row.locator(".quick-input-list-rows .codicon-trash, img").count(), 0);
    await w.page.keyboard.press("Escape");
  });
  it("are text in the panel", async () => {
    const frame = await w.frame("form");
    await frame.locator("#query").fill("what does the platypus say");
    await frame.locator("button[type=submit]").click();
    const card = frame.locator(".card", { hasText: "platypus" }).first();
    await card.waitFor();
    assert.equal(await card.locator("img, script, a, iframe").count(), 0);
    assert.ok(((await card.textContent()) ?? "").includes("[click](command:workbench.action.terminal.new)"));
    assert.ok(!((await card.textContent()) ?? "").includes("\u202e"));
    assert.notEqual(await frame.evaluate(() => document.title), "owned");
    const policy = (await frame.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content")) ?? "";
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
    await w.shot("hostile");
  });
  it("are text in the diff of a plan", async () => {
    await w.command("Memory: Forget…");
    await w.type("platypus");
    await w.enter();
    await w.rows("Evil").first().waitFor();
    await w.page.locator(".monaco-diff-editor").first().waitFor();
    assert.equal(await w.page.locator(".monaco-diff-editor img, .monaco-diff-editor script").count(), 0);
    await w.page.keyboard.press("Escape");
    assert.ok(fs.existsSync(path.join(editor.workspace, ".memory/evil.md")));
  });
  it("may be of 2 MB: found, opened, and nothing waits for them", async () => {
    await w.command("Memory: Search Memories");
    await w.type("narwhal");
    await w.rows("Large one").first().waitFor();
    await w.enter();
    await w.page.locator(".tab", { hasText: "large.md" }).first().waitFor();
    await w.row("Windows note").waitFor();
  });
  it("keep their Windows line ends when an entry goes", async () => {
    const file = path.join(editor.workspace, ".memory/crlf.md");
    const before = fs.readFileSync(file, "utf8");
    await w.command("Memory: Forget…");
    await w.type("axolotl");
    await w.enter();
    const row = w.rows("Windows note").first();
    await row.waitFor();
    await w.choose(row);
    await w.page.locator(".quick-input-widget .monaco-button", { hasText: "OK" }).click();
    await w.rows("Forget Without a Trace").first().waitFor();
    await w.rows(/^Forget(?! Without)/).first().click();
    const after = await until("the entry to go", () => {
      const text = fs.readFileSync(file, "utf8");
      return !text.includes("axolotl") && text;
    });
    assert.equal(after, before.replace("- first line, said the axolotl\r\n", ""));
  });
});
