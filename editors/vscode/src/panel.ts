// The panel "Surfaced Memories": what each recall gave, as it comes in, and what agents elsewhere were given.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { attempt, folder, open, type Context } from "./commands/context";
import { message, type PanelActivity, type PanelDocument, type PanelMessage, type PanelState, type PanelTurn } from "./panelmodel";
import type { RecallDocument, RecallResult, TraceCandidate, WhyReason } from "./protocol";
import { age, daysSince, lines, plain } from "./text";
import type { Turn } from "./turns";

const { t } = vscode.l10n;

/** So many turns and entries of others are drawn. */
const drawnTurns = 20;
const drawnActivities = 20;

function time(at: number): string {
  return new Date(at).toLocaleTimeString(vscode.env.language, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

function reasonText(reason: WhyReason): string {
  const how: Record<string, string> = {
    exact: t("the word itself"),
    fold: t("but for accents"),
    prefix: t("an inflection"),
    part: t("inside a longer word"),
    gram: t("a near spelling"),
  };
  return `${plain(reason.term, 60)} – ${plain(reason.field, 30)}, ${how[reason.match] ?? plain(reason.match, 30)}`;
}

function traced(candidate: TraceCandidate | undefined): string[] {
  if (!candidate) return [];
  const signals = candidate.signals.map((s) => t("{0}: rank {1}, score {2}", plain(s.name, 30), s.rank, s.score.toFixed(2)));
  const verdict = candidate.detail ? [plain(candidate.detail, 300)] : [];
  return [t("rank {0} of all, score {1}", candidate.rank, candidate.score.toFixed(2)), ...signals, ...verdict];
}

export class Panel implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private ready = false;
  private timer: NodeJS.Immediate | undefined;
  /** What the webview shows. It is not drawn again when nothing is different: that would take a button from under the mouse. */
  private drawn = "";
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly extensionUri: vscode.Uri,
    private readonly context: Context,
  ) {
    this.subscriptions = [
      vscode.window.registerWebviewViewProvider("memls.surfaced", this),
      context.turns.onChange(() => this.update()),
      context.memories.onChange(() => this.update()),
      context.connection.onCondition(() => this.update()),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.ready = false;
    view.webview.options = { enableScripts: true, localResourceRoots: [vscode.Uri.joinPath(this.extensionUri, "dist"), vscode.Uri.joinPath(this.extensionUri, "media")] };
    view.webview.onDidReceiveMessage((raw: unknown) => {
      const received = message(raw);
      if (received) void attempt(this.context, () => this.receive(received));
    });
    view.onDidDispose(() => {
      this.view = undefined;
      this.ready = false;
    });
    view.onDidChangeVisibility(() => this.update());
    view.webview.html = this.html(view.webview);
  }

  /** The texts of the webview itself, for its script; they are ours and translated. */
  private strings(): Record<string, string> {
    return {
      ask: t("What would be recalled for…"),
      askLabel: t("A prompt, as you would type it to an agent"),
      recall: t("Recall"),
      anew: t("Start Anew"),
      anewTitle: t("Forget what this window was given, so that all of it can come again"),
      empty: t("Nothing has been recalled yet. Type a prompt above, or ask in a chat that uses memls."),
      nothing: t("No memory is about this."),
      others: t("Given to agents elsewhere"),
      fast: t("fast"),
      refined: t("refined"),
      struck: t("taken back by the model"),
      held: t("given earlier in this session"),
      why: t("Why this memory"),
      open: t("Open"),
      pin: t("Pin"),
      unpin: t("Unpin"),
      forget: t("Forget…"),
      useful: t("Useful"),
      wrong: t("Wrong"),
      outdated: t("Outdated"),
      thanks: t("Noted."),
      copy: t("Copy Prompt Block"),
      turn: t("Turn"),
    };
  }

  private html(webview: vscode.Webview): string {
    const nonce = randomBytes(16).toString("base64");
    const at = (...parts: string[]): string => webview.asWebviewUri(vscode.Uri.joinPath(this.extensionUri, ...parts)).toString();
    const strings = JSON.stringify(this.strings()).replace(/</g, "\\u003c");
    return `<!DOCTYPE html>
<html lang="${vscode.env.language.replace(/[^a-zA-Z-]/g, "")}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'">
<title>${t("Surfaced Memories")}</title>
<link rel="stylesheet" href="${at("media", "panel.css")}">
</head>
<body>
<main id="root"></main>
<script type="application/json" id="strings" nonce="${nonce}">${strings}</script>
<script nonce="${nonce}" src="${at("dist", "panel.js")}"></script>
</body>
</html>`;
  }

  private async receive(received: PanelMessage): Promise<void> {
    const { connection, turns } = this.context;
    switch (received.type) {
      case "ready":
        this.ready = true;
        this.drawn = "";
        return this.update();
      case "recall":
        if (received.query.trim()) await turns.recall({ session: turns.session, query: received.query, source: t("prompt"), ...folder() });
        return;
      case "open": {
        const document = this.shown(received.ref);
        const memory = document ?? (await connection.request("memory/get", { ref: received.ref }));
        return open(memory.uri, memory.range);
      }
      case "pin":
      case "unpin":
      case "forget":
        await vscode.commands.executeCommand(`memls.${received.type}`, received.ref);
        return;
      case "verdict":
        await connection.request("memory/feedback", { ref: received.ref, verdict: received.verdict });
        return;
      case "copy":
        return this.copy(received.token);
      case "anew":
        return turns.anew();
    }
  }

  private shown(ref: string): RecallDocument | undefined {
    for (const turn of this.context.turns.turns) for (const r of turn.results) for (const d of r.documents) if (d.ref === ref) return d;
    return undefined;
  }

  /** copy takes what the turn would add to a request: the blocks without those that hold what was taken back. */
  private async copy(token: string): Promise<void> {
    const turn = this.context.turns.turns.find((x) => x.token === token);
    const prompt = turn?.results.map((r) => r.prompt).filter(Boolean).join("\n") ?? "";
    if (!prompt) throw new Error(t("This turn has no prompt block."));
    await vscode.env.clipboard.writeText(prompt);
    void vscode.window.showInformationMessage(t("The prompt block was copied."));
  }

  /** update draws soon; what happens in one go is drawn once. */
  private update(): void {
    if (!this.view?.visible || !this.ready || this.timer) return;
    this.timer = setImmediate(() => {
      this.timer = undefined;
      const state = this.state();
      const text = JSON.stringify(state);
      if (text === this.drawn) return;
      this.drawn = text;
      void this.view?.webview.postMessage({ type: "state", state });
    });
  }

  state(): PanelState {
    const { connection, memories, turns } = this.context;
    const pinned = new Map(memories.list.map((m) => [m.ref, m.pinned]));
    return {
      turns: turns.turns.slice(0, drawnTurns).map((turn) => this.turn(turn, pinned)),
      activities: turns.activities.slice(0, drawnActivities).map((a): PanelActivity => ({
        host: plain(a.host, 64) || t("an agent"),
        time: time(Date.parse(a.at)),
        phase: a.phase,
        titles: a.refs.map((ref) => ({ ref, title: plain(memories.named(ref)?.title ?? ref, 120) })),
      })),
      trouble: connection.condition === "failed" ? t("memls does not run. {0}", connection.reason) : "",
    };
  }

  private turn(turn: Turn, pinned: Map<string, boolean>): PanelTurn {
    const struck = new Set(turn.results.flatMap((r) => r.retract ?? []));
    const trace = new Map(turn.results.flatMap((r) => r.trace?.candidates ?? []).map((c) => [c.ref, c]));
    const shown = turn.results.flatMap((r) => r.documents.map((d) => this.document(r, d, struck, trace, pinned)));
    const seen = new Set(shown.map((d) => d.ref));
    const held = [...new Set(turn.results.flatMap((r) => r.alreadyDelivered))].filter((ref) => !seen.has(ref)).map((ref) => this.held(ref, trace, pinned));
    const last = turn.results.at(-1);
    return {
      token: turn.token,
      query: plain(turn.query, 300),
      source: plain(turn.source, 60),
      time: time(turn.at),
      state: turn.state,
      summary: this.summary(turn, last),
      notes: [...new Set(turn.results.flatMap((r) => r.degraded.map((d) => plain(d.detail || d.reason, 300))))],
      documents: [...shown, ...held],
      hasPrompt: turn.results.some((r) => r.prompt !== ""),
    };
  }

  private summary(turn: Turn, last: RecallResult | undefined): string {
    if (turn.state === "failed" || turn.state === "not_started") return plain(turn.reason ?? "", 500);
    if (turn.state === "cancelled") return t("cancelled: {0}", plain(turn.reason ?? "", 100));
    const fast = turn.results.find((r) => r.phase === "fast");
    const parts: string[] = [];
    if (fast) parts.push(t("fast {0} ms", fast.latencyMs));
    if (last?.phase === "refined") parts.push(t("refined {0} ms", last.latencyMs), last.strategy === "model" ? t("chosen by the model") : last.strategy === "heuristic" ? t("chosen by the index") : "");
    else parts.push(t("refining…"));
    return parts.filter(Boolean).join(" · ");
  }

  private document(r: RecallResult, d: RecallDocument, struck: Set<string>, trace: Map<string, TraceCandidate>, pinned: Map<string, boolean>): PanelDocument {
    const marks = [age(d.ageDays, t), plain(d.scope, 20), plain(d.type, 30)];
    if (d.stale) marks.push(plain(d.stale.detail, 120));
    if (d.state === "updated") marks.push(t("changed since it was given"));
    if (d.state === "more") marks.push(t("another passage"));
    return {
      ref: d.ref,
      title: plain(d.title) || d.ref,
      where: plain(this.context.memories.where(d), 200),
      body: lines(d.body),
      marks: marks.filter(Boolean),
      phase: r.phase,
      pinned: pinned.get(d.ref) ?? d.pinned,
      state: struck.has(d.ref) ? "struck" : "shown",
      words: d.why.map((w) => w.term).filter(Boolean),
      why: [...d.why.map(reasonText), ...traced(trace.get(d.ref))],
    };
  }

  private held(ref: string, trace: Map<string, TraceCandidate>, pinned: Map<string, boolean>): PanelDocument {
    const memory = this.context.memories.named(ref);
    const why = trace.get(ref)?.why ?? [];
    return {
      ref,
      title: plain(memory?.title ?? ref),
      where: memory ? plain(this.context.memories.where(memory), 200) : "",
      body: "",
      marks: memory ? [age(daysSince(memory.updatedAt, Date.now()), t), memory.scope] : [],
      phase: "refined",
      pinned: pinned.get(ref) ?? false,
      state: "held",
      words: why.map((w) => w.term),
      why: [...why.map(reasonText), ...traced(trace.get(ref))],
    };
  }

  dispose(): void {
    clearImmediate(this.timer);
    for (const s of this.subscriptions) s.dispose();
  }
}
