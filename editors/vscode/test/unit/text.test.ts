import assert from "node:assert/strict";
import { age, daysSince, label, lines, plain } from "../../src/text";

const english = (message: string, ...args: number[]): string => message.replace(/\{(\d)\}/g, (_, i: string) => String(args[Number(i)]));

describe("text of memories", () => {
  it("is one line, without what reorders, hides or ends it", () => {
    assert.equal(plain("a\u202eevil\u202c\r\nb\u2066c\u2069\t\u200bd\u{e0041}\u0007"), "aevil bc d");
    assert.equal(plain("\ufeffשלום עולם"), "שלום עולם");
    assert.equal(plain("日本語 ✓ é"), "日本語 ✓ é");
  });
  it("is cut between characters, not within them", () => {
    assert.equal(plain("😀".repeat(10), 4), "😀😀😀…");
    assert.equal(plain("x".repeat(2_000_000)).length, 200);
  });
  it("draws no icons in a label", () => {
    assert.equal(label("$(trash) $(x)"), "\\$(trash) \\$(x)");
  });
  it("keeps its lines where they are wanted", () => {
    assert.equal(lines("a\r\nb\u202e\rc"), "a\nb\nc");
  });
  it("says an age in words", () => {
    for (const [days, words] of [[0, "today"], [1, "yesterday"], [31, "31 days ago"], [95, "3 months ago"], [900, "2 years ago"]] as const) assert.equal(age(days, english), words);
  });
  it("counts days, and none for what is no time or lies ahead", () => {
    assert.equal(daysSince("2026-01-01T00:00:00Z", Date.parse("2026-01-03T12:00:00Z")), 2);
    assert.equal(daysSince("soon", 0), 0);
    assert.equal(daysSince("2030-01-01T00:00:00Z", 0), 0);
  });
});
