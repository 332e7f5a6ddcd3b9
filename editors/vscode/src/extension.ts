// Puts the parts together.

import * as vscode from "vscode";
import { makeExports, type Exports } from "./api";
import { registerChat } from "./chat";
import { Connection, type Host } from "./client";
import { dream, extract } from "./commands/background";
import { attempt, type Context } from "./commands/context";
import { forget, forgetOpen, forgetTargets, move, moveCommand } from "./commands/forget";
import { explainRecall, recallPrompt, recallSelection } from "./commands/recall";
import { rememberSelection, rememberTyped } from "./commands/remember";
import { reviewInbox } from "./commands/review";
import { search } from "./commands/search";
import { copyDiagnostics, feedback, newest, openIndex, pin, showStatus, undo } from "./commands/simple";
import { Decorations } from "./decorations";
import { explain, Unavailable } from "./failure";
import { Inbox, type InboxNode } from "./inbox";
import { Memories } from "./memories";
import { Panel } from "./panel";
import { Previews } from "./preview";
import type { MemoryTarget } from "./protocol";
import { Keys } from "./secrets";
import { findServer, NoServer, oldest } from "./server";
import { changes, readSettings, type Settings } from "./settings";
import { StatusBar, viewOf } from "./status";
import { TraceChannel } from "./trace";
import { MemoryTree } from "./tree";
import { Turns } from "./turns";

const { t } = vscode.l10n;

let connection: Connection | undefined;

/** noServer says what is wrong with the server in one sentence, and what to do about it in another. */
function noServer(error: unknown): string {
  if (!(error instanceof NoServer)) return t("memls could not be started: {0}", explain(error));
  switch (error.why) {
    case "missing":
      return t("memls was not found: not in this extension, and not on PATH. Set memls.server.path to the program.");
    case "setting_missing":
      return t("memls.server.path names {0}, which is no program. Give the absolute path of memls, or clear the setting.", error.command);
    case "not_memls":
      return t("{0} is no memls that works: {1}. Correct memls.server.path, or clear it to use the one in this extension.", error.command, error.detail || t("it says nothing"));
    case "too_old":
      return t("{0} is memls {1}; this extension needs {2} or newer.", error.command, error.detail, oldest.join("."));
    case "protocol":
      return t("{0} speaks version {1} of the protocol, which this extension does not know. Install the extension and memls in matching versions.", error.command, error.detail);
  }
}

/** One App is the extension while it is active. */
class App {
  private settings: Settings;
  private readonly log = vscode.window.createOutputChannel("memls", { log: true });
  private readonly keys: Keys;
  readonly context: Context;
  private readonly connection: Connection;
  private readonly told = new Set<string>();

  constructor(private readonly extension: vscode.ExtensionContext) {
    this.keys = new Keys(extension.secrets);
    this.settings = readSettings(this.keys.has);
    const trace = new TraceChannel();
    this.connection = connection = new Connection(this.host(), this.log, trace);
    const memories = new Memories(this.connection, this.log);
    const turns = new Turns(this.connection);
    const previews = new Previews();
    this.context = {
      connection: this.connection,
      memories,
      previews,
      turns,
      log: this.log,
      tree: () => tree,
    };
    const tree: MemoryTree = new MemoryTree(memories, this.connection, () => this.settings.groupBy, (moved, scope) => move(this.context, moved, scope));
    const inbox = new Inbox(this.context);
    extension.subscriptions.push(
      this.log,
      trace,
      memories,
      turns,
      previews,
      tree,
      inbox,
      new StatusBar(this.connection, memories),
      new Decorations(memories),
      new Panel(extension.extensionUri, this.context),
      ...registerChat(this.context, vscode.Uri.joinPath(extension.extensionUri, "media", "memory.svg")),
      vscode.workspace.onDidChangeConfiguration((e) => {
        if (e.affectsConfiguration("memls")) void this.reconfigure();
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.reconfigure()),
      this.connection,
    );
    this.register(inbox);
  }

  private host(): Host {
    return {
      find: () => findServer(this.settings.serverPath, this.extension.extensionPath),
      args: () => this.settings.serverArgs,
      options: () => this.settings.options,
      secret: (name) => this.keys.answer(name, this.settings.endpoint),
      command: (name, args) => this.serverCommand(name, args),
      failed: (error) => void this.failed(error),
    };
  }

  /** Lenses and code actions of memls that the editor carries out in its own way. */
  private async serverCommand(name: string, args: unknown[]): Promise<boolean> {
    const target = args[0] as MemoryTarget | undefined;
    if (name !== "memory.confirmForget" || typeof target?.ref !== "string") return false;
    await attempt(this.context, async () => {
      await forgetTargets(this.context, [target]);
    });
    return true;
  }

  /** failed shows one message for each reason, with what can be done about it. */
  private async failed(error: unknown): Promise<void> {
    const message = error instanceof Unavailable ? error.message : noServer(error);
    this.connection.reason = message;
    if (this.told.has(message)) return;
    this.told.add(message);
    const settings = t("Open Settings");
    const output = t("Show Output");
    const restart = t("Restart");
    const choice = await vscode.window.showErrorMessage(message, settings, output, restart);
    if (choice === settings) await vscode.commands.executeCommand("workbench.action.openSettings", "memls.server");
    else if (choice === output) this.log.show();
    else if (choice === restart) await this.restart();
  }

  async restart(): Promise<void> {
    this.told.clear();
    await this.connection.restart();
  }

  async start(): Promise<void> {
    await this.keys.load(this.settings.endpoint);
    this.settings = readSettings(this.keys.has);
    this.tellProblems();
    await this.connection.start();
  }

  private tellProblems(): void {
    const problems = this.settings.problems.filter((p) => !this.told.has(p));
    if (problems.length === 0) return;
    for (const p of problems) {
      this.told.add(p);
      this.log.warn(p);
    }
    const open = t("Open Settings");
    void vscode.window.showWarningMessage(problems.join(" "), open).then((choice) => {
      if (choice === open) void vscode.commands.executeCommand("workbench.action.openSettings", "memls");
    });
  }

  /** reconfigure follows the settings: what concerns the process starts it anew, everything else is told to it. */
  private async reconfigure(): Promise<void> {
    const before = this.settings;
    await this.keys.load(readSettings(this.keys.has).endpoint);
    this.settings = readSettings(this.keys.has);
    this.tellProblems();
    this.context.tree().refresh();
    const same = before.serverPath === this.settings.serverPath && JSON.stringify(before.serverArgs) === JSON.stringify(this.settings.serverArgs);
    if (!same) return this.restart();
    await this.connection.configure(changes(before.options, this.settings.options));
    await this.context.memories.refresh();
  }

  private register(inbox: Inbox): void {
    const context = this.context;
    const commands: Record<string, (...args: unknown[]) => Promise<void> | void> = {
      search: (...args) => search(context, args),
      remember: (...args) => rememberTyped(context, args),
      rememberSelection: () => rememberSelection(context),
      forget: (...args) => forget(context, args),
      forgetOpen: (...args) => forgetOpen(context, args),
      move: (...args) => moveCommand(context, args),
      pin: (...args) => pin(context, args, true),
      unpin: (...args) => pin(context, args, false),
      useful: (...args) => feedback(context, args, "useful"),
      wrong: (...args) => feedback(context, args, "wrong"),
      outdated: (...args) => feedback(context, args, "outdated"),
      recallPrompt: (...args) => recallPrompt(context, args),
      explain: (...args) => explainRecall(context, args),
      recallSelection: () => recallSelection(context),
      extract: () => extract(context),
      dream: () => dream(context),
      reviewInbox: () => reviewInbox(context),
      undo: () => undo(context),
      openIndex: () => openIndex(context),
      showStatus: () => showStatus(context),
      restart: () => this.restart(),
      showOutput: () => this.log.show(),
      copyDiagnostics: () => copyDiagnostics(context, String((this.extension.extension.packageJSON as { version: unknown }).version)),
      setModelKey: () => this.setKey(),
      filter: () => this.filter(),
      clearFilter: () => void (context.tree().filter = ""),
      groupByType: () => this.group("type"),
      groupByAge: () => this.group("age"),
      refresh: () => context.memories.refresh(),
      actions: () => this.actions(),
      "inbox.show": (node) => inbox.show(node as InboxNode),
      "inbox.accept": (node) => inbox.accept(node as InboxNode),
      "inbox.drop": (node) => inbox.drop(node as InboxNode),
    };
    for (const [name, run] of Object.entries(commands)) {
      const command = vscode.commands.registerCommand(`memls.${name}`, (...args: unknown[]) => attempt(context, async () => run(...args)));
      this.extension.subscriptions.push(command);
    }
  }

  private async setKey(): Promise<void> {
    if (!(await this.keys.ask(this.settings.endpoint))) return;
    // The server asks for a key once; a new one is asked for by a new server.
    this.settings = readSettings(this.keys.has);
    await this.restart();
  }

  private async group(by: "type" | "age"): Promise<void> {
    await vscode.workspace.getConfiguration("memls").update("tree.groupBy", by, vscode.ConfigurationTarget.Global);
  }

  private filter(): void {
    const tree = this.context.tree();
    const box = vscode.window.createInputBox();
    box.title = t("Filter Memories");
    box.placeholder = t("Words of a title, description, type or path");
    box.value = tree.filter;
    let timer: NodeJS.Timeout | undefined;
    box.onDidChangeValue((text) => {
      clearTimeout(timer);
      timer = setTimeout(() => (tree.filter = text), 100);
    });
    box.onDidAccept(() => {
      clearTimeout(timer);
      tree.filter = box.value;
      box.hide();
    });
    box.onDidHide(() => box.dispose());
    box.show();
  }

  /** What the status bar offers: what helps in the state that it shows. */
  private async actions(): Promise<void> {
    const view = viewOf(this.connection, this.context.memories);
    const item = (icon: string, text: string, command: string, description = ""): vscode.QuickPickItem & { command: string } => ({ label: `$(${icon}) ${text}`, description, command });
    const trouble = view === "failed" || view === "stopped";
    const help = [item("debug-restart", t("Restart Server"), "memls.restart"), item("output", t("Show Output"), "memls.showOutput"), item("settings-gear", t("Open Settings"), "workbench.action.openSettings")];
    const use = [
      item("search", t("Search Memories…"), "memls.search", t("{0} memories; the newest {1}", this.context.memories.list.length, newest(this.context))),
      item("add", t("Remember…"), "memls.remember"),
      item("trash", t("Forget…"), "memls.forget"),
      item("eye", t("Recall for Prompt…"), "memls.recallPrompt"),
      item("inbox", t("Review Inbox"), "memls.reviewInbox"),
      item("discard", t("Undo Last Change"), "memls.undo"),
      item("info", t("Show Status"), "memls.showStatus"),
    ];
    const picked = await vscode.window.showQuickPick(trouble ? help : [...use, ...help], { title: "memls", placeHolder: this.connection.reason });
    if (!picked) return;
    await vscode.commands.executeCommand(picked.command, ...(picked.command === "workbench.action.openSettings" ? ["@ext:memls.memls"] : []));
  }
}

export function activate(extension: vscode.ExtensionContext): Exports {
  const app = new App(extension);
  void app.start();
  return makeExports(app.context);
}

export async function deactivate(): Promise<void> {
  await connection?.stop();
}
