// package.json, the translations and the code name the same things.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";

const root = path.join(process.env["MEMLS_SOURCE"] ?? "../..", "editors/vscode");
const read = (name: string): string => fs.readFileSync(path.join(root, name), "utf8");
const json = (name: string): Record<string, string> => JSON.parse(read(name)) as Record<string, string>;
const sources = fs
  .readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((f) => f.endsWith(".ts"))
  .map((f) => read(path.join("src", f)))
  .join("\n");

interface Manifest {
  capabilities: { untrustedWorkspaces: { supported: string; restrictedConfigurations: string[] } };
  contributes: {
    commands: { command: string; category: string }[];
    menus: Record<string, { command: string }[]>;
    configuration: { properties: Record<string, { scope: string }> };
    languageModelTools: { name: string }[];
    walkthroughs: { steps: { media: { markdown: string } }[] }[];
  };
}
const manifest = JSON.parse(read("package.json")) as Manifest;
const placeholders = (text: string): string[] => [...new Set(text.match(/\{\d\}/g) ?? [])].sort();

describe("the manifest", () => {
  const declared = manifest.contributes.commands.map((c) => c.command).sort();

  it("declares the commands that the extension registers, all of the category Memory", () => {
    const table = /const commands: Record[^{]*\{\n([\s\S]*?)\n {4}\};/.exec(sources)?.[1] ?? "";
    const registered = [...table.matchAll(/^ {6}"?([\w.]+)"?: /gm)].map((m) => `memls.${m[1] ?? ""}`).sort();
    assert.deepEqual(declared, registered);
    for (const c of manifest.contributes.commands) assert.equal(c.category, "%category%");
  });
  it("has menus only of declared commands", () => {
    for (const [menu, items] of Object.entries(manifest.contributes.menus)) for (const { command } of items) assert.ok(declared.includes(command), `${menu}: ${command}`);
  });
  it("leaves command names of the server alone, which the language client registers", () => {
    for (const command of declared) assert.match(command, /^memls\./);
  });
  it("reads every setting that it declares, and declares every one that it reads", () => {
    const settings = Object.keys(manifest.contributes.configuration.properties).map((k) => k.replace("memls.", ""));
    for (const key of settings) assert.ok(sources.includes(`"${key}"`), `${key} is declared and not read`);
    const used = [...sources.matchAll(/(?:reader|this)\.(?:text|flag|number|choice|texts)\("([\w.]+)"/g)].map((m) => m[1] ?? "");
    assert.ok(used.length > 10);
    for (const key of used) assert.ok(settings.includes(key), `${key} is read and not declared`);
  });
  it("VSC-03 lets no untrusted workspace set a program, an endpoint or a root", () => {
    const { supported, restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
    assert.equal(supported, "limited");
    for (const key of Object.keys(manifest.contributes.configuration.properties)) {
      const harmless = ["memls.trace.server", "memls.recall.enabled", "memls.watcher", "memls.tree.groupBy"].includes(key);
      assert.equal(restrictedConfigurations.includes(key), !harmless, key);
    }
    for (const [key, { scope }] of Object.entries(manifest.contributes.configuration.properties)) if (key.startsWith("memls.model.")) assert.equal(scope, "machine", key);
  });
  it("registers the tools that it declares", () => {
    for (const { name } of manifest.contributes.languageModelTools) assert.ok(sources.includes(`registerTool("${name}"`), name);
  });
  it("has the pages of its walkthrough", () => {
    for (const step of manifest.contributes.walkthroughs[0]?.steps ?? []) assert.ok(read(step.media.markdown).length > 20);
    assert.equal(manifest.contributes.walkthroughs[0]?.steps.length, 5);
  });
});

describe("the translations", () => {
  it("have every text of the manifest", () => {
    const named = [...new Set([...read("package.json").matchAll(/"%([\w.-]+)%"/g)].map((m) => m[1] ?? ""))].sort();
    assert.deepEqual(Object.keys(json("package.nls.json")).sort(), named);
    assert.deepEqual(Object.keys(json("package.nls.zh-cn.json")).sort(), named);
  });
  it("have every text of the code, with its placeholders", () => {
    const used = new Set<string>();
    for (const m of sources.matchAll(/\bt\(\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/g)) {
      const literal = m[1] ?? '""';
      used.add(literal.startsWith('"') ? (JSON.parse(literal) as string) : literal.slice(1, -1));
    }
    assert.ok(used.size > 200);
    for (const name of ["l10n/bundle.l10n.json", "l10n/bundle.l10n.zh-cn.json"]) {
      const bundle = json(name);
      assert.deepEqual(Object.keys(bundle).sort(), [...used].sort(), name);
      for (const [text, translated] of Object.entries(bundle)) assert.deepEqual(placeholders(translated), placeholders(text), text);
    }
  });
});
