// What was recalled, turn by turn: by this window, and as far as memls tells by agents elsewhere on this machine.

import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import type { Connection } from "./client";
import { cancelled, explain } from "./failure";
import type { ActivityParams, ConsumeParams, RecallParams, RecallResponse, RecallResult, RecallStatus } from "./protocol";

/** So many turns, and so many entries of others, are kept; older ones go. */
const keptTurns = 50;
const keptActivity = 100;

export interface Turn {
  token: string;
  session: string;
  query: string;
  /** Who asked: a word for a person, such as "prompt" or the name of an extension. */
  source: string;
  at: number;
  state: "pending" | "settled" | "cancelled" | "not_started" | "failed";
  /** The results in the order in which they came. */
  results: RecallResult[];
  status?: RecallStatus;
  /** Why there is nothing, for a person or as the protocol names it. */
  reason?: string;
}

export interface Ask extends Omit<RecallParams, "token" | "delivery"> {
  token?: string;
  source: string;
  onResult?: (result: RecallResult) => void;
}

export class Turns implements vscode.Disposable {
  private all: Turn[] = [];
  private others: ActivityParams[] = [];
  private readonly waiting = new Map<string, Ask["onResult"]>();
  private readonly changed = new vscode.EventEmitter<Turn | undefined>();
  /** Fires when a turn is new or has changed, and without one when others were given something, or all was cleared. */
  readonly onChange = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];
  /** The session of what a person asks in this window. */
  session = `window-${randomUUID()}`;

  constructor(private readonly connection: Connection) {
    this.subscriptions = [
      connection.on("memory/recallFast", (r) => this.result(r)),
      connection.on("memory/recallRefined", (r) => this.result(r)),
      connection.on("memory/activity", (a) => this.activity(a)),
    ];
  }

  /** The newest first. */
  get turns(): readonly Turn[] {
    return this.all;
  }

  get activities(): readonly ActivityParams[] {
    return this.others;
  }

  private find(session: string, token: string): Turn | undefined {
    return this.all.find((t) => t.token === token && t.session === session);
  }

  private begin(ask: Ask): Turn {
    const turn: Turn = { token: ask.token ?? randomUUID(), session: ask.session, query: ask.query, source: ask.source, at: Date.now(), state: "pending", results: [] };
    this.all = [turn, ...this.all].slice(0, keptTurns);
    this.changed.fire(turn);
    return turn;
  }

  private result(result: RecallResult): void {
    const turn = this.find(result.session, result.token);
    if (turn) {
      turn.results.push(result);
      if (result.status) turn.status = result.status;
      this.changed.fire(turn);
    }
    this.waiting.get(`${result.session}\n${result.token}`)?.(result);
    // What is struck in the panel may come again later.
    if (result.retract?.length) this.withdrawn(result.session, result.retract);
  }

  private withdrawn(session: string, refs: string[]): void {
    this.connection.request("memory/resetSession", { session, refs }).catch(() => undefined);
  }

  private activity(activity: ActivityParams): void {
    if (activity.own) return;
    this.others = [activity, ...this.others].slice(0, keptActivity);
    this.changed.fire(undefined);
  }

  private end(turn: Turn, response: RecallResponse): void {
    turn.state = response.outcome;
    const reason = response.detail ?? response.reason;
    if (reason) turn.reason = reason;
    if (response.refined) turn.status = response.refined.status;
    this.changed.fire(turn);
  }

  private failed(turn: Turn, error: unknown): void {
    turn.state = cancelled(error) ? "cancelled" : "failed";
    if (turn.state === "failed") turn.reason = explain(error);
    this.changed.fire(turn);
  }

  /** recall asks and shows. onResult gets the fast result and then the refined one, before the answer comes. */
  async recall(ask: Ask, cancel?: vscode.CancellationToken): Promise<RecallResponse> {
    const turn = this.begin(ask);
    const key = `${turn.session}\n${turn.token}`;
    this.waiting.set(key, ask.onResult);
    try {
      const { source: _source, onResult: _onResult, ...params } = ask;
      const response = await this.connection.request("memory/recall", { trace: true, ...params, token: turn.token, delivery: "push" }, cancel);
      this.end(turn, response);
      return response;
    } catch (error) {
      this.failed(turn, error);
      throw error;
    } finally {
      this.waiting.delete(key);
    }
  }

  /** announce begins a recall whose results are taken with consume. It answers when the selection has settled. */
  async announce(ask: Ask, cancel?: vscode.CancellationToken): Promise<RecallResponse> {
    const turn = this.begin(ask);
    try {
      const { source: _source, onResult: _onResult, ...params } = ask;
      const response = await this.connection.request("memory/recall", { ...params, token: turn.token, delivery: "pull" }, cancel);
      this.end(turn, response);
      return response;
    } catch (error) {
      this.failed(turn, error);
      throw error;
    }
  }

  async consume(params: ConsumeParams, cancel?: vscode.CancellationToken): Promise<RecallResult | null> {
    const result = await this.connection.request("memory/consume", params, cancel);
    const turn = result && this.find(params.session, params.token);
    if (turn) {
      turn.results.push(result);
      if (result.status) turn.status = result.status;
      this.changed.fire(turn);
    }
    return result;
  }

  /** anew forgets what this window has been given, so that everything can come again, and clears the panel. */
  async anew(): Promise<void> {
    const session = this.session;
    this.session = `window-${randomUUID()}`;
    this.all = [];
    this.others = [];
    this.changed.fire(undefined);
    await this.connection.request("memory/resetSession", { session, reason: "reset" });
  }

  dispose(): void {
    for (const s of this.subscriptions) s.dispose();
    this.changed.dispose();
  }
}
