// Drives the workbench in a browser as a person does: palette, views, quick picks, webviews.

import * as fs from "node:fs";
import * as path from "node:path";
import { chromium, type Browser, type Frame, type Locator, type Page } from "playwright-core";
import { given, machineSettings, settingsFile, until, type Editor } from "./servers";

let browser: Browser | undefined;

export async function openBrowser(): Promise<Browser> {
  browser ??= await chromium.launch({
    executablePath: process.env["MEMLS_CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  return browser;
}

export async function closeBrowser(): Promise<void> {
  await browser?.close();
  browser = undefined;
}

/** The service worker of code-server keeps webviews of a fresh profile blank; the workbench does without it. */
export const withoutServiceWorker = `(() => {
  const workers = navigator.serviceWorker;
  if (!workers) return;
  const register = workers.register.bind(workers);
  workers.register = (url, options) => String(url).includes("_static/out/browser/serviceWorker.js") ? new Promise(() => {}) : register(url, options);
})()`;

export class Workbench {
  readonly outside = new Set<string>();

  private constructor(
    readonly page: Page,
    readonly editor: Editor,
  ) {}

  static async open(editor: Editor, folder: string | undefined = editor.workspace, size = { width: 1400, height: 900 }): Promise<Workbench> {
    const context = await (await openBrowser()).newContext({ viewport: size, permissions: ["clipboard-read", "clipboard-write"] });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await page.addInitScript(withoutServiceWorker);
    const workbench = new Workbench(page, editor);
    page.on("request", (r) => {
      const url = new URL(r.url());
      if (url.protocol.startsWith("http") && !["127.0.0.1", "localhost"].includes(url.hostname) && !url.hostname.endsWith(".vscode-cdn.net")) workbench.outside.add(r.url());
    });
    await page.goto(`${editor.url}/${folder ? `?folder=${encodeURIComponent(folder)}` : "?ew=true"}`, { waitUntil: "commit", timeout: 60_000 });
    await page.locator(".monaco-workbench").waitFor({ timeout: 120_000 });
    return workbench;
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  /** Changes settings as a person does: in the editor of their file, by pasting. All of them stand in one file. */
  async set(settings: Record<string, unknown>): Promise<void> {
    const name = settingsFile(Object.keys(settings)[0] ?? "");
    const file = path.join(this.editor.dir, name);
    const text = JSON.stringify({ ...(JSON.parse(fs.readFileSync(file, "utf8")) as object), ...settings });
    await this.command(name === machineSettings ? "Preferences: Open Remote Settings (JSON)" : "Preferences: Open User Settings (JSON)");
    await this.page.locator(".tab.active", { hasText: "settings.json" }).first().waitFor();
    await this.page.locator(".editor-instance .monaco-editor.focused").first().waitFor();
    await this.page.keyboard.press("Control+A");
    await this.page.evaluate((t) => navigator.clipboard.writeText(t), text);
    await this.page.keyboard.press("Control+V");
    await this.page.keyboard.press("Control+S");
    await until("the settings", () => fs.readFileSync(file, "utf8") === text);
    await this.command("View: Close Editor");
  }

  async shot(name: string): Promise<void> {
    const dir = path.join(given.results(), "screenshots");
    fs.mkdirSync(dir, { recursive: true });
    await this.page.screenshot({ path: path.join(dir, `${name}.png`) });
  }

  get input(): Locator {
    return this.page.locator(".quick-input-widget .quick-input-box input").first();
  }

  rows(text?: string | RegExp): Locator {
    const rows = this.page.locator(".quick-input-list .monaco-list-row");
    return text === undefined ? rows : rows.filter({ hasText: text });
  }

  /** Runs a command of the palette. The palette does not follow commands that come late: it is opened until the row is there. */
  async command(title: string): Promise<void> {
    for (let i = 0; ; i++) {
      await this.page.keyboard.press("F1");
      await this.input.waitFor();
      await this.input.fill(`>${title}`);
      try {
        await this.rows(title).first().waitFor({ timeout: 3000 });
        break;
      } catch (error) {
        if (i === 10) throw error;
        await this.page.keyboard.press("Escape");
      }
    }
    await this.rows(title).first().click();
  }

  /** Takes a row of an open quick pick. */
  async pick(text: string | RegExp): Promise<void> {
    await this.rows(text).first().click();
  }

  /** Sees to it that a row of a quick pick of several is chosen. */
  async choose(row: Locator): Promise<void> {
    const box = row.locator('input[type="checkbox"], [role="checkbox"]').first();
    if (!(await box.isChecked())) await box.click();
  }

  async type(text: string): Promise<void> {
    await this.input.waitFor();
    await this.input.fill(text);
  }

  async enter(): Promise<void> {
    await this.page.keyboard.press("Enter");
  }

  async view(): Promise<void> {
    const action = this.page.locator('.activitybar .action-label[aria-label^="Memory"]').first();
    await action.waitFor({ timeout: 60_000 });
    if (!(await this.page.locator(".sidebar .composite.title", { hasText: /memory/i }).isVisible())) await action.click();
  }

  /** Opens a file by its name, as one that stays. */
  async openFile(name: string): Promise<void> {
    await this.page.keyboard.press("Escape");
    await this.page.keyboard.press("Control+P");
    await this.type(name);
    await this.rows(name).first().waitFor();
    await this.enter();
    await this.page.locator(".tab.active", { hasText: name }).first().waitFor();
  }

  /** Makes the side bar so many pixels wide, by its sash. */
  async widen(width: number): Promise<void> {
    const bar = await this.page.locator(".part.sidebar").first().boundingBox();
    if (!bar) throw new Error("there is no side bar");
    await this.page.mouse.move(bar.x + bar.width, bar.y + 300);
    await this.page.mouse.down();
    await this.page.mouse.move(bar.x + width, bar.y + 300, { steps: 5 });
    await this.page.mouse.up();
  }

  /** What decorations add to lines, which the page draws by style sheets. */
  async decorations(): Promise<string> {
    return this.page.evaluate(() => [...document.querySelectorAll(".view-line span")].map((e) => getComputedStyle(e, "::after").content).join("\n"));
  }

  /** A row of the view of memories. */
  row(text: string | RegExp): Locator {
    return this.page.locator(".sidebar .pane-body .monaco-list-row", { hasText: text });
  }

  toast(text: string | RegExp): Locator {
    return this.page.locator(".notifications-toasts .notification-list-item", { hasText: text });
  }

  async toastAction(text: string | RegExp, action: string): Promise<void> {
    const toast = this.toast(text).first();
    await toast.waitFor();
    await toast.hover();
    await toast.locator(".monaco-button", { hasText: action }).first().click();
  }

  get status(): Locator {
    return this.page.locator('[id="memls.memls.memls.status"], [id*="memls.status"]').first();
  }

  /** The frame of a webview that holds an element. */
  async frame(selector: string, text = ""): Promise<Frame> {
    return until(`a webview with ${selector} ${text}`, async () => {
      for (const frame of this.page.frames()) {
        const there = await frame.evaluate(([s, x]) => document.querySelector(s ?? "")?.textContent?.includes(x ?? ""), [selector, text]).catch(() => false);
        if (there) return frame;
      }
      return undefined;
    });
  }

  /** The text of the editor, or of the modified side of a diff. */
  async text(): Promise<string> {
    return (await this.page.locator(".editor-instance .view-lines").allTextContents()).join("\n").replace(/\u00a0/g, " ");
  }
}
