package memory_test

import (
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

func TestPARSE_01_UnquotedColon(t *testing.T) {
	d := memory.Parse([]byte(lines("---", "name: L2 Governance Core (Split: Core)", "type: project", "---", "body")))
	if d.Title != "L2 Governance Core (Split: Core)" || d.Type != "project" || d.BodyText() != "body" {
		t.Errorf("%+v", d)
	}
	wantCodes(t, d, memory.ProblemSyntax)
	if p := d.Problems[0]; d.Text[p.Span.Start:p.Span.End] != "L2 Governance Core (Split: Core)" || p.Severity != memory.SeverityWarning {
		t.Errorf("problem %+v is not a warning at the value", p)
	}
}

func TestPARSE_03_ByteOrderMark(t *testing.T) {
	file := lines("---", "name: n", "description: found by this", "---", "b")
	plain, marked := memory.Parse([]byte(file)), memory.Parse([]byte("\uFEFF"+file))
	if plain.Text != marked.Text || plain.Description != marked.Description || plain.Header != marked.Header || plain.Body != marked.Body {
		t.Errorf("%+v\n%+v", plain, marked)
	}
	if plain.BOM || !marked.BOM {
		t.Error("a writer could not keep the mark")
	}
}

func TestPARSE_04_LineEnds(t *testing.T) {
	for name, file := range map[string]string{
		"CRLF":                       "---\r\nname: n\r\ndescription: d\r\n---\r\n\r\nbody\r\n",
		"CR":                         "---\rname: n\rdescription: d\r---\r\rbody\r",
		"CRLF header, LF body":       "---\r\nname: n\r\ndescription: d\r\n---\n\nbody\n",
		"fence at the end":           "---\r\nname: n\r\ndescription: d\r\n---",
		"CRLF read line by line":     "---\r\nname: n\r\ndescription: d\r\nx: a: b\r\n---\r\nbody",
		"no line end after the body": "---\nname: n\ndescription: d\n---\nbody",
	} {
		d := memory.Parse([]byte(file))
		want := "body"
		if strings.HasSuffix(file, "---") {
			want = ""
		}
		if d.Title != "n" || d.Description != "d" || d.BodyText() != want || d.Text != file {
			t.Errorf("%s: %+v", name, d)
		}
		checkDocument(t, d)
	}
}

func TestPARSE_05_RulesAreNoHeader(t *testing.T) {
	for _, file := range []string{
		"---\nACME LEGAL PLLC\n---\nRetainer is 4,000",
		"---\n- a\n- b\n---\nx",
		"---\n\"quoted\"\n---\nx",
		"---\nThe meeting: we agreed on\nthree things: \"a\", b and\nname: of the product\n---\nx",
		"---\nprose first\nname: n\n---\nx",
		"---\ntext that is never\nfollowed by a rule",
		"---\n[a, b\n---\nx",
		"----\nname: n\n----\nx",
	} {
		d := memory.Parse([]byte(file))
		if d.BodyText() != file || d.Header.Len() != 0 || d.Title != "" {
			t.Errorf("%q: header %v, body %q, title %q", file, d.Header, d.BodyText(), d.Title)
		}
		wantCodes(t, d)
	}
}

// What writers later need: the broken header stays whole in the text, with its
// span.
func TestPARSE_08_BrokenHeaderIsKept(t *testing.T) {
	header := lines("---", "name: n", `description: "abc "def" ghi"`, "tags: [x]", "status: active", "---")
	d := memory.Parse([]byte(header + "\nbody\n"))
	if got := d.Text[d.Header.Start:d.Header.End]; got != header {
		t.Errorf("header %q", got)
	}
	if d.Description != `abc "def" ghi` || d.Status != memory.StatusActive {
		t.Errorf("%+v", d)
	}
	wantCodes(t, d, memory.ProblemSyntax)
}

func TestPARSE_09_TypeUnderMetadata(t *testing.T) {
	d := memory.Parse([]byte(lines("---", "name: r", "description: d", "metadata:", "  node_type: memory", "  type: feedback", "  originSessionId: s1", "---", "b")))
	if d.Type != "feedback" || !d.TypeGiven || d.OriginSession != "s1" {
		t.Errorf("%+v", d)
	}
	wantCodes(t, d)
}

func TestPARSE_10_AnchorsAndComments(t *testing.T) {
	header := lines("---", "# written by hand", "owner: &a Ada Lovelace", "name: *a", "description: |", "  two", "  lines", "custom: {deep: [1, 2]}", "---")
	d := memory.Parse([]byte(header + "b"))
	if d.Title != "Ada Lovelace" || d.Description != "two lines" || d.Text[d.Header.Start:d.Header.End] != header {
		t.Errorf("%+v", d)
	}
	wantCodes(t, d)
}

func TestPARSE_12_PlainNotesAreNoProblem(t *testing.T) {
	files := []string{"a note", "# Title\n\ntext\n", "text\n\n---\n\nmore: text\n", "- a\n- b\n", "key: value\nother: value\n", "> quote", "---\n", "***\n\ntext"}
	for _, file := range files {
		d := memory.Parse([]byte(file))
		wantCodes(t, d)
		if d.BodyText() != strings.TrimSpace(file) {
			t.Errorf("%q: body %q", file, d.BodyText())
		}
	}
	wantCodes(t, memory.Parse([]byte("---\nname: n\n\tdescription: [d\n---\nb")), memory.ProblemSyntax)
}

func TestSCAN_08_FenceIsNoTitle(t *testing.T) {
	d := memory.Parse([]byte("---\nname: auth-rewrite\ndescription: driven by compliance\ntype: project\n---\nSession tokens moved"))
	if d.Title != "auth-rewrite" || d.Description != "driven by compliance" || d.BodyText() != "Session tokens moved" {
		t.Errorf("%+v", d)
	}
}

// hostile are headers and bodies that are made to cost time or memory.
func hostile() map[string]string {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		prev, next := string(rune('0'+i)), string(rune('1'+i))
		bomb += "a" + next + ": &a" + next + " [" + strings.TrimSuffix(strings.Repeat("*a"+prev+", ", 9), ", ") + "]\n"
	}
	deep := strings.Builder{}
	for i := range 300 {
		deep.WriteString(strings.Repeat(" ", i) + "k:\n")
	}
	head := func(s string) string { return "---\nname: n\n" + s + "\n---\nbody\n" }
	return map[string]string{
		"alias bomb":          head(bomb),
		"few aliases, large":  head("a: &a [" + strings.Repeat("x, ", 10_000) + "x]\nb: [*a, *a, *a, *a]\nkeywords: *a"),
		"alias of itself":     head("a: &a [*a]\nkeywords: *a"),
		"metadata of itself":  head("metadata: &m\n  metadata: *m\n  type: user"),
		"10k brackets":        head("a: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)),
		"10k braces":          head("a: " + strings.Repeat("{a: ", 10_000)),
		"10k dashes":          head("a:\n  " + strings.Repeat("- ", 10_000) + "x"),
		"300 levels":          head(deep.String()),
		"100k keys":           head(strings.Repeat("kkkk: v\n", 100_000)),
		"100k known keys":     head(strings.Repeat("name: v\n", 100_000)),
		"100k keywords":       head("keywords: [" + strings.Repeat("k, ", 100_000) + "]"),
		"100k broken lines":   head("x: a: b\n" + strings.Repeat("nope\n", 100_000)),
		"1 MB description":    head("description: " + strings.Repeat("x ", 500_000)),
		"1 MB of quotes":      head("description: " + strings.Repeat(`"`, 1_000_000)),
		"1 MB of backslashes": head("description: \"" + strings.Repeat(`\`, 1_000_000)),
		"1 MB of blank lines": strings.Repeat("\n", 1<<20),
		"1 MB of CR":          "---" + strings.Repeat("\r", 1<<20),
		"1 MB of fences":      strings.Repeat("---\n", 1<<18),
		"1 MB of colons":      "---\n" + strings.Repeat(":", 1<<20-10),
		"a^50k":               "# h\n" + strings.Repeat("a", 50_000) + "!",
		"50k of emphasis":     "# " + strings.Repeat("*", 50_000),
		"headings":            strings.Repeat("#", 1<<20),
		"NUL":                 strings.Repeat("\x00", 1<<20),
		"invalid":             strings.Repeat("\xff", 1<<20),
		"combining":           head("name: a" + strings.Repeat("\u0301", 300_000)),
		"merge":               head("<<: {name: m}\n? [a]\n: b\n? name\n: n"),
		"document end inside": head("type: user\n...\nname: x"),
		"directive":           head("%YAML 1.2"),
		"tagged binary":       head("description: !!binary aGk="),
	}
}

func TestPERF_05_HostileFiles(t *testing.T) {
	for name, file := range hostile() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			d := memory.Parse([]byte(file))
			runtime.ReadMemStats(&after)
			checkDocument(t, d)
			// The text itself, its cleaned copies, and one header's worth of nodes.
			if n := after.TotalAlloc - before.TotalAlloc; n > 24<<20 {
				t.Errorf("%d bytes allocated for a file of %d", n, len(file))
			}
			if strings.HasPrefix(file, "---\nname: n\n") && d.Title != "n" {
				t.Errorf("title %.80q", d.Title)
			}
		})
	}
}

func TestBoundsAreReported(t *testing.T) {
	h := hostile()
	for name, code := range map[string]string{
		"alias bomb": memory.ProblemTooComplex, "10k brackets": memory.ProblemTooComplex, "10k dashes": memory.ProblemTooComplex,
		"100k keys": memory.ProblemTooComplex, "1 MB description": memory.ProblemLong, "100k keywords": memory.ProblemLong,
		"100k broken lines": memory.ProblemUnclosed, "100k known keys": memory.ProblemTooComplex, "invalid": memory.ProblemEncoding,
	} {
		if d := memory.Parse([]byte(h[name])); !slices.Contains(codes(d), code) {
			t.Errorf("%s: problems %q, want %s", name, codes(d), code)
		}
	}
	d := memory.Parse([]byte("---\nname: n\n" + strings.Repeat("x: a: b\n", 100) + "---\n"))
	if got := codes(d); len(got) != 33 || got[32] != memory.ProblemMoreProblems {
		t.Errorf("problems %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range hostile() {
		if len(s) < 4_000 {
			f.Add([]byte(s))
		}
	}
	for _, s := range []string{
		"---\nname: L2 (Split: Core)\n---\nbody", "---\r\nname: n # x\r\n---\r\n", "\uFEFF---\nname: n\n---\n", "---\nname: \"a \\\" b\"\nkeywords: [a, 'b']\nmetadata: \n  type: user\n---\n",
		"---\ndescription: >-\n  a\n  b\n---\n# h #\n", "---\nname: 'x\n", "\xff\xfe-\x00-\x00-\x00\n\x00", "---\nname:\u2028x\ndescription: y # z\n---\n",
	} {
		f.Add([]byte(s))
	}
	f.Add(utf16Bytes("---\nname: n\n---\n", binary.BigEndian))
	f.Add([]byte("\uFEFF000\x000\x000"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 1<<17 {
			return
		}
		d := memory.Parse(raw)
		checkDocument(t, d)
		if again := memory.Parse(raw); again.Title != d.Title || again.Body != d.Body || again.Version != d.Version {
			t.Fatal("two parses differ")
		}
		// The cost, counted: what is allocated stays in proportion to the input.
		if len(raw) > 1<<12 {
			n := testing.AllocsPerRun(1, func() { memory.Parse(raw) })
			if limit := float64(40*len(raw) + 20_000); n > limit {
				t.Fatalf("%.0f allocations for %d bytes", n, len(raw))
			}
		}
		// The text of a document is a file like any other, unless its NULs make it
		// look like UTF-16 when no mark says what it is.
		if !d.Lossy && !d.Truncated && !strings.Contains(d.Text, "\x00") {
			if e := memory.Parse([]byte(d.Text)); !strings.HasPrefix(d.Text, "\uFEFF") && (e.Title != d.Title || e.Body != d.Body || e.Header != d.Header) {
				t.Fatalf("text parses as another document:\n%+v\n%+v", d, e)
			}
		}
	})
}
