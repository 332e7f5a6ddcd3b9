// What the panel shows, as plain data: made by the extension, drawn by the webview. Texts are what the memories say; the webview
// shows them as text and never as markup.

import type { Verdict } from "./protocol";

export interface PanelDocument {
  ref: string;
  title: string;
  where: string;
  body: string;
  /** "3 months ago · project · stale …" */
  marks: string[];
  phase: "fast" | "refined";
  pinned: boolean;
  /** struck: taken back by the model; held: the session had it before; updated and more: as in the protocol. */
  state: "shown" | "struck" | "held";
  words: string[];
  why: string[];
}

export interface PanelTurn {
  token: string;
  query: string;
  source: string;
  time: string;
  state: string;
  summary: string;
  /** Why there is less than there could be. */
  notes: string[];
  documents: PanelDocument[];
  hasPrompt: boolean;
}

export interface PanelActivity {
  host: string;
  time: string;
  phase: string;
  titles: { ref: string; title: string }[];
}

export interface PanelState {
  turns: PanelTurn[];
  activities: PanelActivity[];
  /** Why nothing can be recalled, if so. */
  trouble: string;
}

/** From the webview. */
export type PanelMessage =
  | { type: "ready" }
  | { type: "recall"; query: string }
  | { type: "open" | "pin" | "unpin" | "forget"; ref: string }
  | { type: "verdict"; ref: string; verdict: Verdict }
  | { type: "copy"; token: string }
  | { type: "anew" };

/** message checks what comes from the webview: it is the only thing that a memory could ever try to speak through. */
export function message(raw: unknown): PanelMessage | undefined {
  if (typeof raw !== "object" || raw === null) return undefined;
  const { type, ref, query, token, verdict } = raw as Record<string, unknown>;
  switch (type) {
    case "ready":
    case "anew":
      return { type };
    case "recall":
      return typeof query === "string" ? { type, query } : undefined;
    case "open":
    case "pin":
    case "unpin":
    case "forget":
      return typeof ref === "string" ? { type, ref } : undefined;
    case "copy":
      return typeof token === "string" ? { type, token } : undefined;
    case "verdict":
      return typeof ref === "string" && (verdict === "useful" || verdict === "wrong" || verdict === "outdated") ? { type, ref, verdict } : undefined;
    default:
      return undefined;
  }
}
