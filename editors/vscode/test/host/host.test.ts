// Mocha inside the real extension host, against the installed package: the inner tests lie in inside/. In a host that runs tests
// the editor answers every question by itself; that tools ask, and heed the answer, is tested in the workbench.

import assert from "node:assert/strict";
import * as path from "node:path";
import { format } from "node:util";
import { small, userFiles } from "../rig/samples";
import { Editor, given } from "../rig/servers";
import { closeBrowser, openBrowser, withoutServiceWorker } from "../rig/workbench";

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
    await page.addInitScript(withoutServiceWorker);
    await page.addInitScript(testable);
    await page.exposeFunction("codeAutomationLog", (_type: string, args: unknown[]) => said.push(format(...args)));
    const exit = new Promise<number>((resolve) => {
      void page.exposeFunction("codeAutomationExit", resolve);
    });
    const at = (file: string): string => `vscode-remote://127.0.0.1:${editor.port}${file}`;
    const inside = path.join(given.source(), "editors/vscode/dist/test/host/inside/index.js");
    const payload = [["extensionDevelopmentPath", at(editor.installed)], ["extensionTestsPath", at(inside)]];
    await page.goto(`${editor.url}/?folder=${encodeURIComponent(editor.workspace)}&payload=${encodeURIComponent(JSON.stringify(payload))}`, { waitUntil: "commit" });
    const ended = await Promise.race([exit, new Promise<string>((resolve) => setTimeout(() => resolve("no end within 4 minutes"), 240_000).unref())]);
    const log = said.join("\n");
    if (ended !== 0) await page.screenshot({ path: path.join(given.results(), "host-failed.png") });
    await context.close();
    assert.equal(ended, 0, `${log}\n${editor.logs()}`);
    assert.match(log, /\d\d passing/);
  });
});
