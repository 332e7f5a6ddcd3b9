// What a person does, step by step, with what must be seen after each: driven in the newest editor and in the oldest.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { until } from "./servers";
import type { Workbench } from "./workbench";

export function memoryFile(w: Workbench, name: string): string {
  return path.join(w.editor.workspace, ".memory", name);
}

/** The memories stand in the view by scope and type, with their marks, and are counted in the status bar. */
export async function tree(w: Workbench): Promise<void> {
  await w.view();
  await w.row("Gateway port").waitFor();
  await w.row("Short answers").waitFor();
  assert.match((await w.row("Rota of the week").textContent()) ?? "", /3 months ago · stale/);
  assert.match((await w.row("Old port").textContent()) ?? "", /superseded/);
  await until("the count in the status bar", async () => (await w.status.textContent())?.includes("6"));
}

/** Search finds while one types, shows what is focused, and opens it. */
export async function search(w: Workbench): Promise<void> {
  await w.command("Memory: Search Memories");
  await w.type("ocelot");
  await w.rows("Deploys").first().waitFor();
  assert.equal(await w.rows().count(), 1);
  await until("the preview", async () => (await w.text()).includes("ocelot pipeline"));
  await w.enter();
  await w.input.waitFor({ state: "hidden" });
  await w.page.locator(".tab", { hasText: "deploy.md" }).first().waitFor();
}

/** A prompt brings the memory into the panel, with the words that matched. */
export async function recall(w: Workbench, query: string, title: string): Promise<void> {
  await w.command("Memory: Recall for Prompt");
  await w.type(query);
  await w.enter();
  const frame = await w.frame(".card", title);
  await frame.locator(`.turn[data-state="settled"]`, { hasText: query }).first().waitFor();
}

/** Something is remembered as a file, and seen in the view. */
export async function remember(w: Workbench, text: string): Promise<string> {
  const before = new Set(fs.readdirSync(memoryFile(w, "")));
  await w.command("Memory: Remember…");
  await w.type(text);
  await w.enter();
  await w.pick("Project");
  await w.toast("Remembered in").first().waitFor();
  const made = fs.readdirSync(memoryFile(w, "")).filter((n) => !before.has(n) && n !== "MEMORY.md");
  assert.equal(made.length, 1);
  const name = made[0] ?? "";
  assert.ok(fs.readFileSync(memoryFile(w, name), "utf8").includes(text));
  return name;
}

/** Something is looked for in words, shown as a diff, forgotten, and brought back. */
export async function forgetAndUndo(w: Workbench, words: string, title: string, name: string, shot?: string): Promise<void> {
  const text = fs.readFileSync(memoryFile(w, name), "utf8");
  await w.command("Memory: Forget…");
  await w.type(words);
  await w.enter();
  const row = w.rows(title).first();
  await row.waitFor();
  await w.choose(row);
  await w.page.locator(".quick-input-widget .monaco-button", { hasText: "OK" }).click();
  await w.rows("Forget Without a Trace").first().waitFor();
  await w.page.locator(".monaco-diff-editor").first().waitFor();
  assert.equal(fs.readFileSync(memoryFile(w, name), "utf8"), text, "nothing goes before the person has said yes");
  if (shot) await w.shot(shot);
  await w.rows(/^Forget(?! Without)/).first().click();
  await until("the file to go", () => !fs.existsSync(memoryFile(w, name)));
  await w.row(title).waitFor({ state: "detached" });
  await w.command("Memory: Undo Last Change");
  await w.rows("forgotten").first().waitFor();
  await w.enter();
  await until("the file to come back", () => fs.existsSync(memoryFile(w, name)) && fs.readFileSync(memoryFile(w, name), "utf8") === text);
  await w.row(title).waitFor();
}
