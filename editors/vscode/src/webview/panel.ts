// Draws the panel. Every text goes into the page as a text node: nothing that a memory says is ever parsed as markup.

import type { PanelActivity, PanelDocument, PanelMessage, PanelState, PanelTurn } from "../panelmodel";

declare function acquireVsCodeApi(): { postMessage(message: PanelMessage): void };

const vscode = acquireVsCodeApi();
const strings = JSON.parse(document.getElementById("strings")?.textContent ?? "{}") as Record<string, string>;
const s = (key: string): string => strings[key] ?? key;
const openWhy = new Set<string>();

type Child = Node | string | undefined;

function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, string>, ...children: Child[]): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  for (const child of children) if (child !== undefined && child !== "") node.append(child);
  return node;
}

function button(text: string, about: string, key: string, press: (b: HTMLButtonElement) => void): HTMLButtonElement {
  const node = el("button", { type: "button", "aria-label": `${text}: ${about}`, "data-key": key }, text);
  node.addEventListener("click", () => press(node));
  return node;
}

/** marked parts a text at the words that matched, whatever their case. */
function marked(text: string, words: string[]): Node {
  const out = document.createDocumentFragment();
  const wanted = [...new Set(words.filter((w) => w.length > 1))].sort((a, b) => b.length - a.length);
  if (wanted.length === 0) {
    out.append(text);
    return out;
  }
  const pattern = new RegExp(`(${wanted.map((w) => w.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|")})`, "giu");
  for (const [i, part] of text.split(pattern).entries()) {
    if (part) out.append(i % 2 === 1 ? el("mark", {}, part) : part);
  }
  return out;
}

function verdicts(d: PanelDocument): HTMLElement {
  const said = el("span", { role: "status", class: "said" });
  const one = (verdict: "useful" | "wrong" | "outdated"): HTMLElement =>
    button(s(verdict), d.title, `${verdict} ${d.ref}`, () => {
      vscode.postMessage({ type: "verdict", ref: d.ref, verdict });
      said.textContent = s("thanks");
    });
  return el("span", { class: "verdicts" }, one("useful"), one("wrong"), one("outdated"), said);
}

function why(d: PanelDocument, token: string): HTMLElement | undefined {
  if (d.why.length === 0) return undefined;
  const key = `${token} ${d.ref}`;
  const details = el("details", {}, el("summary", { "data-key": `why ${key}` }, s("why")), el("ul", {}, ...d.why.map((w) => el("li", {}, w))));
  details.open = openWhy.has(key);
  details.addEventListener("toggle", () => (details.open ? openWhy.add(key) : openWhy.delete(key)));
  return details;
}

function card(d: PanelDocument, token: string): HTMLElement {
  const state = d.state === "shown" ? s(d.phase) : s(d.state);
  const title = d.state === "struck" ? el("s", {}, marked(d.title, d.words)) : el("span", {}, marked(d.title, d.words));
  const heading = el("h3", {}, title, el("span", { class: "state" }, state));
  const act = (type: "open" | "pin" | "unpin" | "forget"): HTMLElement => button(s(type), d.title, `${type} ${token} ${d.ref}`, () => vscode.postMessage({ type, ref: d.ref }));
  return el(
    "li",
    { class: `card ${d.state} ${d.phase}`, "data-ref": d.ref },
    heading,
    el("p", { class: "marks" }, [d.where, ...d.marks].filter(Boolean).join(" · ")),
    d.body ? el("p", { class: "body", tabindex: "0" }, marked(d.body, d.words)) : undefined,
    why(d, token),
    el("div", { class: "actions" }, act("open"), act(d.pinned ? "unpin" : "pin"), act("forget"), verdicts(d)),
  );
}

function turnNode(turn: PanelTurn, number: number): HTMLElement {
  const settled = turn.state === "settled";
  const copy = turn.hasPrompt ? button(s("copy"), turn.query, `copy ${turn.token}`, () => vscode.postMessage({ type: "copy", token: turn.token })) : undefined;
  return el(
    "section",
    { class: "turn", "data-token": turn.token, "data-state": turn.state, "aria-label": `${s("turn")} ${number}: ${turn.query}` },
    el("h2", {}, turn.query),
    el("p", { class: "summary" }, [turn.time, turn.source, turn.summary].filter(Boolean).join(" · ")),
    ...turn.notes.map((note) => el("p", { class: "note" }, note)),
    turn.documents.length > 0 ? el("ul", { class: "cards" }, ...turn.documents.map((d) => card(d, turn.token))) : settled ? el("p", { class: "nothing" }, s("nothing")) : undefined,
    copy && el("div", { class: "actions" }, copy),
  );
}

function activityNode(a: PanelActivity): HTMLElement {
  const links = a.titles.map(({ ref, title }) => el("li", {}, button(title, s("open"), `activity ${a.time} ${ref}`, () => vscode.postMessage({ type: "open", ref }))));
  return el("div", { class: "activity", role: "group", "aria-label": `${a.host}, ${a.time}` }, el("h3", {}, a.host, el("span", { class: "state" }, `${a.time} · ${s(a.phase)}`)), el("ul", {}, ...links));
}

const field = el("input", { type: "text", id: "query", placeholder: s("ask"), "aria-label": s("askLabel"), autocomplete: "off" });
const form = el("form", { role: "search" }, field, el("button", { type: "submit" }, s("recall")));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (field.value.trim()) vscode.postMessage({ type: "recall", query: field.value });
});
const anew = el("button", { type: "button", title: s("anewTitle") }, s("anew"));
anew.addEventListener("click", () => vscode.postMessage({ type: "anew" }));
form.append(anew);
const content = el("div", { id: "content" });
/** What a screen reader is told when a turn comes to an end. */
const live = el("p", { role: "status", "aria-live": "polite", class: "hidden" });
document.getElementById("root")?.append(form, live, content);

function draw(state: PanelState): void {
  const focused = document.activeElement?.getAttribute("data-key");
  const nodes: HTMLElement[] = [];
  if (state.trouble) nodes.push(el("p", { class: "note", role: "alert" }, state.trouble));
  nodes.push(...state.turns.map((turn, i) => turnNode(turn, state.turns.length - i)));
  if (state.turns.length === 0 && state.activities.length === 0) nodes.push(el("p", { class: "nothing" }, s("empty")));
  if (state.activities.length > 0) nodes.push(el("h2", {}, s("others")), ...state.activities.map(activityNode));
  content.replaceChildren(...nodes);
  if (focused) for (const node of content.querySelectorAll<HTMLElement>("[data-key]")) if (node.dataset["key"] === focused) node.focus();
  const first = state.turns[0];
  const said = first && first.state !== "pending" ? `${first.query}: ${first.documents.map((d) => d.title).join(", ") || s("nothing")}` : "";
  if (live.textContent !== said) live.textContent = said;
}

window.addEventListener("message", (event: MessageEvent<{ type?: unknown; state?: PanelState }>) => {
  if (event.data.type === "state" && event.data.state) draw(event.data.state);
});
vscode.postMessage({ type: "ready" });
