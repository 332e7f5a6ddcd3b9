// Finds the memls to run and makes sure that it is one, before anything is spoken with it.

import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";

/** The oldest memls that this extension works with, and the protocol that both must speak. */
export const oldest = [0, 1, 0] as const;
export const protocolVersion = 1;

export interface Server {
  command: string;
  version: string;
  origin: "setting" | "bundled" | "path";
}

/** Why there is no server. The message is written by whoever shows it. */
export class NoServer extends Error {
  constructor(
    readonly why: "missing" | "setting_missing" | "not_memls" | "too_old" | "protocol",
    /** The program it is about, and what it said. */
    readonly command: string,
    readonly detail: string,
  ) {
    super(`${why}: ${command}: ${detail}`);
  }
}

function executable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

const program = process.platform === "win32" ? "memls.exe" : "memls";

/** locate answers which file would be run: the one that is set, else the bundled one, else the first on PATH. */
export function locate(setting: string, extensionDir: string, searchPath: string): Omit<Server, "version"> {
  if (setting) {
    if (!path.isAbsolute(setting)) throw new NoServer("setting_missing", setting, "not an absolute path");
    if (!executable(setting)) throw new NoServer("setting_missing", setting, "no program");
    return { command: setting, origin: "setting" };
  }
  const bundled = path.join(extensionDir, "bin", program);
  if (executable(bundled)) return { command: bundled, origin: "bundled" };
  for (const dir of searchPath.split(path.delimiter)) {
    // A relative entry would lead into whatever folder the editor runs in.
    if (!path.isAbsolute(dir)) continue;
    const candidate = path.join(dir, program);
    if (executable(candidate)) return { command: candidate, origin: "path" };
  }
  throw new NoServer("missing", program, "");
}

/** tooOld compares a version such as v0.1.0-3-gabcdef. What has no number, such as a build of a working tree, is as new as can be. */
export function tooOld(version: string): boolean {
  const numbers = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number);
  if (!numbers) return false;
  for (const [i, least] of oldest.entries()) {
    const have = numbers[i] ?? 0;
    if (have !== least) return have < least;
  }
  return false;
}

/** check asks a program whether it is a memls, which, and whether it speaks our protocol. */
export async function check(command: string): Promise<string> {
  const output = await new Promise<string>((resolve, reject) => {
    execFile(command, ["version", "--json"], { timeout: 10_000, windowsHide: true, maxBuffer: 64 << 10 }, (error, stdout, stderr) => {
      if (error) reject(new NoServer("not_memls", command, firstLine(stderr) || firstLine(error.message)));
      else resolve(stdout);
    });
  });
  let answer: { version?: unknown; protocol?: unknown } | null;
  try {
    answer = JSON.parse(output) as typeof answer;
  } catch {
    throw new NoServer("not_memls", command, firstLine(output));
  }
  if (typeof answer?.version !== "string" || typeof answer.protocol !== "number") throw new NoServer("not_memls", command, firstLine(output));
  if (tooOld(answer.version)) throw new NoServer("too_old", command, answer.version);
  if (answer.protocol !== protocolVersion) throw new NoServer("protocol", command, String(answer.protocol));
  return answer.version;
}

function firstLine(text: string): string {
  return text.trim().split(/\r?\n/, 1)[0]?.slice(0, 200) ?? "";
}

export async function findServer(setting: string, extensionDir: string): Promise<Server> {
  const found = locate(setting, extensionDir, process.env["PATH"] ?? "");
  return { ...found, version: await check(found.command) };
}
