package memory_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/memls/memls/memory"
)

// shown is what an entry says, for tables: summary, why and how parted by bars.
func shown(e memory.Entry) string {
	s := e.Summary
	if e.Why != "" || e.HowToApply != "" {
		s += " | " + e.Why + " | " + e.HowToApply
	}
	return s
}

func TestEntries(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string
	}{
		{"nothing", "", nil},
		{"nothing yet", "# Notes\n\n_No entries yet._\n", nil},
		{"nothing yet beside something", "_No entries yet._\n\nfact\n", []string{"fact"}},
		{"as recommended", "Rule.\n\n**Why:** Reason.\n\n**How to apply:** Always.\n", []string{"Rule. | Reason. | Always."}},
		{"as rendered", "One.\n\nWhy: w1\n\nHow to apply: h1\n\nTwo.\n\nWhy: w2\n", []string{"One. | w1 | h1", "Two. | w2 | "}},
		{"colon outside the bold", "R\n**Why**: w\n__How to apply__: h\n", []string{"R | w | h"}},
		{"other spellings", "R\n\n*why:* w\n\nHow_to_apply: h\n", []string{"R | w | h"}},
		{"all bold", "R\n\n**Why: w**\n\n***How to apply*** : h\n", []string{"R | w | h"}},
		{"wide colon", "规则\n\n**Why：** 原因\n", []string{"规则 | 原因 | "}},
		{"no label", "R\n\nWhy not: x\n\nWhyever: y\n\n**Whys:** z\n", []string{"R", "Why not: x", "Whyever: y", "**Whys:** z"}},
		{"wrapped", "A rule\nover two lines.\nWhy: a reason\nof two lines\n\nNext.\n", []string{"A rule over two lines. | a reason of two lines | ", "Next."}},
		{"items", "- a\n- b\n* c\n+ d\n1. e\n2) f\n• g\n", []string{"a", "b", "c", "d", "e", "f", "g"}},
		{"items with labels", "- a\n  Why: w\n  - **How to apply:** h\n- b\n", []string{"a | w | h", "b"}},
		{"items with labels not indented", "- a\n**Why:** w\n\n- b\nHow to apply: h\n", []string{"a | w | ", "b |  | h"}},
		{"labels as items", "Rule.\n- **Why:** w\n- **How to apply:** h\n- other\n", []string{"Rule. | w | h", "other"}},
		{"label that announces a list", "Rule.\n\n**How to apply:**\n- one\n- two\n\n- three\n\nNext.\n", []string{"Rule. |  | - one - two - three", "Next."}},
		{"label with a colon at its end", "Rule.\n\n**How to apply:** for releases:\n\n1. tag\n2. push\n", []string{"Rule. |  | for releases: 1. tag 2. push"}},
		{"label then a list of its own", "Rule.\n\nWhy: w\n\n- other\n", []string{"Rule. | w | ", "other"}},
		{"label with its text below", "Rule.\n\n**Why:**\n\nReason.\n\nNext.\n", []string{"Rule. | Reason. | ", "Next."}},
		{"label alone", "## Rule\n\n**Why:** w\n\n**How to apply:** h\n", []string{"**Why:** w | w | h"}},
		{"label twice", "R\n\nWhy: a\n\nWhy: b\n\nN\n", []string{"R | a | ", "N"}},
		{"headings", "# H\na\n## G\nb\n### \nc\n#no heading\n####### neither\n", []string{"a", "b", "c #no heading ####### neither"}},
		{"underlined", "Title\n=====\na\n\nSub\n---\nb\n", []string{"a", "b"}},
		{"rule below a paragraph", "one\ntwo\n---\nthree\n***\n* * *\n_ _ _\n", []string{"one two", "three"}},
		{"rule below an item", "- a\n---\n- b\n", []string{"a", "b"}},
		{"nested", "- a\n  - b\n    - c\n\n  more\n\n\n- d\n", []string{"a", "d"}},
		{"nested below a number by two columns", "1. a\n  - b\n2. c\n", []string{"a", "c"}},
		{"nested by a tab", "- a\n\t- b\n\n\ttext\n- c\n", []string{"a", "c"}},
		{"nested below a paragraph", "Rule:\n  - a\n  - b\n\nNext\n", []string{"Rule:", "Next"}},
		{"list below a paragraph", "Rules:\n- a\n- b\n", []string{"Rules:", "a", "b"}},
		{"wrapped item", "- a\nlazily on\n- b\n  indented\n", []string{"a lazily on", "b indented"}},
		{"a year at the beginning of a line", "It was in\n1986. A year.\n", []string{"It was in 1986. A year."}},
		{"all indented", "  - a\n  - b\n    c\n", []string{"a", "b c"}},
		{"heading inside an item", "- a\n\n  # not the end\n\n  b\n", []string{"a"}},
		{"empty items", "-\n- \n-\n  late\n1.\n- [ ]\n* real\n- ", []string{"late", "real"}},
		{"definitions", "See [a].\n\n[a]: x.md\n[b]: <y.md> \"t\"\n- [c]\n\n[c]: z.md\ntext\n[d]: goes on\n\n- item\n[e]: goes on\n  [f]: goes on\n\n  [g]: goes on\n\n[^1]: a note\n",
			[]string{"See [a].", "[c]", "text [d]: goes on", "item [e]: goes on [f]: goes on", "[^1]: a note"}},
		{"tasks", "- [ ] open\n- [x] done\n", []string{"[ ] open", "[x] done"}},
		{"fence", "Run:\n\n```sh\n# no heading\n- no item\n\nWhy: no label\n```\n\nNext\n", []string{"Run:", "Next"}},
		{"fence of tildes holds another", "a\n~~~\n```\n- x\n~~~~\nb\n", []string{"a", "b"}},
		{"fence alone", "```\n\ncode\nmore\n```\n", []string{"code"}},
		{"fence that is empty", "```go\n```\n", []string{"```go"}},
		{"fence without an end", "- a\n\n```\n- b\n# c\n", []string{"a"}},
		{"fence in an item without an end", "- a\n  ```\n  x\n- b\n", []string{"a", "b"}},
		{"fence in an item with its code outdented", "- a\n  ```\nx\n# y\n  ```\n- b\n", []string{"a", "b"}},
		{"fence as an item", "- ```sh\n  make\n  ```\n- b\n", []string{"make", "b"}},
		{"fence as a nested item", "- a\n  - ```\n    # x\n    ```\n- b\n", []string{"a", "b"}},
		{"list under a label of an item", "- a\n  **How to apply:**\n  - one\n  - two\n- b\n", []string{"a |  | - one - two", "b"}},
		{"no fence", "``` x ```\n- b\n", []string{"``` x ```", "b"}},
		{"fence under a label", "R\n\nHow to apply:\n```\nmake\n```\n", []string{"R |  | ``` make ```"}},
		{"indented code", "a\n\n    code\n\n    # code\n\nb\n", []string{"a", "b"}},
		{"indented code first", "# h\n\n    code\n\n    more\n\nb\n", []string{"code", "b"}},
		{"quote", "> a\n> b\n>\n> c\n\n> d\n", []string{"a b", "d"}},
		{"quote with a label", "> a\n>\n> **Why:** w\n", []string{"a | w | "}},
		{"quote below a paragraph", "a\n> b\n\nc\n", []string{"a", "c"}},
		{"table", "| a | b |\n|---|---|\n| 1 | 2 |\n\nc\n", []string{"| a | b | |---|---| | 1 | 2 |", "c"}},
		{"comment", "<!-- kept\n\n- no item\n# no heading -->\n\na\n<!-- of a -->\nb\n", []string{"<!-- kept - no item # no heading -->", "a", "b"}},
		{"comment without an end", "<!-- a\n\nb\n", []string{"<!-- a", "b"}},
		{"CRLF", "# h\r\n\r\n- a\r\n  b\r\n- c\r\n\r\nWhy: w\r\n", []string{"a b", "c | w | "}},
		{"CR", "- a\r- b\r\rc\r", []string{"a", "b", "c"}},
		{"nothing hidden", "- a\u202eb\u200b\x07c\n", []string{"abc"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := memory.Parse([]byte(tt.body))
			checkEntries(t, d)
			var got []string
			for _, e := range memory.Entries(d) {
				got = append(got, shown(e))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("entries\n%q, want\n%q", got, tt.want)
			}
		})
	}
}

func TestEntrySpans(t *testing.T) {
	d := memory.Parse([]byte("\uFEFF---\r\nname: n\r\n---\r\n\r\n## H\r\n\r\n- **Rule** one\r\n\r\n  Why: w  \r\n  ```\r\n  x\r\n  ```\r\n\r\n- two  \r\n\r\n"))
	es := memory.Entries(d)
	if len(es) != 2 {
		t.Fatalf("%d entries", len(es))
	}
	at := func(s memory.Span) string { return d.Text[s.Start:s.End] }
	for i, want := range []struct{ all, summary, why, how, left string }{
		{"- **Rule** one\r\n\r\n  Why: w  \r\n  ```\r\n  x\r\n  ```", "**Rule** one", "w  \r\n  ```\r\n  x\r\n  ```", "", "---\r\nname: n\r\n---\r\n\r\n## H\r\n\r\n\r\n- two  \r\n\r\n"},
		{"- two", "two", "", "", "---\r\nname: n\r\n---\r\n\r\n## H\r\n\r\n- **Rule** one\r\n\r\n  Why: w  \r\n  ```\r\n  x\r\n  ```\r\n\r\n\r\n"},
	} {
		e := es[i]
		if at(e.Span) != want.all || at(e.SummarySpan) != want.summary || at(e.WhySpan) != want.why || at(e.HowSpan) != want.how {
			t.Errorf("entry %d: %q %q %q %q", i, at(e.Span), at(e.SummarySpan), at(e.WhySpan), at(e.HowSpan))
		}
		r := e.Removal(d)
		if left := d.Text[:r.Start] + d.Text[r.End:]; left != want.left {
			t.Errorf("without entry %d: %q", i, left)
		}
	}
}

// What is longer than a line can show is cut, visibly, and whole in its span.
func TestEntryLong(t *testing.T) {
	text := strings.Repeat("ж", 20_000)
	d := memory.Parse([]byte(text + "\n\nWhy: " + text + "\n"))
	e := memory.Entries(d)[0]
	for _, s := range []string{e.Summary, e.Why} {
		if !strings.HasSuffix(s, "ж…") || utf8.RuneCountInString(s) > 4096 {
			t.Errorf("%d runes, ends in %q", utf8.RuneCountInString(s), s[len(s)-8:])
		}
	}
	if e.SummarySpan.Len() != len(text) || e.WhySpan.Len() != len(text) {
		t.Errorf("spans %v %v", e.SummarySpan, e.WhySpan)
	}
}

// checkEntries holds what is true of the entries of every document.
func checkEntries(t testing.TB, d *memory.Document) {
	t.Helper()
	es := memory.Entries(d)
	inside := func(in, out memory.Span) bool {
		return in == memory.Span{} || out.Start <= in.Start && in.Start <= in.End && in.End <= out.End
	}
	last := d.Body.Start
	for i, e := range es {
		if e.Span.Start < last || e.Span.Len() <= 0 || e.Span.End > d.Body.End {
			t.Fatalf("entry %d %v: the last one ends at %d, the body at %d", i, e.Span, last, d.Body.End)
		}
		last = e.Span.End
		for _, s := range []memory.Span{e.SummarySpan, e.WhySpan, e.HowSpan} {
			if !inside(s, e.Span) {
				t.Fatalf("entry %d %v: part %v", i, e.Span, s)
			}
		}
		for _, s := range []string{e.Summary, e.Why, e.HowToApply} {
			if memory.CleanLine(s) != s || strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s) {
				t.Fatalf("entry %d shows %q", i, s)
			}
		}
		checkRemoval(t, d, e)
	}
	checkCoverage(t, d, es)
}

func lineEnd(c byte) bool { return c == '\n' || c == '\r' }

func checkRemoval(t testing.TB, d *memory.Document, e memory.Entry) {
	t.Helper()
	r := e.Removal(d)
	if r.Start != e.Span.Start || r.Start > d.Body.Start && !lineEnd(d.Text[r.Start-1]) {
		t.Fatalf("removal %v of %v does not begin a line", r, e.Span)
	}
	if r.End < len(d.Text) && !lineEnd(d.Text[r.End-1]) {
		t.Fatalf("removal %v of %v does not end a line", r, e.Span)
	}
	if rest := strings.TrimRight(d.Text[e.Span.End:r.End], "\r\n"); strings.Trim(rest, blanks) != "" || strings.ContainsAny(rest, "\r\n") {
		t.Fatalf("removal %v of %v takes %q too", r, e.Span, rest)
	}
}

// blanks are the characters that show nothing at the edge of a line.
const blanks = " \t\f\v\u00A0\u2028\u2029\uFEFF\u200B"

// checkCoverage wants every line of the body that shows something in exactly one
// entry, whole, or to be a line of structure.
func checkCoverage(t testing.TB, d *memory.Document, es []memory.Entry) {
	t.Helper()
	body := strings.NewReplacer("\r\n", "\n\x00", "\r", "\n").Replace(d.BodyText())
	pos, next := d.Body.Start, 0
	above := ""
	raw := strings.Split(body, "\n")
	for i, s := range raw {
		if strings.HasPrefix(s, "\x00") && pos < len(d.Text) && d.Text[pos] == '\n' { // the second half of a CRLF
			pos, s = pos+1, s[1:]
		}
		end := pos + len(s)
		for next < len(es) && es[next].Span.End < end {
			next++
		}
		switch in := next < len(es) && es[next].Span.Start <= pos && end <= es[next].Span.End; {
		case in, strings.Trim(s, blanks) == "":
		case next < len(es) && es[next].Span.Start < end:
			t.Fatalf("line %q at %d is only partly in %v", s, pos, es[next].Span)
		case !structural(s) && (i+1 == len(raw) || !underlined(raw[i+1:])):
			t.Fatalf("line %q at %d (below %q) is in no entry", s, pos, above)
		}
		above, pos = s, end+1
	}
}

var (
	emptyItem  = regexp.MustCompile(`^(?:[0-9]*[.)]|\[ ?\]?|\]|)$`)
	definition = regexp.MustCompile(`^\[[^\]^].*\]:`)
)

func structural(s string) bool {
	s = strings.Trim(s, " \t\x00")
	bare := strings.NewReplacer(" ", "", "\t", "").Replace(s)
	hashes := s[:len(s)-len(strings.TrimLeft(s, "#"))]
	heading := hashes != "" && len(hashes) <= 6 && (hashes == s || strings.ContainsAny(s[len(hashes):][:1], " \t"))
	empty := strings.Trim(s, blanks+"-*+•\x00")
	return emptyItem.MatchString(empty) || definition.MatchString(s) || heading || len(bare) >= 3 && strings.Trim(bare, bare[:1]) == "" && strings.IndexByte("-*_=", bare[0]) >= 0 ||
		strings.EqualFold(strings.Trim(s, "_*. \t"), "no entries yet")
}

// underlined tells whether the paragraph that goes on in the lines is a heading.
func underlined(rest []string) bool {
	for _, s := range rest {
		s = strings.Trim(s, " \t\x00")
		if s == "" {
			return false
		}
		if len(s) >= 3 && (strings.Trim(s, "=") == "" || strings.Trim(s, "-") == "") {
			return true
		}
	}
	return false
}

// fragments are what bodies are made of in random tests.
var fragments = []string{
	"- a", "  - b", "* c", "10. d", "text", "wrapped", "    code", "\t- tab", "", "", "   ", "# h", "## ", "===", "---", "* * *", "```", "~~~", "````sh", "  ```",
	"> quote", ">", "| t |", "<!-- c", "-->", "<!-- d -->", "Why: w", "**Why:**", "- **How to apply:** h:", "  How_to_apply: i", "_No entries yet._",
	"-", "- ```", "- <!--", "\u00a0", "[[x]]", "[a](b.md)", "[r]: c.md", "é\u202e", "1986. y", "• p", "- - - z",
}

func TestEntriesProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 30).Draw(rt, "lines")
		ends := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(rt, "line end")
		d := memory.Parse([]byte("---\nname: n\n---\n" + strings.Join(parts, ends)))
		checkEntries(t, d)
		checkLinks(t, d)
	})
}

// A body of nothing but marks is read like any other: what is not linear here
// does not end within the time of a test run.
func TestEntriesHostile(t *testing.T) {
	for i, unit := range hostileUnits {
		d := memory.Parse([]byte(strings.Repeat(unit, hostileBytes(i)/len(unit))))
		es := memory.Entries(d)
		last := 0
		for _, e := range es {
			if e.Span.Start < last || e.Span.End > d.Body.End {
				t.Fatalf("%q: entry %v behind %d", unit, e.Span, last)
			}
			last = e.Span.End
		}
	}
}

// hostileBytes is the size of a body of the unit: the first few are as long as a
// file can be.
func hostileBytes(unit int) int {
	if unit < 4 {
		return memory.MaxFileBytes
	}
	return memory.MaxFileBytes / 16
}

var hostileUnits = []string{
	"- ", "- \n", "[", "[[", "-\n", "- - a\n", "- ```a\n```\n", "- ```a\n  ```\n", "[]", "[](", "[](<", "[](a \"", "[](a (", "[](a '\"", "]", "](", "]]", "![", "[[a", "[[a]", "[a]: b\n", "[a][", "[[a]][", "`", "`a``", "<", "<a:", "<!--", "<!--\n",
	"<!-- -->\n", "-->", "```a\n", "- ```a\n", "  ```a\n", "~~~\n```\n", ">", "> ", "> > \n", "\\", "\\[", "Why:\n", "Why: a\n\n", "- Why:\n", "**", "__", "#", "# \n", "=\n", "a\n===\n", "a\n", "\n", "\r", "\t", "\t- a\n", " ", "1. ", "1.\n", "|", "(", ")", "[a](b.md) ", "[[b]] ", "\x00", "\xff",
}

func FuzzEntries(f *testing.F) {
	for _, s := range hostileUnits {
		f.Add([]byte(strings.Repeat(s, 5)))
	}
	f.Add([]byte(strings.Join(fragments, "\n")))
	f.Add([]byte("---\r\nname: n\r\n---\r\n" + strings.Join(fragments, "\r\n")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		checkEntries(t, memory.Parse(raw))
	})
}
