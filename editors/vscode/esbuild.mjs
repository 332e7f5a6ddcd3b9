// Bundles the extension into dist/extension.js and the script of its webview into dist/panel.js; with --tests every test and what
// drives them into dist/test, for Node.js and for the extension host.
import { build } from "esbuild";
import { readdirSync } from "node:fs";

const common = { bundle: true, logLevel: "warning", legalComments: "none" };
const node = { ...common, platform: "node", format: "cjs", target: "node20", external: ["vscode", "mocha", "playwright-core", "axe-core", "typescript"] };

if (process.argv.includes("--tests")) {
  const tests = readdirSync("test", { recursive: true, encoding: "utf8" }).filter((f) => f.endsWith(".ts") && !f.endsWith(".d.ts"));
  await build({ ...node, entryPoints: tests.map((f) => `test/${f}`), outbase: "test", outdir: "dist/test", sourcemap: "inline" });
} else {
  await build({ ...node, minify: true, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js" });
  await build({ ...common, minify: true, platform: "browser", format: "iife", target: "es2022", entryPoints: ["src/webview/panel.ts"], outfile: "dist/panel.js" });
}
