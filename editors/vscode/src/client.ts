// The connection to memls: one process at a time, started anew when it crashes, given up when it keeps crashing.

import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from "node:child_process";
import * as os from "node:os";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  State,
  type ClientCapabilities,
  type LanguageClientOptions,
  type ServerOptions,
  type StaticFeature,
} from "vscode-languageclient/node";
import { Unavailable } from "./failure";
import { NoServer, protocolVersion, type Server } from "./server";
import type { Asked, InitializationOptions, MemoryCapability, Received, Requests, Sent } from "./protocol";
import { plain } from "./text";

const { t } = vscode.l10n;

/** So many crashes within this time, and memls is not started again until somebody asks for it. */
const maxCrashes = 5;
const crashWindowMs = 3 * 60_000;

export type Condition = "stopped" | "starting" | "running" | "failed";

/** What the connection needs to know anew at each start. */
export interface Host {
  find(): Promise<Server>;
  args(): string[];
  options(): InitializationOptions;
  secret(name: string): Promise<string>;
  /** A command of the server that the editor carries out in its own way; false leaves it to the server. */
  command(name: string, args: unknown[]): Promise<boolean>;
  /** Shows why there is no memls, once for each reason. */
  failed(error: unknown): void;
}

/** Quiet is a language client that leaves messages to its owner, and whose end can be asked for in every state. */
class Quiet extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  override async stop(timeout?: number): Promise<void> {
    if (this.state === State.Running) await super.stop(timeout);
  }
}

/** Ended says that a process went away as it started, with the last that it said. */
class Ended extends Error {
  constructor(words: string) {
    super(words ? plain(words, 300) : t("it ended as it started"));
  }
}

/** Declares that this client knows the messages of memls. */
const capable: StaticFeature = {
  fillClientCapabilities(capabilities: ClientCapabilities) {
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), memory: true };
  },
  initialize() {},
  getState: () => ({ kind: "static" }),
  clear() {},
};

type Listeners = { [N in keyof Received]?: Set<(params: Received[N]) => void> };

export class Connection implements vscode.Disposable {
  private client: Quiet | undefined;
  private child: ChildProcess | undefined;
  private crashes: number[] = [];
  private starting: Promise<void> | undefined;
  private attempt = 0;
  private lastWords = "";
  private readonly listeners: Listeners = {};
  private readonly changed = new vscode.EventEmitter<Condition>();
  readonly onCondition = this.changed.event;
  condition: Condition = "stopped";
  /** Why it failed, for a person. */
  reason = "";
  server: Server | undefined;
  capability: MemoryCapability | undefined;
  /** How often a process was started. */
  starts = 0;

  constructor(
    private readonly host: Host,
    private readonly log: vscode.LogOutputChannel,
    private readonly trace: vscode.LogOutputChannel,
  ) {}

  private become(condition: Condition, reason = ""): void {
    this.reason = reason;
    if (this.condition === condition) return;
    this.condition = condition;
    this.changed.fire(condition);
  }

  /** on calls back for each notification of that name, whichever process it comes from. */
  on<N extends keyof Received>(name: N, listener: (params: Received[N]) => void): vscode.Disposable {
    const all = ((this.listeners[name] as Set<typeof listener> | undefined) ??= new Set<typeof listener>() as never);
    all.add(listener);
    return new vscode.Disposable(() => all.delete(listener));
  }

  /** start starts memls, or waits for the start that goes on. It does not throw: the condition says how it went. */
  start(): Promise<void> {
    if (this.condition === "running") return Promise.resolve();
    if (this.starting) return this.starting;
    const starting = this.launch().finally(() => {
      if (this.starting === starting) this.starting = undefined;
    });
    return (this.starting = starting);
  }

  private async launch(): Promise<void> {
    const attempt = ++this.attempt;
    this.become("starting");
    try {
      this.server = await this.host.find();
      if (attempt !== this.attempt) return;
      this.log.info(`starting ${this.server.command} (${this.server.origin}, ${this.server.version})`);
      const client = this.connect(this.server, attempt);
      this.client = client;
      await client.start();
      // The language client does not tell of a process that has ended before it answered.
      if (client.state !== State.Running) throw new Ended(this.lastWords);
      if (attempt !== this.attempt) return await this.end(client);
      this.accept(client);
      this.starts++;
      this.become("running");
    } catch (error) {
      if (attempt !== this.attempt) return;
      // A first start that fails would fail again; one after a crash counts as a crash, and is tried as often as those are.
      if (error instanceof NoServer || this.recent(Date.now()).length === 0) this.fail(error);
      else this.crashed();
    }
  }

  /** accept takes the server's word for what it can do. */
  private accept(client: Quiet): void {
    const experimental = client.initializeResult?.capabilities.experimental as { memory?: MemoryCapability } | undefined;
    const capability = experimental?.memory;
    if (capability?.version !== protocolVersion) {
      void this.end(client);
      throw new Unavailable(t("This memls speaks version {0} of the protocol; the extension needs {1}.", String(capability?.version ?? 0), protocolVersion));
    }
    this.capability = capability;
  }

  private fail(error: unknown): void {
    this.kill();
    this.log.error(error instanceof Error ? error.message : String(error));
    this.become("failed", plain(error instanceof Error ? error.message : String(error), 500));
    this.host.failed(error);
  }

  private connect(server: Server, attempt: number): Quiet {
    const launch: ServerOptions = async () => {
      const child = await this.spawn(server);
      return { reader: child.stdout, writer: child.stdin };
    };
    const client = new Quiet("memls", "memls", launch, this.clientOptions(attempt));
    client.registerFeature(capable);
    for (const name of ["memory/recallFast", "memory/recallRefined", "memory/changed", "memory/activity", "memory/statusChanged", "memory/plansChanged"] as const) {
      client.onNotification(name, (params: Received[typeof name]) => this.notify(name, params));
    }
    client.onRequest("memory/secret", async (params: Asked["memory/secret"][0]): Promise<Asked["memory/secret"][1]> => ({ value: await this.host.secret(params.name) }));
    return client;
  }

  private notify<N extends keyof Received>(name: N, params: Received[N]): void {
    for (const listener of (this.listeners[name] as Set<(p: Received[N]) => void> | undefined) ?? []) {
      try {
        listener(params);
      } catch (error) {
        this.log.error(`${name}: ${String(error)}`);
      }
    }
  }

  private clientOptions(attempt: number): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: "file", language: "markdown" }],
      initializationOptions: () => this.host.options(),
      outputChannel: this.log,
      traceOutputChannel: this.trace,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          this.closed(attempt);
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      middleware: {
        executeCommand: async (name, args, next) => ((await this.host.command(name, args as unknown[])) ? undefined : ((await next(name, args)) as unknown)),
        workspace: {
          configuration: (params, token, next) =>
            params.items.every((item) => item.section === "memls") ? params.items.map(() => this.host.options()) : next(params, token),
        },
      },
      // What memls says is shown as text; no link in it may run anything.
      markdown: { isTrusted: false, supportHtml: false },
    };
  }

  private async spawn(server: Server): Promise<ChildProcessWithoutNullStreams> {
    const child = spawn(server.command, ["serve", "--stdio", ...this.host.args()], { cwd: os.homedir(), stdio: "pipe", windowsHide: true });
    this.child = child;
    this.lastWords = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.lastWords = (this.lastWords + text).slice(-2000);
      for (const line of text.trimEnd().split(/\r?\n/)) this.log.info(`memls: ${line}`);
    });
    child.stdin.on("error", (error) => this.log.debug(`memls takes no more: ${error.message}`));
    child.on("exit", (code, signal) => this.log.info(`memls has ended: ${signal ?? String(code)}`));
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    return child;
  }

  /** closed is called when a process went away that nobody had asked to go. One that goes as it starts is the start's to tell. */
  private closed(attempt: number): void {
    if (attempt === this.attempt && this.condition === "running") this.crashed();
  }

  private crashed(): void {
    this.capability = undefined;
    const now = Date.now();
    this.crashes = [...this.recent(now), now];
    if (this.crashes.length >= maxCrashes) {
      return this.fail(new Unavailable(t("memls has crashed {0} times within three minutes and is not started again.", this.crashes.length)));
    }
    this.log.warn(`memls has crashed (${this.crashes.length} of ${maxCrashes}); starting it again`);
    this.become("starting");
    const attempt = this.attempt;
    // Not at once: the language client of the crashed process has commands registered until it has cleaned up.
    setTimeout(() => {
      if (attempt === this.attempt) void this.start();
    }, 100);
  }

  private recent(now: number): number[] {
    return this.crashes.filter((at) => now - at < crashWindowMs);
  }

  /** request asks memls, once it runs. It throws Unavailable when it does not, else what the server answered. */
  async request<M extends keyof Requests>(method: M, params: Requests[M][0], token?: vscode.CancellationToken): Promise<Requests[M][1]> {
    const client = await this.ready();
    if (!this.capability?.methods.includes(method)) {
      throw new Unavailable(
        t("memls {0} has no {1}. A newer memls may have it: see the setting memls.server.path.", this.server?.version ?? "", method),
      );
    }
    try {
      return await (token ? client.sendRequest<Requests[M][1]>(method, params, token) : client.sendRequest<Requests[M][1]>(method, params));
    } catch (error) {
      if (client.state !== State.Running || client !== this.client) throw new Unavailable(t("memls has ended while it worked on this. Try again."));
      throw error;
    }
  }

  async notifyServer<M extends keyof Sent>(method: M, params: Sent[M]): Promise<void> {
    await (await this.ready()).sendNotification(method, params);
  }

  /** configure sends changed options to a running memls; one that starts later asks for them. */
  async configure(changed: Record<string, unknown>): Promise<void> {
    if (this.client?.state !== State.Running || Object.keys(changed).length === 0) return;
    await this.client.sendNotification("workspace/didChangeConfiguration", { settings: { memls: changed } });
  }

  private async ready(): Promise<LanguageClient> {
    if (this.condition === "starting" || this.condition === "stopped") await this.start();
    // A restart after a crash is announced before it begins.
    if (this.starting) await this.starting;
    if (this.client?.state !== State.Running || !this.capability) {
      throw new Unavailable(this.reason || t("memls does not run. Use the command “Memory: Restart Server”."));
    }
    return this.client;
  }

  can(method: keyof Requests): boolean {
    return this.capability?.methods.includes(method) ?? false;
  }

  /** restart starts anew, whatever the condition, and forgets earlier crashes. */
  async restart(): Promise<void> {
    await this.stop();
    this.crashes = [];
    await this.start();
  }

  async stop(): Promise<void> {
    this.attempt++;
    const client = this.client;
    this.client = undefined;
    this.capability = undefined;
    this.starting = undefined;
    if (client) await this.end(client);
    this.become("stopped");
  }

  private async end(client: Quiet): Promise<void> {
    try {
      await client.stop(3000);
    } catch (error) {
      this.log.warn(`memls did not stop: ${String(error)}`);
    }
    this.kill();
  }

  private kill(): void {
    if (this.child && this.child.exitCode === null && this.child.signalCode === null) this.child.kill();
    this.child = undefined;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  dispose(): void {
    void this.stop();
    this.changed.dispose();
  }
}
