// node tests/format/format.mjs [--write] FILE...: says which Lua files stylua would write otherwise, or writes them so.
// NODE_PATH names the packages of package.json beside this file; the options are those of stylua.toml.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const { Config, IndentType, LuaVersion, OutputVerification, QuoteStyle, formatCode } = createRequire(import.meta.url)("@johnnymorganz/stylua");

const text = readFileSync(new URL("../../stylua.toml", import.meta.url), "utf8");
const options = Object.fromEntries(text.split("\n").filter(Boolean).map((line) => line.split(" = ").map((s) => s.replaceAll('"', ""))));

function config() {
  const c = Config.new();
  c.syntax = LuaVersion[options.syntax];
  c.column_width = Number(options.column_width);
  c.indent_type = IndentType[options.indent_type];
  c.indent_width = Number(options.indent_width);
  c.quote_style = QuoteStyle[options.quote_style];
  return c;
}

const write = process.argv[2] === "--write";
let wrong = 0;
for (const file of process.argv.slice(write ? 3 : 2)) {
  const before = readFileSync(file, "utf8");
  const after = formatCode(before, config(), undefined, OutputVerification.Full);
  if (before === after) continue;
  if (write) {
    writeFileSync(file, after);
  } else {
    wrong++;
    console.error(`${file}: not as stylua writes it; make format does it`);
  }
}
process.exit(wrong > 0 ? 1 : 0);
