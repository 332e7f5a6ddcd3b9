// What a proposed change makes of a text.

import { applyPatch, parsePatch } from "diff";
import type { PlanChange } from "./protocol";

/** after computes the text that a change leaves. It answers undefined where its diff does not fit the text. */
export function after(change: Pick<PlanChange, "action" | "diff">, before: string): string | undefined {
  if (change.action === "delete") return "";
  const [patch] = parsePatch(change.diff);
  if (!patch || patch.hunks.length === 0) return undefined;
  const made = applyPatch(before, patch, { autoConvertLineEndings: true });
  return made === false ? undefined : made;
}
