package memory_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/memls/memls/memory"
)

// doc is a document as the catalog has it.
func doc(t testing.TB, rel, text string) *memory.Document {
	t.Helper()
	d := memory.Parse([]byte(text))
	d.Rel = rel
	if d.Title == "" {
		d.Title = strings.TrimSuffix(rel, ".md")
	}
	return d
}

// about is a document with a header.
func about(t testing.TB, rel, title, description, kind string) *memory.Document {
	return doc(t, rel, fmt.Sprintf("---\nname: %q\ndescription: %q\ntype: %s\n---\nbody of %s\n", title, description, kind, rel))
}

// lineForms are the lines of an index, each with its kind, what it names, and its
// hook.
func lineForms(text string) []string {
	x := memory.ParseIndex([]byte(text))
	var out []string
	for _, l := range x.Lines {
		s := string(l.Kind)
		for _, t := range l.Targets {
			s += " " + string(t.Form) + ":" + t.Target
		}
		if l.Kind == memory.IndexEntry {
			s += " | " + x.Doc.Text[l.Hook.Start:l.Hook.End]
		}
		out = append(out, s)
	}
	return out
}

// Every form of line that stands in the indexes of real repositories.
func TestIndexLinesOfTheWild(t *testing.T) {
	for line, want := range map[string]string{
		"- [Title](file.md) — hook":                        "entry link:file.md | hook",
		"- [Title](file.md) - hook - with dashes":          "entry link:file.md | hook - with dashes",
		"- [Title](file.md): hook":                         "entry link:file.md | hook",
		"- [Title](file.md) – hook":                        "entry link:file.md | hook",
		"- [Title](file.md)":                               "entry link:file.md | ",
		"* [Title](./sub/a%20b.md) → hook":                 "entry link:./sub/a%20b.md | hook",
		"+ **[Title](file.md)** — *hook*":                  "entry link:file.md | *hook*",
		"1. [Title](file.md) — hook":                       "entry link:file.md | hook",
		"12) [Title](<my file.md>) hook":                   "entry link:my file.md | hook",
		"- `file.md` — hook":                               "entry code:file.md | hook",
		"- `sub/file.md`: hook with `other.go`":            "entry code:sub/file.md | hook with `other.go`",
		"- file.md — hook":                                 "entry bare:file.md | hook",
		"- **file.md**: hook":                              "entry bare:file.md | hook",
		"- [[file]] — hook":                                "entry wiki:file | hook",
		"- [[file|Title]]: see [Other](o.md)":              "entry wiki:file link:o.md | see [Other](o.md)",
		"- [ ] [Title](file.md) — hook":                    "entry link:file.md | hook",
		"  - [Nested](n.md) — hook":                        "entry link:n.md | hook",
		"| [Title](file.md) | hook | 2024 |":               "entry link:file.md | hook | 2024",
		"|---|---|":                                        "text",
		"- a fact that stands only here":                   "fact",
		"- a fact with [a site](https://example.com/x.md)": "fact",
		"3. a numbered fact":                               "fact",
		"## Section with [link](a.md)":                     "heading link:a.md",
		"---":                                              "heading",
		"prose that names [a file](a.md)":                  "text link:a.md",
		"> quoted":                                         "quote",
		"> WARNING: MEMORY.md is too large; only part":     "notice",
		"- ![image](a.md)":                                 "fact",
		"- *.md files are notes":                           "fact",
		"- see main.go and x.mdx":                          "fact",
	} {
		if got := lineForms(line); len(got) != 1 || got[0] != want {
			t.Errorf("%s\n got %q\nwant %q", line, got, want)
		}
	}
	text := "\uFEFF# Index\r\n\r\n```\r\n- [code](a.md)\r\n```\r\n- [T](a.md) — h\r\n  more\r\n\r\n"
	if got, want := lineForms(text), []string{"heading", "code", "code", "code", "entry link:a.md | h", "text"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestIndexDrift(t *testing.T) {
	docs := []*memory.Document{
		about(t, "a.md", "Alpha", "first", "user"), about(t, "sub/b.md", "Beta", "second", "project"), about(t, "c d.md", "Gamma", "third", "project"),
		about(t, "ü.md", "Umlaut", "fourth", "project"), about(t, "left.md", "Left", "not listed", "project"), doc(t, "old.md", "---\nstatus: superseded\n---\nold"), doc(t, "none.md", ""),
	}
	x := memory.ParseIndex([]byte(lines("# Memory", "- [Alpha](a.md) — first", "- [[b]] and [gone](gone.md)", "- [Gamma](c%20d.md): third", "- `%C3%BC.md` x", "- [Alpha again](./a.md)",
		"- [folder](sub/)", "- [script](run.sh)", "- [outside](../README.md)", "- [[Nobody]]", "- A.md", "prose on [gone too](x/gone.md#part)")))
	drift := x.Drift(docs, nil)
	name := func(rows []memory.DriftLine) (out []string) {
		for _, r := range rows {
			out = append(out, r.Target.Target)
		}
		return out
	}
	if got := name(drift.Missing); !slices.Equal(got, []string{"gone.md", "Nobody", "x/gone.md"}) {
		t.Errorf("missing %q", got)
	}
	if got := name(drift.Repeated); !slices.Equal(got, []string{"./a.md", "A.md"}) {
		t.Errorf("repeated %q", got)
	}
	if len(drift.Unlisted) != 1 || drift.Unlisted[0].Rel != "left.md" || drift.Listed != 4 || drift.TooLarge || drift.None() {
		t.Errorf("%+v", drift)
	}
	problems := x.Problems(drift)
	if len(problems) != 6 {
		t.Fatalf("%+v", problems)
	}
	if p := problems[0]; x.Doc.Text[p.Span.Start:p.Span.End] != "gone.md" || p.Code != memory.ProblemIndexMissing || p.Severity != memory.SeverityWarning {
		t.Errorf("%+v", p)
	}
	if p := problems[5]; p.Code != memory.ProblemIndexUnlisted || !strings.Contains(p.Message, "left.md") || x.Doc.Text[p.Span.Start:p.Span.End] != "# Memory" {
		t.Errorf("%+v", p)
	}
	large := memory.ParseIndex([]byte(strings.Repeat("- a fact\n", 201)))
	drift = large.Drift(nil, nil)
	if p := large.Problems(drift); !drift.TooLarge || len(p) != 1 || p[0].Span.Start != 200*len("- a fact\n") {
		t.Errorf("%+v %+v", drift, p)
	}
	if wide := memory.ParseIndex([]byte(strings.Repeat("中", 9_000))).Drift(nil, nil); !wide.TooLarge || wide.Bytes != 27_000 {
		t.Errorf("%+v", wide)
	}
	if in := memory.ParseIndex([]byte("- [Alpha](a.md)\n")).Drift(docs[:1], nil); !in.None() {
		t.Errorf("%+v", in)
	}
}

func TestGeneratedIndex(t *testing.T) {
	docs := []*memory.Document{
		about(t, "z.md", "Last", "a description", "project"), about(t, "a b/ü.md", "Title ](x) `code`\u202E", "", "user"), about(t, "open.md", "a [b", "", "feedback"),
		about(t, "long.md", strings.Repeat("w", 200), strings.Repeat("d", 300), "user"), doc(t, "gone.md", "---\nstatus: expired\n---\nx"),
		doc(t, "past.md", "---\nexpires_at: 2020-01-01\n---\nx"), doc(t, "empty.md", "_No entries yet._"),
		about(t, strings.Repeat("p/", 60)+"deep.md", "Deep", "far down", "user"),
	}
	g := memory.GenerateIndex(docs, memory.IndexOptions{Now: time.Now()})
	want := []string{
		"- [Title ] (x) 'code'](a%20b/%C3%BC.md)", "- [" + strings.Repeat("w", 119) + "…](long.md) — " + strings.Repeat("d", 13) + "…", "- [a (b](open.md)",
		"- [Deep](" + strings.Repeat("p/", 60) + "deep.md) — far down", "- [Last](z.md) — a description",
	}
	want[0] = "- [Title ) (x) 'code'](a%20b/%C3%BC.md)"
	if got := strings.Split(strings.TrimRight(g.Text, "\n"), "\n"); !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if len(g.Omitted) != 0 {
		t.Errorf("omitted %q", g.Omitted)
	}
	if g := memory.GenerateIndex(nil, memory.IndexOptions{}); g.Text != "" {
		t.Errorf("of nothing: %q", g.Text)
	}
	team := memory.GenerateIndex([]*memory.Document{
		about(t, "b.md", "B", "Same thing.", "user"), about(t, "a.md", "A", "same  thing", "user"), about(t, "c d.md", "C", "SAME THING!", "user"), about(t, "e.md", "E", "", "user"), about(t, "f.md", "F", "", "user"),
	}, memory.IndexOptions{Team: true})
	if want := lines("- [A](a.md) — same thing (also: b.md, c%20d.md)", "- [E](e.md)", "- [F](f.md)"); team.Text != want {
		t.Errorf("team %q, want %q", team.Text, want)
	}
	if x := memory.ParseIndex([]byte(team.Text)); len(x.Drift([]*memory.Document{about(t, "a.md", "A", "", "user"), about(t, "c d.md", "C", "x", "user")}, nil).Unlisted) != 0 {
		t.Error("files that are named in words are not listed")
	}
}

// Whatever the documents, in whatever order, an index is within its bounds, whole
// entries only, and each of its links leads to its file.
func TestGeneratedIndexProperties(t *testing.T) {
	word := rapid.OneOf(rapid.StringMatching(`[a-z]{1,12}`), rapid.SampledFrom([]string{"中文", "日本語テキスト", "🔥", "](", "[", "`", "\\", "**", "|", "(x)", "a" + strings.Repeat("b", 130)}))
	text := rapid.Custom(func(rt *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 30).Draw(rt, "words"), " ") })
	path := rapid.Custom(func(rt *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-zü中 ()%#]{1,20}[a-z]`), 1, 6).Draw(rt, "path"), "/") + ".md"
	})
	rapid.Check(t, func(rt *rapid.T) {
		var docs []*memory.Document
		seen := map[string]bool{}
		many := rapid.SampledFrom([]int{3, 40, 300}).Draw(rt, "many")
		opt := memory.IndexOptions{Team: rapid.Bool().Draw(rt, "team")}
		for range rapid.IntRange(0, many).Draw(rt, "documents") {
			rel := path.Draw(rt, "rel")
			if seen[rel] || memory.CheckRel(rel) != nil {
				continue
			}
			seen[rel] = true
			d := memory.Parse([]byte("body"))
			d.Rel, d.Title, d.Description = rel, memory.CleanLine(text.Draw(rt, "title")), memory.CleanLine(text.Draw(rt, "description"))
			d.Pinned, d.ModTime = rapid.Bool().Draw(rt, "pinned"), time.Unix(int64(rapid.IntRange(0, 5).Draw(rt, "age")), 0)
			docs = append(docs, d)
		}
		g := memory.GenerateIndex(docs, opt)
		shuffled := slices.Clone(docs)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if again := memory.GenerateIndex(shuffled, opt); again.Text != g.Text {
			rt.Fatalf("another order, another index:\n%s\n%s", g.Text, again.Text)
		}
		if n := strings.Count(g.Text, "\n"); n > memory.MaxIndexLines || len(g.Text) > memory.MaxIndexBytes || !utf8.ValidString(g.Text) {
			rt.Fatalf("%d lines, %d bytes", n, len(g.Text))
		}
		x := memory.ParseIndex([]byte(g.Text))
		drift := x.Drift(docs, nil)
		if len(drift.Missing)+len(drift.Repeated) > 0 || len(drift.Unlisted) != len(g.Omitted) || drift.Listed+len(g.Omitted) != len(docs) {
			for _, d := range drift.Unlisted {
				if !slices.Contains(g.Omitted, d.Rel) {
					t.Logf("not read as listed: %q, %q", d.Rel, d.Title)
				}
			}
			rt.Fatalf("%d missing, %d repeated, %d not listed, %d omitted", len(drift.Missing), len(drift.Repeated), len(drift.Unlisted), len(g.Omitted))
		}
		for _, l := range x.Lines {
			if l.Kind != memory.IndexEntry && l.Kind != memory.IndexNotice {
				rt.Fatalf("%s line in\n%s", l.Kind, g.Text)
			}
		}
		if (len(g.Omitted) > 0) != strings.Contains(g.Text, fmt.Sprintf("%d of %d memories are not listed", len(g.Omitted), len(docs))) {
			rt.Fatalf("%d omitted", len(g.Omitted))
		}
		if !x.GeneratedFrom(docs) {
			rt.Fatalf("not known as generated:\n%s", g.Text)
		}
	})
}

// DREAM-08: what is kept follows a rule, and what is not is counted.
func TestDREAM_08_TheKeptSetFollowsTheRule(t *testing.T) {
	var docs []*memory.Document
	for i := range 250 {
		d := about(t, fmt.Sprintf("%c%03d.md", 'a'+i/10, i), fmt.Sprint("Title ", i), "d", "project")
		d.ModTime = time.Unix(int64(1_000+i), 0) // z… are the newest
		d.Pinned = i == 3
		docs = append(docs, d)
	}
	g := memory.GenerateIndex(docs, memory.IndexOptions{})
	if strings.Count(g.Text, "\n") != 200 || len(g.Omitted) != 52 || !strings.Contains(g.Text, "52 of 250") {
		t.Fatalf("%d omitted of\n%s", len(g.Omitted), g.Text)
	}
	for i, d := range docs {
		if kept := i == 3 || i >= 53; kept == slices.Contains(g.Omitted, d.Rel) || kept != strings.Contains(g.Text, "("+d.Rel+")") {
			t.Errorf("%s: kept %v", d.Rel, !kept)
		}
	}
	team := memory.GenerateIndex(docs, memory.IndexOptions{Team: true})
	if len(team.Omitted) != 0 && !strings.Contains(team.Text, "(a000.md)") {
		t.Error("a team's index is kept by path")
	}
}

// DREAM-07: what somebody wrote stays, what is added is bounded, and the same
// input gives the same bytes.
func TestDREAM_07_AuthoredLinesAreKept(t *testing.T) {
	var b strings.Builder
	b.WriteString("# My memory\r\n\r\nHand-written *intro*.\r\n\r\n## Rules\r\n")
	var docs []*memory.Document
	for i := range 190 {
		fmt.Fprintf(&b, "- [Rule %d](r%03d.md) — in my own words %d\r\n", i, i, i)
		docs = append(docs, about(t, fmt.Sprintf("r%03d.md", i), fmt.Sprint("Rule ", i), "generated words", "feedback"))
	}
	for i := range 110 {
		docs = append(docs, about(t, fmt.Sprintf("s%03d.md", i), fmt.Sprint("Other ", i), "d", "feedback"))
	}
	text := b.String()
	x := memory.ParseIndex([]byte(text))
	c := memory.RebuildIndex(x, docs, memory.IndexOptions{})
	if c.Generated || !strings.HasPrefix(c.Text, text) {
		t.Fatalf("authored lines changed:\n%s", c.Text)
	}
	raw, err := c.Bytes([]byte(text))
	if err != nil || string(raw) != c.Text {
		t.Fatalf("bytes differ: %v", err)
	}
	if n := strings.Count(c.Text, "\n"); n != 200 || len(c.Omitted) != 105 || strings.Count(c.Text, "\r\n") != n {
		t.Errorf("%d lines, %d omitted", n, len(c.Omitted))
	}
	if again := memory.RebuildIndex(memory.ParseIndex([]byte(text)), docs, memory.IndexOptions{}); again.Text != c.Text {
		t.Error("another time, other bytes")
	}
	if twice := memory.RebuildIndex(memory.ParseIndex(raw), docs, memory.IndexOptions{}); len(twice.Replace) != 0 {
		t.Errorf("a second rebuild changes %+v", twice.Replace)
	}
}

func TestUpdateIndexByHand(t *testing.T) {
	a, b, c := about(t, "a.md", "Alpha", "first", "user"), about(t, "b.md", "Beta", "second", "project"), about(t, "c.md", "Gamma", "third", "user")
	again := about(t, "a.md", "Alpha", "changed", "user")
	old := doc(t, "a.md", strings.Replace(a.Text, "type:", "status: superseded\ntype:", 1))
	moved := about(t, "a.md", "Alpha", "first", "user")
	moved.Rel = "new/ä b.md"
	type docs []*memory.Document
	for name, tc := range map[string]struct {
		index         string
		before, after docs
		want          string
	}{
		"an entry goes":           {"# I\n- [Mine](a.md): my words\n- [B](b.md)\n", docs{a, b}, docs{b}, "# I\n- [B](b.md)\n"},
		"with what goes on":       {"intro\n- [Mine](a.md) x\n  more\n  - detail\n  - [B](b.md)\n- fact\n", docs{a, b}, docs{b}, "intro\n  - [B](b.md)\n- fact\n"},
		"not what comes after":    {"intro\n- [Mine](a.md) x\n\n  other\n", docs{a}, docs{}, "intro\n\n  other\n"},
		"the last line":           {"intro\r\n- [Mine](a.md)", docs{a}, docs{}, "intro\r\n"},
		"a mention":               {"intro\n- [B](b.md) — like [**Mine**](a.md), [[a]] and `a.md`\n", docs{a, b}, docs{b}, "intro\n- [B](b.md) — like **Mine**, a and `a.md`\n"},
		"another's line is lost":  {"intro\n- [Mine](a.md), [B](b.md)\n- fact\n", docs{a, b}, docs{b}, "intro\n- fact\n\n- [Beta](b.md) — second\n"},
		"an entry comes":          {"# I\n- [Mine](a.md) — my words\n\nend\n", docs{a}, docs{a, b}, "# I\n- [Mine](a.md) — my words\n- [Beta](b.md) — second\n\nend\n"},
		"in its section":          {"## P\n1. [B](b.md) - x\n## U\n1. [A](a.md) - x\n## Z\n", docs{a, b}, docs{a, b, c}, "## P\n1. [B](b.md) - x\n## U\n1. [A](a.md) - x\n2. [Gamma](c.md) - third\n## Z\n"},
		"several come":            {"intro\n3) [A](a.md): x", docs{a}, docs{a, b, c}, "intro\n3) [A](a.md): x\n4) [Beta](b.md): second\n5) [Gamma](c.md): third"},
		"in code font":            {"intro\n* `a.md` – x\n", docs{a}, docs{a, b}, "intro\n* `a.md` – x\n* `b.md` – second\n"},
		"as a wikilink":           {"intro\n- [[a|Alpha]] x\n", docs{a}, docs{a, b}, "intro\n- [[a|Alpha]] x\n- [[b|Beta]] — second\n"},
		"in a table":              {"| f | h | n |\n|---|---|---|\n| [A](a.md) | x | 1 |\n", docs{a}, docs{a, b}, "| f | h | n |\n|---|---|---|\n| [A](a.md) | x | 1 |\n| [Beta](b.md) | second |  |\n"},
		"below prose":             {"prose", docs{}, docs{b}, "prose\n\n- [Beta](b.md) — second\n"},
		"below a heading":         {"# M\r\n\r\n", docs{}, docs{b, c}, "# M\r\n\r\n- [Beta](b.md) — second\r\n- [Gamma](c.md) — third\r\n"},
		"mine stays":              {"intro\n- [Mine](a.md) — my words\n", docs{a}, docs{again}, "intro\n- [Mine](a.md) — my words\n"},
		"a generated line":        {"intro\n- [Alpha](a.md) — first\n", docs{a}, docs{again}, "intro\n- [Alpha](a.md) — changed\n"},
		"superseded, generated":   {"intro\n- [Alpha](a.md) — first\n", docs{a}, docs{old}, "intro\n"},
		"superseded, mine":        {"intro\n- [Mine](a.md)\n", docs{a}, docs{old}, "intro\n- [Mine](a.md)\n"},
		"renamed":                 {"intro\n- [Mine](a.md) — x, [[a#part|y]]\n", docs{a}, docs{moved}, "intro\n- [Mine](new/%C3%A4%20b.md) — x, [[new/ä b#part|y]]\n"},
		"drift is left alone":     {"intro\n- [Gone](gone.md)\n", docs{a}, docs{a}, "intro\n- [Gone](gone.md)\n"},
		"named in words":          {"intro\n- [B](b.md) — x (also: a.md, c.md)\n", docs{a, b, c}, docs{b, c}, "intro\n- [B](b.md) — x (also: c.md)\n"},
		"the last named in words": {"intro\n- [B](b.md) — x (also: a.md)\n", docs{a, b}, docs{b}, "intro\n- [B](b.md) — x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			x := memory.ParseIndex([]byte(tc.index))
			c := memory.UpdateIndex(x, tc.before, tc.after, memory.IndexOptions{})
			raw, err := c.Bytes([]byte(tc.index))
			if c.Text != tc.want || err != nil || string(raw) != c.Text || c.Generated {
				t.Errorf("%q\nwant\n%q (%v)", c.Text, tc.want, err)
			}
		})
	}
}

func TestUpdateIndexGenerated(t *testing.T) {
	a, b := about(t, "a.md", "Alpha", "first", "user"), about(t, "b.md", "Beta", "`second` thing", "project")
	before := []*memory.Document{a, b}
	ours := memory.GenerateIndex(before, memory.IndexOptions{}).Text
	for name, index := range map[string]string{
		"ours": ours, "in another order": "- [Beta](b.md) — 'second' thing\n- [Alpha](a.md) — first\n", "empty": "", "blank": "\n\n",
		"with a notice": ours + "\n> WARNING: MEMORY.md is too large; only part of it was loaded\n",
		"in UTF-16":     string(utf16Bytes(ours, binary.BigEndian)),
	} {
		x := memory.ParseIndex([]byte(index))
		c := memory.UpdateIndex(x, before, []*memory.Document{b}, memory.IndexOptions{})
		if !c.Generated || c.Text != "- [Beta](b.md) — 'second' thing\n" {
			t.Errorf("%s: %+v", name, c)
		}
		raw, err := c.Bytes([]byte(index))
		if again := memory.ParseIndex(raw); err != nil || again.Doc.Text != c.Text || again.Doc.Encoding != x.Doc.Encoding {
			t.Errorf("%s: %q %v", name, raw, err)
		}
	}
	if c := memory.UpdateIndex(nil, before, before, memory.IndexOptions{}); !c.Generated || c.Text != ours {
		t.Errorf("none: %+v", c)
	}
	if c := memory.UpdateIndex(memory.ParseIndex([]byte(ours)), before, before, memory.IndexOptions{}); len(c.Replace) != 0 {
		t.Errorf("nothing to do: %+v", c)
	}
	// One word of a person, and it is theirs.
	for _, index := range []string{ours + "- a fact\n", "# Memory\n" + ours, strings.Replace(ours, "first", "my words", 1), ours + "- [Gone](gone.md) — x\n"} {
		if memory.ParseIndex([]byte(index)).GeneratedFrom(before) {
			t.Errorf("taken as generated: %q", index)
		}
	}
	// An index larger than what is read is left alone.
	huge := memory.ParseIndex([]byte(strings.Repeat("- a fact\n", memory.MaxFileBytes/8)))
	if c := memory.UpdateIndex(huge, nil, before, memory.IndexOptions{}); len(c.Replace) != 0 || len(c.Omitted) != 2 {
		t.Errorf("huge: %d %v", len(c.Replace), c.Omitted)
	}
}

func TestRebuildIndex(t *testing.T) {
	docs := []*memory.Document{about(t, "a.md", "Alpha", "first", "user"), about(t, "b.md", "Beta", "second", "user")}
	index := lines("# M", "- [A](a.md) — mine", "- [Gone](gone.md) — but what it said", "- [Empty](empty.md)", "- [[Nobody]]: nor her", "- `lost.md` stays", "prose on [x](gone.md)")
	want := lines("# M", "- [A](a.md) — mine", "- Gone — but what it said", "- Nobody: nor her", "- `lost.md` stays", "- [Beta](b.md) — second", "prose on x")
	want = strings.Replace(want, "- [Beta](b.md) — second", "- `b.md` — second", 1)
	c := memory.RebuildIndex(memory.ParseIndex([]byte(index)), docs, memory.IndexOptions{})
	if c.Text != want || !slices.Equal(c.Unlinked, []string{"gone.md", "empty.md", "Nobody", "gone.md"}) {
		t.Errorf("%q\nwant\n%q, unlinked %q", c.Text, want, c.Unlinked)
	}
}

// A link by reference has its name in the definition, in front of it or behind.
func TestRebuildIndexLinksByReference(t *testing.T) {
	docs := []*memory.Document{about(t, "a.md", "Alpha", "first", "user")}
	for _, tt := range []struct{ index, want string }{
		{"[g]: gone.md\n\n- see *that* [**Gone**][g], [g] and [g][]\n- [A](a.md)\n", "[g]: gone.md\n\n- see *that* **Gone**, g and g\n- [A](a.md)\n"},
		{"- see *that* [**Gone**][g], [g] and [g][]\n- [A](a.md) [x]\n\n[g]: gone.md\n", "- see *that* **Gone**, g and g\n- [A](a.md) [x]\n\n[g]: gone.md\n"},
	} {
		if c := memory.RebuildIndex(memory.ParseIndex([]byte(tt.index)), docs, memory.IndexOptions{}); c.Text != tt.want {
			t.Errorf("%q\nwant\n%q", c.Text, tt.want)
		}
	}
}

// Whatever stands in an index and whatever happens to the files, lines that name
// none of the files that changed stay as they are, in their order, and no file
// that has gone is linked.
func TestUpdateIndexProperties(t *testing.T) {
	names := []string{"a.md", "b.md", "sub/c.md", "d e.md"}
	line := rapid.OneOf(
		rapid.SampledFrom([]string{"", "# Heading", "- a fact", "  goes on", "prose", "> quote", "```", "| x | y |", "- [site](https://x.org)", "\t- deep"}),
		rapid.Custom(func(rt *rapid.T) string {
			name := rapid.SampledFrom(append(names, "gone.md")).Draw(rt, "name")
			form := rapid.SampledFrom([]string{"- [T](%s) — hook", "* `%s`: x", "1. [[%s]] y", "- %s", "text [t](%s) text", "| [T](%s) | z |", "- [T](a.md) — and [U](%s)", "  - [N](%s)", "- [T](b.md) — x (also: %s)"}).Draw(rt, "form")
			name = strings.ReplaceAll(name, " ", "%20")
			return fmt.Sprintf(form, name)
		}))
	rapid.Check(t, func(rt *rapid.T) {
		eol := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(rt, "eol")
		text := strings.Join(rapid.SliceOfN(line, 0, 12).Draw(rt, "lines"), eol) + rapid.SampledFrom([]string{"", eol}).Draw(rt, "end")
		side := func(which string) (docs []*memory.Document) {
			for _, name := range names {
				if rapid.Bool().Draw(rt, which+name) {
					docs = append(docs, about(t, name, "Title of "+name, rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "says"), "user"))
				}
			}
			return docs
		}
		before, after := side("before "), side("after ")
		x := memory.ParseIndex([]byte(text))
		c := memory.UpdateIndex(x, before, after, memory.IndexOptions{})
		raw, err := c.Bytes([]byte(text))
		if err != nil || string(raw) != c.Text {
			rt.Fatalf("%q: %q (%v)", text, raw, err)
		}
		if c.Generated {
			return
		}
		rest := c.Text
		for _, l := range x.Lines {
			if s := text[l.Span.Start:l.Span.End]; len(l.Targets) == 0 && l.Column == 0 && !strings.Contains(s, ".md") {
				_, after, ok := strings.Cut(rest, s)
				if !ok {
					rt.Fatalf("%q is lost: %q became %q", s, text, c.Text)
				}
				rest = after
			}
		}
		next := memory.ParseIndex(raw)
		was := map[string]bool{}
		for _, m := range x.Drift(before, nil).Missing {
			was[m.Target.Target] = true
		}
		for _, m := range next.Drift(after, nil).Missing {
			if m.Target.Form == memory.IndexLink && !was[m.Target.Target] {
				rt.Fatalf("%s is still linked: %q became %q", m.Target.Target, text, c.Text)
			}
		}
		// What came is listed.
		for _, d := range next.Drift(after, nil).Unlisted {
			if !slices.ContainsFunc(before, func(o *memory.Document) bool { return o.Rel == d.Rel }) {
				rt.Fatalf("%s is not listed: %q became %q", d.Rel, text, c.Text)
			}
		}
		if settled := memory.UpdateIndex(next, after, after, memory.IndexOptions{}); !settled.Generated && len(settled.Replace) > 0 {
			rt.Fatalf("not settled: %q became %q and %q", text, c.Text, settled.Text)
		}
	})
}

// What an index said of a file it says again when the file comes back, where it
// said it, in the words that somebody had chosen.
func TestUpdateIndexBringsEntriesBack(t *testing.T) {
	a, b := about(t, "a.md", "Alpha", "first", "user"), about(t, "b.md", "Beta", "second", "user")
	for _, index := range []string{
		"# Mine\n\n- [A](a.md) — my words\n  and more\n- a fact\n- [Beta](b.md) — second\n", "- [A](a.md) — my words\n", "1. `a.md`: x\r\n2. [B](b.md): y\r\n", "| [A](a.md) | mine | 1 |\n| [B](b.md) | too | 2 |\n",
		"- [Alpha](a.md) — first\n- [Beta](b.md) — second\n", "text\n\n\n- [A](a.md) — last\n",
	} {
		x := memory.ParseIndex([]byte(index))
		docs := []*memory.Document{a, b}
		if !strings.Contains(index, "b.md") {
			docs = docs[:1]
		}
		entry := x.EntryOf("a.md")
		gone := memory.UpdateIndex(x, docs, docs[1:], memory.IndexOptions{})
		if entry == nil || strings.Contains(gone.Text, "a.md") {
			t.Fatalf("%q: %+v, %q", index, entry, gone.Text)
		}
		back := memory.UpdateIndex(memory.ParseIndex([]byte(gone.Text)), docs[1:], docs, memory.IndexOptions{Former: map[string]memory.FormerEntry{"a.md": *entry}})
		if back.Text != index {
			t.Errorf("%q came back as %q", index, back.Text)
		}
	}
	if e := memory.ParseIndex([]byte("- [x](y.md)\n")).EntryOf("a.md"); e != nil {
		t.Errorf("%+v", e)
	}
}
