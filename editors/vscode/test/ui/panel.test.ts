// The panel of surfaced memories: what comes at once, what the model adds and takes back, why, and what others were given.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import axe from "axe-core";
import type { Frame } from "playwright-core";
import { Model } from "../rig/model";
import { agentElsewhere } from "../rig/processes";
import { memory, small, userFiles } from "../rig/samples";
import { Editor, until } from "../rig/servers";
import { closeBrowser, Workbench } from "../rig/workbench";

interface Found {
  violations: { id: string; nodes: { html: string }[] }[];
}

const query = "which port does the zanzibar gateway use";

describe("the panel of surfaced memories", () => {
  let editor: Editor;
  let w: Workbench;
  let model: Model;
  let frame: Frame;

  before(async () => {
    model = await Model.start();
    const workspace = { ...small, ".memory/tides.md": memory("Tide tables", "reference", "Tides are read from the pelican buoy.") };
    editor = await Editor.start({ workspace, home: userFiles, settings: { "memls.model.endpoint": model.url, "memls.model.name": "selector" } });
    w = await Workbench.open(editor, undefined, { width: 1500, height: 1000 });
    await w.view();
    await w.row("Gateway port").waitFor();
    frame = await w.frame("form");
  });
  after(async () => {
    await closeBrowser();
    editor.stop();
    await model.stop();
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") await w.shot(`failed-${this.currentTest.title.replace(/\W+/g, "-")}`);
  });

  const ask = async (text: string): Promise<void> => {
    await frame.locator("#query").fill(text);
    await frame.locator("button[type=submit]").click();
  };
  const turn = (n = 0) => frame.locator(".turn").nth(n);

  it("shows what the index is sure of while the model still thinks", async () => {
    model.hold();
    model.choose = ["Gateway port", "Tide tables"];
    await ask(query);
    await turn().locator(".card.fast", { hasText: "Gateway port" }).waitFor();
    assert.equal(await turn().getAttribute("data-state"), "pending");
    assert.match((await turn().locator(".summary").textContent()) ?? "", /fast \d+ ms · refining/);
  });
  it("adds what the model chooses, and strikes what it leaves out", async () => {
    model.choose = ["Tide tables"];
    model.release();
    await turn().locator(".card.refined", { hasText: "Tide tables" }).waitFor();
    await turn().locator(".card.struck s", { hasText: "Gateway port" }).waitFor();
    assert.match((await turn().locator(".card.struck").first().textContent()) ?? "", /taken back by the model/);
    assert.match((await turn().locator(".summary").textContent()) ?? "", /refined \d+ ms · chosen by the model/);
  });
  it("says why, and marks the words that matched", async () => {
    const card = turn().locator(".card", { hasText: "Gateway port" }).first();
    assert.ok((await card.locator(".body mark").allTextContents()).includes("zanzibar"));
    await card.locator("summary").click();
    const why = (await card.locator("details li").allTextContents()).join("\n");
    assert.match(why, /zanzibar – body, the word itself/);
    assert.match(why, /lexical: rank \d+, score/);
  });
  it("gives back what was struck, and holds what the session has", async () => {
    model.choose = ["Gateway port", "Tide tables"];
    await ask(query);
    await until("two turns", async () => (await frame.locator(".turn").count()) === 2);
    await frame.locator('.turn[data-state="settled"]').nth(1).waitFor();
    // Withdrawn before: it comes again, and is not held.
    await turn().locator(".card:not(.held)", { hasText: "Gateway port" }).waitFor();
    await ask(query);
    await until("three turns", async () => (await frame.locator(".turn").count()) === 3);
    await turn().locator(".card.held", { hasText: "Gateway port" }).waitFor();
  });
  it("takes a verdict, a pin, and the prompt block", async () => {
    const card = turn(1).locator(".card", { hasText: "Gateway port" }).first();
    await card.getByRole("button", { name: "Useful" }).click();
    await card.locator(".said", { hasText: "Noted" }).waitFor();
    await card.getByRole("button", { name: /^Pin/ }).click();
    await until("the pin in the file", () => /pinned: true/.test(fs.readFileSync(`${editor.workspace}/.memory/gateway.md`, "utf8")));
    await turn(1).getByRole("button", { name: "Copy Prompt Block" }).click();
    await w.toast("The prompt block was copied").first().waitFor();
    assert.match(await w.page.evaluate(() => navigator.clipboard.readText()), /^<memls-memory nonce=/);
  });
  it("shows what an agent in another process was given", async () => {
    await agentElsewhere(editor, "terminal-agent", "who has the quokka rota");
    const entry = frame.locator(".activity", { hasText: "terminal-agent" }).first();
    await entry.waitFor();
    await entry.getByRole("button", { name: /Rota of the week/ }).click();
    await w.page.locator(".tab", { hasText: "rota.md" }).first().waitFor();
  });
  it("is accessible, in light, dark and high contrast", async () => {
    for (const [name, theme] of [["light", "Default Light Modern"], ["dark", "Default Dark Modern"], ["contrast", "Default High Contrast"]] as const) {
      await w.set({ "workbench.colorTheme": theme });
      const kind = { light: "vscode-light", dark: "vscode-dark", contrast: "vscode-high-contrast" }[name];
      await until(`the theme ${theme}`, () => frame.evaluate((k) => document.body.classList.contains(k), kind));
      // The colours follow the class of the theme a moment later.
      let found: string[] = [];
      await until(`${theme} without violations`, async () => {
        const { violations } = await frame.evaluate<Found>(`${axe.source}; axe.run(document.getElementById("root"), { resultTypes: ["violations"] })`);
        found = violations.map((v) => `${v.id}: ${v.nodes[0]?.html ?? ""}`);
        return found.length === 0;
      }, 10_000).catch(() => undefined);
      assert.deepEqual(found, [], theme);
      await w.shot(`panel-${name}`);
    }
  });
  it("can be used with the keyboard alone", async () => {
    await frame.locator("#query").focus();
    await w.page.keyboard.type("who has the quokka rota");
    await w.page.keyboard.press("Enter");
    await turn().getByRole("heading", { name: "who has the quokka rota" }).waitFor();
    await turn().locator("summary").first().focus();
    await w.page.keyboard.press("Enter");
    assert.ok(await turn().locator("details").first().evaluate((d) => (d as HTMLDetailsElement).open));
  });
  it("starts anew", async () => {
    await frame.getByRole("button", { name: "Start Anew" }).click();
    await frame.locator(".nothing").waitFor();
    assert.equal(await frame.locator(".turn").count(), 0);
  });
  it("asks nothing of any other host", () => {
    assert.deepEqual([...w.outside], []);
  });
});
