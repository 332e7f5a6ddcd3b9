// The pictures of the README, made of the sample memory: each is a flow that is looked at.

import * as fs from "node:fs";
import * as path from "node:path";
import { Model } from "../rig/model";
import { sample } from "../rig/samples";
import { Editor, given, until } from "../rig/servers";
import { closeBrowser, Workbench } from "../rig/workbench";

const query = "why is retryBudget different for Nordhavn";

describe("pictures of the sample memory", () => {
  let editor: Editor;
  let w: Workbench;
  let model: Model;

  before(async () => {
    model = await Model.start();
    const user: Record<string, Buffer> = {};
    const dir = path.join(given.source(), "testdata/memory/user");
    for (const name of fs.readdirSync(dir, { recursive: true, encoding: "utf8" })) {
      if (fs.statSync(path.join(dir, name)).isFile()) user[path.join(".local/share/memls/user", name)] = fs.readFileSync(path.join(dir, name));
    }
    const settings = { "memls.model.endpoint": model.url, "memls.model.name": "selector", "editor.wordWrap": "on", "editor.minimap.enabled": false, "explorer.openEditors.visible": 0 };
    editor = await Editor.start({ workspace: sample(), home: user, settings });
    w = await Workbench.open(editor, undefined, { width: 1280, height: 860 });
    await w.view();
  });
  after(async () => {
    await closeBrowser();
    editor.stop();
    await model.stop();
  });

  it("the view", async () => {
    await w.row(/ago/).first().waitFor();
    await w.widen(420);
    await w.page.locator(".pane-header", { hasText: "Surfaced Memories" }).first().click();
    await w.row(/ago.*stale/).first().click();
    await until("the text", async () => (await w.text()).includes("---"));
    await w.page.mouse.move(900, 800);
    await w.shot("tree");
    await w.page.locator(".pane-header", { hasText: "Surfaced Memories" }).first().click();
  });
  it("the panel, in three themes", async () => {
    model.choose = ["BookingSaga timeouts", "Failover runbook", "NATS"];
    const frame = await w.frame("form");
    await w.page.locator(".pane-header", { hasText: "Memories" }).first().click();
    await frame.locator("#query").fill(query);
    await frame.locator("button[type=submit]").click();
    await frame.locator('.turn[data-state="settled"]').first().waitFor();
    await frame.locator(".card summary").first().click();
    for (const [name, theme] of [["light", "Default Light Modern"], ["dark", "Default Dark Modern"], ["contrast", "Default High Contrast"]] as const) {
      await w.set({ "workbench.colorTheme": theme });
      const kind = { light: "vscode-light", dark: "vscode-dark", contrast: "vscode-high-contrast" }[name];
      await until(`the theme ${theme}`, () => frame.evaluate((k) => document.body.classList.contains(k), kind));
      await frame.locator("#query").focus();
      await w.shot(`panel-${name}`);
    }
    await w.set({ "workbench.colorTheme": "Default Light Modern" });
    await w.page.locator(".pane-header", { hasText: "Memories" }).first().click();
  });
  it("the diff before something is forgotten", async () => {
    await w.command("Memory: Forget…");
    model.choose = ["BookingSaga timeouts"];
    await w.type("Nordhavn does not honour an idempotency key");
    await w.enter();
    const ok = w.page.locator(".quick-input-widget .monaco-button", { hasText: "OK" });
    await ok.waitFor();
    await w.choose(w.rows().first());
    await ok.click();
    await w.rows("Forget Without a Trace").first().waitFor();
    await w.page.locator(".monaco-diff-editor").first().waitFor();
    await w.shot("forget");
    await w.pick("Keep");
  });
});
