// What memories say is data: here it is made fit to be shown. Nothing of it may act as markup, as an icon or as a link, reorder
// the line that it stands in, or hide.

/** Marks that reorder text, hide in it, or end a line: bidirectional controls, zero-width and tag characters, C0 and C1. */
const unseen =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

/** plain makes one line of a text: without what cannot be seen, and at most max characters (code points) long. */
export function plain(text: string, max = 200): string {
  const line = text.slice(0, max * 8).replace(/[\t\n\r\u2028\u2029]+/g, " ").replace(unseen, "").trim();
  const points = Array.from(line); // code points, not what a person calls a character: enough to cut at
  return points.length > max ? points.slice(0, max - 1).join("") + "…" : line;
}

/** lines is like plain and keeps line ends, for text that is shown as it was written. */
export function lines(text: string): string {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => line.replace(/\t/g, "    ").replace(unseen, ""))
    .join("\n");
}

/** label is plain for places in which VS Code draws `$(name)` as an icon: quick picks, the status bar. */
export function label(text: string, max = 200): string {
  return plain(text, max).replace(/\$\(/g, "\\$(");
}

/** age says how many days ago a moment was, in the words of translate. */
export function age(days: number, t: (message: string, ...args: number[]) => string): string {
  if (days < 1) return t("today");
  if (days < 2) return t("yesterday");
  if (days < 60) return t("{0} days ago", days);
  const months = Math.floor(days / 30.44);
  if (months < 24) return t("{0} months ago", months);
  return t("{0} years ago", Math.floor(days / 365.25));
}

/** daysSince counts whole days, never less than none. An unreadable moment counts as now. */
export function daysSince(time: string, now: number): number {
  const then = Date.parse(time);
  return Number.isNaN(then) ? 0 : Math.max(0, Math.floor((now - then) / 86_400_000));
}
