// Mocha inside the real extension host, against the installed package: the inner tests lie in inside/. What only a person can do
// there, answering a question, is done here.

import assert from "node:assert/strict";
import * as path from "node:path";
import { format } from "node:util";
import { small, userFiles } from "../rig/samples";
import { Editor, given } from "../rig/servers";
import { closeBrowser, openBrowser, withoutServiceWorker } from "../rig/workbench";
import type { Page } from "playwright-core";

/** Released workbenches run tests only when this option is set; it is set for this page alone, since it hides notifications. */
const testable = `(() => {
  const get = Element.prototype.getAttribute;
  Element.prototype.getAttribute = function (name) {
    const value = get.call(this, name);
    if (name !== "data-settings" || this.id !== "vscode-workbench-web-configuration") return value;
    const settings = JSON.parse(value);
    settings.developmentOptions = { ...settings.developmentOptions, enableSmokeTestDriver: true };
    return JSON.stringify(settings);
  };
})()`;

/** Says yes to the questions of the tools, and notes what they showed. */
async function answer(page: Page, asked: string[], over: () => boolean): Promise<void> {
  while (!over()) {
    const dialog = page.locator(".monaco-dialog-box").first();
    if (await dialog.isVisible().catch(() => false)) {
      asked.push((await dialog.textContent()) ?? "");
      await dialog.locator(".dialog-buttons .monaco-button").first().click().catch(() => undefined);
    }
    await page.waitForTimeout(100).catch(() => undefined);
  }
}

describe("in the extension host", () => {
  let editor: Editor;

  before(async () => {
    editor = await Editor.start({ workspace: small, home: userFiles, sample: true });
  });
  after(async () => {
    await closeBrowser();
    editor.stop();
  });

  it("all inner tests pass", async function () {
    this.timeout(300_000);
    const context = await (await openBrowser()).newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    const said: string[] = [];
    const asked: string[] = [];
    let code: number | undefined;
    await page.addInitScript(withoutServiceWorker);
    await page.addInitScript(testable);
    await page.exposeFunction("codeAutomationLog", (_type: string, args: unknown[]) => said.push(format(...args)));
    const exit = new Promise<number>((resolve) => {
      void page.exposeFunction("codeAutomationExit", (n: number) => {
        code = n;
        resolve(n);
      });
    });
    const at = (file: string): string => `vscode-remote://127.0.0.1:${editor.port}${file}`;
    const inside = path.join(given.source(), "editors/vscode/dist/test/host/inside/index.js");
    const payload = [["extensionDevelopmentPath", at(editor.installed)], ["extensionTestsPath", at(inside)]];
    await page.goto(`${editor.url}/?folder=${encodeURIComponent(editor.workspace)}&payload=${encodeURIComponent(JSON.stringify(payload))}`, { waitUntil: "commit" });
    void answer(page, asked, () => code !== undefined);
    const ended = await Promise.race([exit, new Promise<string>((resolve) => setTimeout(() => resolve("no end within 4 minutes"), 240_000).unref())]);
    const log = said.join("\n");
    if (ended !== 0) await page.screenshot({ path: path.join(given.results(), "host-failed.png") });
    await context.close();
    assert.equal(ended, 0, `${log}\n${editor.logs()}`);
    assert.match(log, /\d\d passing/);
    assert.ok(asked.some((a) => a.includes("Remember this?") && a.includes("The otter")), asked.join("\n"));
    assert.ok(asked.some((a) => a.includes("Forget this?") && a.includes("deploy.md")), asked.join("\n"));
  });
});
