// Files that the tests work on: a few memories with known words, and the sample memory of the repository.

import * as fs from "node:fs";
import * as path from "node:path";
import { given, type Files } from "./servers";

function day(ago: number): string {
  return new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
}

export function memory(name: string, type: string, body: string, more: Record<string, string> = {}): string {
  const keys = { name, description: `About ${name}`, type, updated_at: day(3), ...more };
  const header = Object.entries(keys).map(([k, v]) => `${k}: ${v}`);
  return `---\n${header.join("\n")}\n---\n\n${body}\n`;
}

/** A small project memory: each with a word that no other has. */
export const small: Files = {
  ".memory/gateway.md": memory("Gateway port", "project", "The zanzibar gateway listens on 7433."),
  ".memory/rota.md": memory("Rota of the week", "reference", "The quokka rota lies in the wiki. The gateway is watched by whoever has the rota.", { updated_at: day(95) }),
  ".memory/old.md": memory("Old port", "project", "The gateway used to listen on 7000, the marzipan port.", { status: "superseded" }),
  ".memory/deploy.md": memory("Deploys", "project", "Deploys of the gateway happen on Tuesdays by the ocelot pipeline."),
  ".memory/entries.md": memory("Editor habits", "feedback", "- dark mode everywhere\n- tabs in Go\n- short lines, said the wombat"),
  "README.md": "# A project\n\nThe harbour gate closes at six, always.\n",
};

export const userFiles: Files = {
  ".local/share/memls/user/brevity.md": memory("Short answers", "user", "No summaries of what was just done, said the heron."),
};

/** The sample memory of the repository: an invented company, in many languages. */
export function sample(): Files {
  const files: Files = {};
  const base = path.join(given.source(), "testdata/memory");
  for (const [from, to] of [["project", ".memory"]] as const) {
    const dir = path.join(base, from);
    for (const name of fs.readdirSync(dir, { recursive: true, encoding: "utf8" })) {
      const file = path.join(dir, name);
      if (fs.statSync(file).isFile()) files[path.join(to, name)] = fs.readFileSync(file);
    }
  }
  return files;
}
