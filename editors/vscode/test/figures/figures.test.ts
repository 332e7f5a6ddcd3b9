// Figures to read, and no verdicts: run with MEMLS_FIGURES=1 .ci/vscode on a quiet machine.

import * as fs from "node:fs";
import * as path from "node:path";
import * as flows from "../rig/flows";
import { small, userFiles } from "../rig/samples";
import { Editor, given, until } from "../rig/servers";
import { closeBrowser, Workbench } from "../rig/workbench";

function note(text: string): void {
  fs.appendFileSync(path.join(given.results(), "figures.txt"), `${text}\n`);
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? NaN;
}

const times = 10;

describe("figures", () => {
  let editor: Editor;
  before(async () => {
    editor = await Editor.start({ workspace: small, home: userFiles });
  });
  after(async () => {
    await closeBrowser();
    editor.stop();
  });

  it("activation", async function () {
    this.timeout(600_000);
    const values: number[] = [];
    for (let i = 0; i < times; i++) {
      const w = await Workbench.open(editor);
      await until("the memories", async () => (await w.status.textContent().catch(() => ""))?.includes("6"));
      await w.command("Developer: Show Running Extensions");
      const row = w.page.locator(".runtime-extensions-editor .extension", { hasText: "memls" }).first();
      const text = await until("the time", async () => {
        const t = (await row.textContent()) ?? "";
        return /(\d+)\s?ms/.test(t) && t;
      });
      values.push(Number(/(\d+)\s?ms/.exec(text)?.[1]));
      await w.close();
    }
    note(`activation, median of ${times}: ${median(values)} ms (${values.join(", ")})`);
  });

  it("from saving a file outside to the view", async () => {
    const w = await Workbench.open(editor);
    await w.view();
    await w.row("Gateway port").waitFor();
    const values: number[] = [];
    for (let i = 0; i < times; i++) {
      const seen = w.page.evaluate((title) => new Promise<number>((resolve) => {
        const look = (): void => {
          if ([...document.querySelectorAll(".sidebar .monaco-list-row")].some((r) => r.textContent?.includes(title))) resolve(Date.now());
          else requestAnimationFrame(look);
        };
        look();
      }), `Fresh note ${i}`);
      const began = Date.now();
      fs.writeFileSync(flows.memoryFile(w, `fresh${i}.md`), `# Fresh note ${i}\n`);
      values.push((await seen) - began);
    }
    note(`from saving a file outside to the view, median of ${times}: ${median(values)} ms (${values.join(", ")})`);
    await w.close();
  });

  it("from a prompt to the fast result in the panel", async () => {
    const w = await Workbench.open(editor);
    await w.view();
    const frame = await w.frame("form");
    const values: number[] = [];
    for (let i = 0; i < times; i++) {
      await frame.getByRole("button", { name: "Start Anew" }).click();
      await frame.locator(".nothing").waitFor();
      values.push(
        await frame.evaluate(() => new Promise<number>((resolve) => {
          (document.getElementById("query") as HTMLInputElement).value = "which port does the zanzibar gateway use";
          const began = performance.now();
          document.querySelector<HTMLButtonElement>("button[type=submit]")?.click();
          const look = (): void => {
            if (document.querySelector(".card.fast")) resolve(Math.round(performance.now() - began));
            else requestAnimationFrame(look);
          };
          look();
        })),
      );
    }
    note(`from a prompt to the fast result in the panel, median of ${times}: ${median(values)} ms (${values.join(", ")})`);
    await w.close();
  });
});
