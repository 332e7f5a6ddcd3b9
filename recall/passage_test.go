package recall_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// checkPassage holds what every passage promises: a stretch of the body, whole code
// points, no more of them than agreed, none delivered before.
func checkPassage(t *testing.T, h recall.Hit, taken ...memory.Span) {
	t.Helper()
	p, body := h.Passage, h.Doc.Body
	if p.Len() == 0 {
		if body.Len() > 0 {
			t.Fatalf("nothing of a body of %d bytes", body.Len())
		}
		return
	}
	if p.Start < body.Start || p.End > body.End || p.Start > p.End {
		t.Fatalf("%v is not within %v", p, body)
	}
	text := h.Doc.Text[p.Start:p.End]
	if n := utf8.RuneCountInString(text); n > recall.PassageRunes || !utf8.ValidString(text) {
		t.Fatalf("%d code points: %.60q", n, text)
	}
	if h.Truncated != (p != body) {
		t.Fatalf("truncated %v, %v of %v", h.Truncated, p, body)
	}
	for _, s := range taken {
		if p.Start < s.End && s.Start < p.End {
			t.Fatalf("%v overlaps %v", p, s)
		}
	}
}

// What looks like one character without end hides no match and breaks nothing.
func TestDELIV_08_CharactersWithoutEnd(t *testing.T) {
	for name, endless := range map[string]string{
		"marks":   "e" + strings.Repeat("\u0301", 5000),
		"joiners": "👨" + strings.Repeat("\u200d👨", 3000),
		"flags":   strings.Repeat("🇩🇪", 3000),
		"jamo":    "ᄀ" + strings.Repeat("ᅡ", 4000),
	} {
		words := strings.Repeat("words here. ", 300)
		for place, body := range map[string]string{
			"before the match": "A start. " + endless + " zebrafish " + words,
			"after it":         words + " zebrafish " + endless,
			"around it":        endless + " zebrafish " + endless,
			"alone":            "zebrafish" + endless,
			"at both ends":     endless + words + " zebrafish " + words + endless,
		} {
			ix := indexOf(t, note{name: "one", body: body}, note{name: "x", body: "other"})
			r := rank(t, ix, "zebrafish")
			if len(r.Hits) != 1 {
				t.Fatalf("%s %s: %q", name, place, names(r))
			}
			h := r.Hits[0]
			checkPassage(t, h)
			if place != "alone" && !strings.Contains(h.Doc.Text[h.Passage.Start:h.Passage.End], "zebrafish") {
				t.Errorf("%s %s: the passage %v lacks the match", name, place, h.Passage)
			}
			if _, err := recall.Render(r.Hits, now); err != nil {
				t.Error(err)
			}
			more := rank(t, ix, "zebrafish", func(q *recall.Query) { q.Held = held{h.Doc.Ref: {h.Passage}} })
			for _, again := range more.Hits {
				checkPassage(t, again, h.Passage)
			}
		}
	}
}

// FuzzPassage puts a match into any text, with some of it delivered before.
func FuzzPassage(f *testing.F) {
	f.Add("start. ", " and more. ", uint16(300), uint16(40), uint16(900))
	f.Add("e\u0301\u0301", "👨‍👩‍👧‍👦", uint16(900), uint16(0), uint16(0))
	f.Add("น้ำตาล w1. ", "数据库\n\n", uint16(200), uint16(30), uint16(60))
	f.Add("🇩🇪", "가", uint16(400), uint16(5), uint16(2000))
	f.Fuzz(func(t *testing.T, before, after string, times, from, size uint16) {
		n := int(times)%1000 + 1
		raw := "---\nname: one\n---\n" + repeated(before, n) + " zebrafish " + repeated(after, n) + " zebrafish\n"
		d := memory.Parse([]byte(raw))
		d.Root = &memory.Root{Scope: memory.ScopeProject, Prefix: "project"}
		d.Ref = "project:one.md"
		start := min(d.Body.Start+int(from), d.Body.End)
		end := min(start+int(size), d.Body.End)
		for start < end && !utf8.RuneStart(d.Text[start]) {
			start++
		}
		for end < d.Body.End && !utf8.RuneStart(d.Text[end]) {
			end++
		}
		for _, taken := range [][]memory.Span{nil, {{Start: start, End: end}}} {
			q := recall.Query{Text: "zebrafish", Now: now}
			if end > start && taken != nil {
				q.Held = held{d.Ref: taken}
			}
			r, err := build([]*memory.Document{d}).Rank(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range r.Hits {
				if q.Held == nil {
					taken = nil
				}
				checkPassage(t, h, taken...)
			}
			if _, err := recall.Render(r.Hits, now); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// repeated is s again and again, up to 20,000 bytes.
func repeated(s string, n int) string {
	return strings.Repeat(s, min(n, 20_000/max(len(s), 1)))
}
