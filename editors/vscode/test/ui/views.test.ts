// What is done with memories from the view, the editor and the status bar.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import * as flows from "../rig/flows";
import { memory, small, userFiles } from "../rig/samples";
import { Editor, until } from "../rig/servers";
import { closeBrowser, Workbench } from "../rig/workbench";

describe("the view and the editor", () => {
  let editor: Editor;
  let w: Workbench;

  before(async () => {
    editor = await Editor.start({ workspace: small, home: userFiles, sample: true });
    w = await Workbench.open(editor);
    await w.view();
    await w.row("Gateway port").waitFor();
  });
  after(async () => {
    await closeBrowser();
    editor.stop();
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") await w.shot(`failed-${this.currentTest.title.replace(/\W+/g, "-")}`);
  });
  const user = (name: string): string => path.join(editor.home, ".local/share/memls/user", name);

  it("pins and unpins in a row", async () => {
    await w.row("Deploys").hover();
    await w.row("Deploys").locator('.action-label[aria-label^="Pin"]').click();
    await until("the pin in the file", () => fs.readFileSync(flows.memoryFile(w, "deploy.md"), "utf8").includes("pinned: true"));
    await until("the pin in the row", async () => (await w.row("Deploys").textContent())?.includes("pinned"));
    await w.row("Deploys").hover();
    await w.row("Deploys").locator('.action-label[aria-label^="Unpin"]').click();
    await until("the pin to go", () => !fs.readFileSync(flows.memoryFile(w, "deploy.md"), "utf8").includes("pinned: true"));
  });
  it("filters", async () => {
    await w.command("Memory: Filter Memories");
    await w.type("rota");
    await w.row("Gateway port").waitFor({ state: "detached" });
    await w.enter();
    await w.page.locator(".pane-body", { hasText: "1 of 6 memories match" }).first().waitFor();
    assert.equal(await w.row("Rota of the week").count(), 1);
    await w.command("Memory: Clear Filter");
    await w.row("Gateway port").waitFor();
  });
  it("groups by age, and by type again", async () => {
    await w.command("Memory: Group by Age");
    await w.row("This week").first().waitFor();
    await w.row("This year").first().waitFor();
    await w.command("Memory: Group by Type");
    await w.row("reference").first().waitFor();
  });
  it("moves a memory to another scope, after a look", async () => {
    const text = fs.readFileSync(flows.memoryFile(w, "gateway.md"), "utf8");
    await w.row("Gateway port").click({ button: "right" });
    await w.page.locator(".monaco-menu .action-label", { hasText: "Move to Scope" }).first().click();
    await w.pick("user");
    await w.rows("Move").first().waitFor();
    assert.ok(fs.existsSync(flows.memoryFile(w, "gateway.md")), "nothing moves before the person has said yes");
    await w.rows("Move").first().click();
    await until("the file to move", () => fs.existsSync(user("gateway.md")) && !fs.existsSync(flows.memoryFile(w, "gateway.md")));
    assert.equal(fs.readFileSync(user("gateway.md"), "utf8"), text);
    await w.toastAction("Moved to user", "Undo");
    await until("the file to come back", () => fs.existsSync(flows.memoryFile(w, "gateway.md")));
    await w.row("Gateway port").waitFor();
  });
  it("forgets several that are selected, as one change", async () => {
    for (const name of ["one", "two"]) fs.writeFileSync(flows.memoryFile(w, `${name}.md`), memory(`Passing note ${name}`, "project", "Soon gone."));
    await w.row("Passing note one").click();
    await w.row("Passing note two").click({ modifiers: ["Control"] });
    await w.row("Passing note two").click({ button: "right" });
    await w.page.locator(".monaco-menu .action-label", { hasText: "Forget…" }).first().click();
    await w.rows("Forget Without a Trace").first().waitFor();
    await w.rows(/^Forget(?! Without)/).first().click();
    await until("both to go", () => !fs.existsSync(flows.memoryFile(w, "one.md")) && !fs.existsSync(flows.memoryFile(w, "two.md")));
    await w.toastAction("Forgotten: 2 memories", "Undo");
    await until("both to come back", () => fs.existsSync(flows.memoryFile(w, "one.md")) && fs.existsSync(flows.memoryFile(w, "two.md")));
    for (const name of ["one", "two"]) fs.rmSync(flows.memoryFile(w, `${name}.md`));
  });
  it("remembers what is selected in the editor", async () => {
    await w.openFile("README.md");
    await w.page.locator(".view-line", { hasText: "harbour gate" }).first().click();
    await w.page.keyboard.press("Home");
    await w.page.keyboard.press("Shift+End");
    await w.command("Memory: Remember Selection");
    await until("the text in the box", async () => (await w.input.inputValue()).includes("The harbour gate closes at six"));
    await w.enter();
    await w.pick("Project");
    await w.row(/harbour gate/).first().waitFor();
  });
  it("refuses a credential, and says why", async () => {
    await w.command("Memory: Remember…");
    await w.type(`The token is ghp_${"a1B2c3D4e5F6g7H8i9J0".repeat(2).slice(0, 36)}`);
    await w.enter();
    await w.pick("Project");
    await w.toast(/credential/).first().waitFor();
    await w.command("Notifications: Clear All Notifications");
  });
  it("shows how old a stale memory is on top of its text, and the scope in the language status", async () => {
    await w.openFile("rota.md");
    await until("the mark", async () => /stale: last updated 95 days ago/.test(await w.decorations()));
  });
  it("opens MEMORY.md, and makes it where there is none", async () => {
    await w.command("Memory: Open MEMORY.md");
    // Remembering has made one, or there is none yet.
    const tab = w.page.locator(".tab", { hasText: "MEMORY.md" }).first();
    await tab.or(w.toast("There is no MEMORY.md yet").first()).first().waitFor();
    if (!(await tab.isVisible())) await w.toastAction("There is no MEMORY.md yet", "Make One");
    await w.page.locator(".tab", { hasText: "MEMORY.md" }).first().waitFor();
  });
  it("shows the status", async () => {
    await w.command("Memory: Show Status");
    await until("the status", async () => /root project .*ready/.test(await w.text()));
  });
  it("says what to do about features that this memls does not have, or an empty inbox", async () => {
    await w.command("Memory: Review Inbox");
    await w.toast("The inbox is empty").first().waitFor();
    await w.command("Notifications: Clear All Notifications");
  });
  it("asks the person before a model forgets, and heeds a no", async () => {
    const dialog = w.page.locator(".monaco-dialog-box", { hasText: "Forget this?" });
    await w.command("Sample Chat: Let the Model Forget Deploys");
    await dialog.waitFor();
    assert.match((await dialog.textContent()) ?? "", /project:deploy\.md/);
    await w.shot("tool-forget");
    await w.page.keyboard.press("Escape");
    await w.toast("The tool was not run").first().waitFor();
    assert.ok(fs.existsSync(flows.memoryFile(w, "deploy.md")));
    await w.command("Sample Chat: Let the Model Forget Deploys");
    await dialog.waitFor();
    await dialog.locator(".dialog-buttons .monaco-button:not(.secondary)").first().click();
    await w.toast("The tool says: Forgotten: project:deploy.md").first().waitFor();
    assert.equal(fs.existsSync(flows.memoryFile(w, "deploy.md")), false);
    await w.command("Notifications: Clear All Notifications");
  });
  it("offers its actions in the status bar", async () => {
    await w.status.click();
    await w.rows("Search Memories").first().waitFor();
    await w.page.keyboard.press("Escape");
  });
});

describe("ten thousand memories", () => {
  let editor: Editor;
  let w: Workbench;
  before(async () => {
    const workspace: Record<string, string> = {};
    for (let i = 0; i < 10_000; i++) workspace[`.memory/d${i % 100}/n${i}.md`] = memory(`Note ${String(i).padStart(5, "0")}`, "project", `Fact ${i}.`);
    editor = await Editor.start({ workspace });
    w = await Workbench.open(editor);
    await w.view();
  });
  after(async () => {
    await closeBrowser();
    editor.stop();
  });

  it("are parted into runs, and one more is seen", async () => {
    await w.row(/^project/).first().waitFor();
    await w.row(/^project/).first().click();
    await w.row("Note 00000 – Note 00199").first().waitFor();
    await until("the count", async () => (await w.status.textContent())?.includes("10000"));
    assert.ok((await w.page.locator(".sidebar .monaco-list-row").count()) < 100);
    await w.row("Note 00000 – Note 00199").first().click();
    await w.row("Note 00003").first().waitFor();
    fs.writeFileSync(flows.memoryFile(w, "late.md"), memory("Note 000001 late", "project", "One more."));
    await until("the count", async () => (await w.status.textContent())?.includes("10001"));
    await w.row("Note 000001 late").first().waitFor();
  });
});
