// The channel that the language client writes every message to, made only when the setting memls.trace.server asks for it.

import * as vscode from "vscode";

/**
 * traceChannel is a log channel that shows what the language client traces. The client traces while the level of its channel is
 * Trace; here the setting decides that, so that one place switches it on.
 */
export class TraceChannel implements vscode.LogOutputChannel {
  private channel: vscode.OutputChannel | undefined;
  private readonly changed = new vscode.EventEmitter<vscode.LogLevel>();
  readonly onDidChangeLogLevel = this.changed.event;
  readonly name = "memls trace";
  logLevel = TraceChannel.wanted();
  private readonly watch: vscode.Disposable;

  constructor() {
    this.watch = vscode.workspace.onDidChangeConfiguration((e) => {
      if (!e.affectsConfiguration("memls.trace.server")) return;
      this.logLevel = TraceChannel.wanted();
      this.changed.fire(this.logLevel);
    });
  }

  private static wanted(): vscode.LogLevel {
    const setting = vscode.workspace.getConfiguration("memls").get<unknown>("trace.server");
    return setting === "messages" || setting === "verbose" ? vscode.LogLevel.Trace : vscode.LogLevel.Off;
  }

  private get open(): vscode.OutputChannel {
    return (this.channel ??= vscode.window.createOutputChannel(this.name));
  }

  private line(message: string | Error, ...args: unknown[]): void {
    const text = [message, ...args].map((part) => (typeof part === "string" ? part : part instanceof Error ? part.message : JSON.stringify(part))).join(" ");
    if (this.logLevel !== vscode.LogLevel.Off) this.open.appendLine(text);
  }

  trace = (message: string, ...args: unknown[]): void => this.line(message, ...args);
  debug = (message: string, ...args: unknown[]): void => this.line(message, ...args);
  info = (message: string, ...args: unknown[]): void => this.line(message, ...args);
  warn = (message: string, ...args: unknown[]): void => this.line(message, ...args);
  error = (error: string | Error, ...args: unknown[]): void => this.line(error, ...args);
  append = (value: string): void => {
    if (this.logLevel !== vscode.LogLevel.Off) this.open.append(value);
  };
  appendLine = (value: string): void => this.line(value);
  replace = (value: string): void => this.open.replace(value);
  clear = (): void => this.channel?.clear();
  hide = (): void => this.channel?.hide();
  show(...args: unknown[]): void {
    this.open.show(args.at(-1) === true);
  }

  dispose(): void {
    this.watch.dispose();
    this.changed.dispose();
    this.channel?.dispose();
  }
}
