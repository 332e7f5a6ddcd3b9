package memory_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/memls/memls/memory"
)

// lines joins what a file consists of.
func lines(s ...string) string { return strings.Join(s, "\n") + "\n" }

func codes(d *memory.Document) []string {
	var out []string
	for _, p := range d.Problems {
		out = append(out, p.Code)
	}
	return out
}

func wantCodes(t *testing.T, d *memory.Document, want ...string) {
	t.Helper()
	if got := codes(d); !slices.Equal(got, want) {
		t.Errorf("problems %q, want %q (%+v)", got, want, d.Problems)
	}
}

func utf16Bytes(s string, order binary.ByteOrder) []byte {
	b := make([]byte, 0, 2*len(s)+2)
	for _, u := range append([]uint16{0xFEFF}, utf16.Encode([]rune(s))...) {
		b = binary.BigEndian.AppendUint16(b, u)
		if order == binary.LittleEndian {
			n := len(b)
			b[n-1], b[n-2] = b[n-2], b[n-1]
		}
	}
	return b
}

// The deviations of real files, each in a file of its own.
func TestParseRealFiles(t *testing.T) {
	type want struct {
		title, description, kind, body string
		problems                       []string
	}
	tests := []struct {
		name, file string
		want       want
	}{
		{"as documented", lines("---", "name: deploy-window", "description: When releases go out", "type: project", "---", "", "Tuesdays."),
			want{"deploy-window", "When releases go out", "project", "Tuesdays.", nil}},
		{"type under metadata with a trailing space", lines("---", "name: r", "description: d", "metadata: ", "  node_type: memory", "  type: feedback", "  originSessionId: 5e55", "---", "b"),
			want{"r", "d", "feedback", "b", nil}},
		{"free text name", lines("---", "name: Ada prefers short answers", "type: user", "---", "b"),
			want{"Ada prefers short answers", "", "user", "b", nil}},
		{"double quotes with escapes", lines("---", `name: q`, `description: "say \"please\", caf\u00e9"`, "---", "b"),
			want{"q", `say "please", café`, "", "b", nil}},
		{"single quotes", lines("---", `name: 'it''s'`, "---", "b"),
			want{"it's", "", "", "b", nil}},
		{"broken quotes inside", lines("---", `name: n`, `description: "the "old" way"`, "type: user", "---", "b"),
			want{"n", `the "old" way`, "user", "b", []string{memory.ProblemSyntax}}},
		{"broken quote at the start", lines("---", `name: n`, `description: "never closed`, "type: user", "---", "b"),
			want{"n", `never closed`, "user", "b", []string{memory.ProblemSyntax}}},
		{"colon in an unquoted description", lines("---", "name: n", "description: Rule: never force push", "---", "b"),
			want{"n", "Rule: never force push", "", "b", []string{memory.ProblemSyntax}}},
		{"hash in an unquoted value", lines("---", "name: n", "description: fixes issue #12 and #13", "type: project # set by hand", "---", "b"),
			want{"n", "fixes issue #12 and #13", "project", "b", []string{memory.ProblemCut}}},
		{"hash and colon", lines("---", "name: n", "description: see: issue #12", "type: project # why: x", "---", "b"),
			want{"n", "see: issue #12", "project", "b", []string{memory.ProblemSyntax, memory.ProblemSyntax}}},
		{"no frontmatter", lines("# Release notes", "", "Ship on Tuesdays."),
			want{"Release notes", "", "", "# Release notes\n\nShip on Tuesdays.", nil}},
		{"no frontmatter, no heading", "just text",
			want{"", "", "", "just text", nil}},
		{"rule inside the body", lines("---", "name: n", "---", "above", "", "---", "", "below"),
			want{"n", "", "", "above\n\n---\n\nbelow", nil}},
		{"no type, no description", lines("---", "name: n", "---", "b"), want{"n", "", "", "b", nil}},
		{"no name", lines("---", "description: d", "---", "# From the text", "b"),
			want{"From the text", "d", "", "# From the text\nb", nil}},
		{"title alias", lines("---", "title: t", "---", "b"), want{"t", "", "", "b", nil}},
		{"type outside the four", lines("---", "name: n", "type: architecture", "---", "b"),
			want{"n", "", "architecture", "b", []string{memory.ProblemType}}},
		{"type in capitals", lines("---", "name: n", "type: Feedback", "---", "b"), want{"n", "", "feedback", "b", nil}},
		{"blank lines before the fence", "\n \t\n---\nname: n\n---\nb\n", want{"n", "", "", "b", nil}},
		{"white space before the fence", "  ---\nname: n\n---\nb\n", want{"n", "", "", "b", nil}},
		{"zero-width space before the fence", "\u200b---\nname: n\n---\nb\n", want{"n", "", "", "b", []string{memory.ProblemInvisible}}},
		{"fences with trailing spaces", "---  \nname: n\n--- \t\nb\n", want{"n", "", "", "b", nil}},
		{"fence never closed", lines("---", "name: n", "description: d", "type: user", "", "The text: here."),
			want{"n", "d", "user", "The text: here.", []string{memory.ProblemUnclosed}}},
		{"fence never closed, then a rule far below", lines("---", "name: n", "type: user", "", "prose without any key", "more of it", "and more", "", "---", "end"),
			want{"n", "", "user", "prose without any key\nmore of it\nand more\n\n---\nend", []string{memory.ProblemUnclosed}}},
		{"closing fence at the end of the file", "---\nname: n\ndescription: d\n---", want{"n", "d", "", "", nil}},
		{"folded description", lines("---", "name: n", "description: >-", "  one", "  two", "type: user", "---", "b"),
			want{"n", "one two", "user", "b", nil}},
		{"plain scalar over two lines", lines("---", "name: n", "description: one", "  two", "---", "b"),
			want{"n", "one two", "", "b", nil}},
		{"zero-width and bidi characters", lines("---", "name: sa\u200bfe\u202e\u2066 name", "---", "b\u200b"),
			want{"safe name", "", "", "b", []string{memory.ProblemInvisible, memory.ProblemBidi, memory.ProblemBidi, memory.ProblemInvisible}}},
		{"replacement character in the file", lines("---", "name: a\uFFFDb", "---", "b\uFFFD"),
			want{"a\uFFFDb", "", "", "b\uFFFD", []string{memory.ProblemDamaged, memory.ProblemDamaged}}},
		{"number and boolean as texts", lines("---", "name: 2024", "description: yes", "---", "b"),
			want{"2024", "yes", "", "b", nil}},
		{"brackets as text", lines("---", "name: [draft] plan", "description: [a, b]", "---", "b"),
			want{"[draft] plan", "[a, b]", "", "b", []string{memory.ProblemSyntax, memory.ProblemShape}}},
		{"words that look like an anchor and a tag", lines("---", "name: &co partners", "description: !urgent call", "---", "b"),
			want{"&co partners", "!urgent call", "", "b", nil}},
		{"colon without a blank", lines("---", "name:n", "type:user", "---", "b"),
			want{"n", "", "user", "b", []string{memory.ProblemSyntax, memory.ProblemSyntax}}},
		{"tab in the header", lines("---", "name: n", "metadata:", "\ttype: user", "---", "b"),
			want{"n", "", "user", "b", []string{memory.ProblemSyntax}}},
		{"text between the keys", lines("---", "name: n: m", "type: user", "the walrus is grey", "- and large", "---", "b"),
			want{"n: m", "the walrus is grey and large", "user", "b", []string{memory.ProblemSyntax, memory.ProblemSyntax, memory.ProblemSyntax}}},
		{"wrapped without indentation", lines("---", "name: n", "description: one: and", "two", "---", "b"),
			want{"n", "one: and two", "", "b", []string{memory.ProblemSyntax, memory.ProblemSyntax}}},
		{"empty header", "---\n---\nb\n", want{"", "", "", "b", nil}},
		{"duplicate key", lines("---", "name: first", "name: second", "---", "b"), want{"first", "", "", "b", []string{memory.ProblemRepeated}}},
		{"key without value", lines("---", "name:", "title: t", "description: ~", "---", "b"), want{"t", "", "", "b", nil}},
		{"long line", lines("---", "name: n", "---", strings.Repeat("x", 9000)), want{"n", "", "", strings.Repeat("x", 9000), nil}},
		{"code block first", "---\nname: n\n---\n\n    indented code\nb\n", want{"n", "", "", "    indented code\nb", nil}},
		{"heading in a code fence is none", "```\n# no\n```\n\n## *Yes* really ##\n", want{"*Yes* really", "", "", "```\n# no\n```\n\n## *Yes* really ##", nil}},
		{"underlined heading", "Over\n====\n\ntext\n", want{"Over", "", "", "Over\n====\n\ntext", nil}},
		{"empty file", "", want{}},
		{"only white space", " \n\r\n\t", want{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, eol := range []string{"\n", "\r\n", "\r"} {
				d := memory.Parse([]byte(strings.ReplaceAll(tt.file, "\n", eol)))
				body := strings.ReplaceAll(tt.want.body, "\n", eol)
				if d.Title != tt.want.title || d.Description != tt.want.description || d.Type != tt.want.kind || d.BodyText() != body {
					t.Errorf("eol %q:\n got %q %q %q %.200q\nwant %q %q %q %.200q", eol,
						d.Title, d.Description, d.Type, d.BodyText(), tt.want.title, tt.want.description, tt.want.kind, body)
				}
				for _, p := range d.Problems {
					if strings.Contains(p.Message, "nil") || strings.Contains(p.Message, "yaml:") {
						t.Errorf("a problem in a library's words: %q", p.Message)
					}
				}
				if d.TypeGiven != (tt.want.kind != "") {
					t.Errorf("eol %q: TypeGiven %v", eol, d.TypeGiven)
				}
				wantCodes(t, d, tt.want.problems...)
				checkDocument(t, d)
			}
		})
	}
}

// checkDocument holds what is true of every parsed document.
func checkDocument(t *testing.T, d *memory.Document) {
	t.Helper()
	for _, s := range append([]string{d.Text, d.Title, d.Description, d.Type, d.Category, d.ID, d.OriginSession},
		slices.Concat(d.Keywords, d.Scenarios, d.Supersedes)...) {
		if !utf8.ValidString(s) {
			t.Fatalf("not UTF-8: %q", s)
		}
	}
	for _, s := range append([]string{d.Title, d.Description, d.Type, d.Category}, d.Keywords...) {
		if s != memory.CleanLine(s) {
			t.Fatalf("not a clean line: %q", s)
		}
	}
	spans := []memory.Span{d.Header, d.Body}
	for _, p := range d.Problems {
		spans = append(spans, p.Span)
	}
	for _, a := range memory.Anchors(d) {
		if a.Name == "" || strings.ContainsAny(a.Name, " \t\r\n\x00`<>|") || a.Line < 0 {
			t.Fatalf("an anchor named %q, line %d", a.Name, a.Line)
		}
		spans = append(spans, a.Span)
	}
	for _, s := range spans {
		if s.Start < 0 || s.End < s.Start || s.End > len(d.Text) {
			t.Fatalf("span %v outside the text of %d bytes", s, len(d.Text))
		}
		if !utf8.ValidString(d.Text[s.Start:s.End]) {
			t.Fatalf("span %v splits a character", s)
		}
	}
	if d.Body.Len() > 0 && d.Body.Start < d.Header.End {
		t.Fatalf("body %v begins inside the header %v", d.Body, d.Header)
	}
	if len(d.Title) > 4*512 || len(d.Description) > 4*4096 || len(d.Keywords) > 128 || len(d.Problems) > 34 {
		t.Fatal("a bound is broken")
	}
}

func TestParseKeys(t *testing.T) {
	header := []string{
		"name: All keys", "description: d", "type: reference", "category: tech_stack",
		"keywords: [Go, \"C++\", go, Go]", "usage_scenarios:", "  - writing code, in Go", "  - reviewing",
		"pinned: yes", "status: superseded", "expires_at: 2031-05-06", "supersedes: old-a.md, old-b.md",
		"created_at: 2024-01-02T03:04:05+02:00", "updated_at: 2024-02-03 04:05:06", "last_verified_at: 2024/03/04",
		"id: mem-1", "custom: kept", "metadata:", "  originSessionId: s-9", "  modified: 2020-01-01",
	}
	broken := append(slices.Clone(header), "note: a: b")
	for name, h := range map[string][]string{"yaml": header, "tolerant": broken} {
		t.Run(name, func(t *testing.T) {
			d := memory.Parse([]byte(lines(append(append([]string{"---"}, h...), "---", "b")...)))
			checkDocument(t, d)
			type times struct{ created, updated, verified, expires string }
			at := func(tm time.Time) string { return tm.Format(time.RFC3339) }
			got := times{at(d.CreatedAt), at(d.UpdatedAt), at(d.LastVerifiedAt), at(d.ExpiresAt)}
			want := times{"2024-01-02T01:04:05Z", "2024-02-03T04:05:06Z", "2024-03-04T00:00:00Z", "2031-05-07T00:00:00Z"}
			if got != want {
				t.Errorf("times %v, want %v", got, want)
			}
			if d.Category != "tech_stack" || d.ID != "mem-1" || d.OriginSession != "s-9" || !d.Pinned || d.Status != memory.StatusSuperseded {
				t.Errorf("%+v", d)
			}
			if want := []string{"Go", "C++", "go"}; !slices.Equal(d.Keywords, want) {
				t.Errorf("keywords %q, want %q", d.Keywords, want)
			}
			if want := []string{"writing code, in Go", "reviewing"}; !slices.Equal(d.Scenarios, want) {
				t.Errorf("scenarios %q, want %q", d.Scenarios, want)
			}
			if want := []string{"old-a.md", "old-b.md"}; !slices.Equal(d.Supersedes, want) {
				t.Errorf("supersedes %q, want %q", d.Supersedes, want)
			}
			if !strings.Contains(d.Text, "custom: kept") {
				t.Error("an unknown key is lost")
			}
		})
	}
}

func TestParseLists(t *testing.T) {
	tests := []struct {
		value string
		want  []string
	}{
		{"a, b; c", []string{"a", "b", "c"}},
		{"甲、乙，丙", []string{"甲", "乙", "丙"}},
		{"[a, 'b, c', \"d\"]", []string{"a", "b, c", "d"}},
		{"[a, b: c, \"d\"", []string{"[a", "b: c", "d"}},
		{"\n- a\n- 'b'", []string{"a", "b"}},
		{"\n  - a\n  - b: c: d", []string{"a", "b: c: d"}},
		{"", nil},
		{"one", []string{"one"}},
	}
	for _, tt := range tests {
		d := memory.Parse([]byte("---\nname: n\nkeywords: " + tt.value + "\n---\n"))
		if !slices.Equal(d.Keywords, tt.want) {
			t.Errorf("%q: %q, want %q", tt.value, d.Keywords, tt.want)
		}
		checkDocument(t, d)
	}
}

func TestParseDates(t *testing.T) {
	const day, instant = "2026-03-04T00:00:00Z", "2026-03-04T05:06:07Z"
	tests := map[string]string{
		"2026-03-04": day, "2026/03/04": day, "20260304": day, "4.3.2026": day, "4 Mar 2026": day, "March 4, 2026": day, "2026-3-4": day, "2026年3月4日": day,
		"2026-03-04T05:06:07Z": instant, "2026-03-04T05:06:07.000Z": instant, "2026-03-04 05:06:07": instant, "2026-03-04T06:06:07+01:00": instant,
		"2026-03-04 06:06:07 +0100": instant, "\"2026-03-04T05:06:07\"": instant, "Wed, 04 Mar 2026 05:06:07 GMT": instant,
		"Wed Mar 04 2026 06:06:07 GMT+0100 (Central European Standard Time)": instant,
		"1772600767": instant, "1772600767000": instant, "2026-03-04 # checked": day,
		"03/04/2026": "", "soon": "", "2026-13-40": "", "99999999999999": "", "-1": "",
	}
	for in, want := range tests {
		d := memory.Parse([]byte("---\nname: n\nupdated_at: " + in + "\n---\n"))
		got := ""
		if !d.UpdatedAt.IsZero() {
			got = d.UpdatedAt.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if bad := slices.Contains(codes(d), memory.ProblemDate); bad != (want == "") {
			t.Errorf("%q: problems %q", in, codes(d))
		}
	}
}

func TestDocumentTimes(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	parse := func(header string) *memory.Document {
		return memory.Parse([]byte("---\nname: n\n" + header + "\n---\nb"))
	}
	active := map[string]bool{
		"": true, "status: active": true, "status: Expired": false, "status: superseded": false, "status: done": true,
		"expires_at: 2026-01-01": false, "expires_at: 2026-01-02": true, "expires_at: 2026-01-02T11:59:59Z": false, "expires_at: never": true,
	}
	for header, want := range active {
		if got := parse(header).ActiveAt(now); got != want {
			t.Errorf("%q: active %v, want %v", header, got, want)
		}
	}
	d := parse("metadata:\n  modified: 2025-05-05")
	d.ModTime = now
	if want := time.Date(2025, 5, 5, 0, 0, 0, 0, time.UTC); !d.Fact().Equal(want) {
		t.Errorf("fact of a dated memory: %v", d.Fact())
	}
	d = parse("")
	if d.ModTime = now; !d.Fact().Equal(now) {
		t.Errorf("fact of an undated memory: %v", d.Fact())
	}
}

func TestDocumentEmpty(t *testing.T) {
	tests := map[string]bool{
		"":    true,
		"\n ": true,
		"---\nname: User\ndescription: Who the user is\ntype: user\n---\n\n# User Memory\n\n_No entries yet._\n": true,
		"_No entries yet._":                             true,
		"---\nname: n\n---\n":                           true,
		"---\nname: n\ndescription: says it all\n---\n": false,
		"# Buy milk\n":                                  false,
		"_No entries yet._\n\n- one after all\n":        false,
	}
	for file, want := range tests {
		if got := memory.Parse([]byte(file)).Empty(); got != want {
			t.Errorf("%q: empty %v, want %v", file, got, want)
		}
	}
}

// Unknown keys are told of when they look like a misspelling of a known one that
// is missing, and else left to the programs that they belong to.
func TestParseMisspeltKeys(t *testing.T) {
	meant := map[string]string{
		"expires": "expires_at", "expiresAt": "expires_at", "Expires At": "expires_at", "updated": "updated_at", "last-verified": "last_verified_at",
		"namee": "name", "nmae": "name", "descripton": "description", "keyword": "keywords", "usage_scenario": "usage_scenarios", "usageScenarios": "usage_scenarios",
		"pined": "pinned", "staus": "status", "superseeds": "supersedes", "catgory": "category",
	}
	for key, want := range meant {
		for form, raw := range map[string]string{
			"yaml":  "---\ntype: user\n" + key + ": 2026-01-01\n---\nBody.\n",
			"lines": "---\ntype: user\nmodified: [2026\n" + key + ": 2026-01-01\n---\nBody.\n",
			"open":  "---\ntype: user\n" + key + ": 2026-01-01\n\nBody.\n",
		} {
			d := memory.Parse([]byte(raw))
			var found []string
			for _, p := range d.Problems {
				if p.Code == memory.ProblemKey {
					found = append(found, p.Message)
					if p.Severity != memory.SeverityInfo || !strings.Contains(d.Text[p.Span.Start:p.Span.End], key) {
						t.Errorf("%s, %s: %+v", key, form, p)
					}
				}
			}
			if len(found) != 1 || !strings.Contains(found[0], "did you mean "+want+"?") {
				t.Errorf("%s, %s: %q, want %s", key, form, found, want)
			}
		}
	}
	for _, key := range []string{"tags", "aliases", "date", "created", "author", "source", "summary", "globs", "paths", "game", "hype", "state", "model", "license", "version", "scope", "priority", "темы"} {
		wantCodes(t, memory.Parse([]byte("---\ntype: user\n"+key+": x\n---\nBody.\n")))
	}
	// What is there in its right spelling is not missed.
	wantCodes(t, memory.Parse([]byte("---\nname: a\nnames: b\nupdated_at: 2026-01-01\nupdated: never\n---\n")))
	wantCodes(t, memory.Parse([]byte("---\nmetadata:\n  type: user\n  expires: 2026-01-01\n---\n")), memory.ProblemKey)
}

// UTF-16 is read without a byte order mark, too, and a problem says so.
func TestParseUnmarkedUTF16(t *testing.T) {
	texts := map[string]string{
		"latin":    "---\nname: Größe\n---\nThe kestrel vault.\n",
		"cyrillic": "---\nname: Пустельга\n---\nРезервные копии хранятся здесь.\r\n",
		"chinese":  "退款 上一次 可以取消吗\n 只有在出发前二十四小时\n",
		"hindi":    "क्या टिकट वापस हो सकता है\nहाँ, 24 घंटे पहले तक\n",
		"gurmukhi": "ਕੀ ਟਿਕਟ ਵਾਪਸ ਹੋ ਸਕਦੀ ਹੈ\n",
		"thai":     "จองที่นั่งไว้ได้นานเท่าไร\n สิบห้านาที\n",
		"emoji":    "𝄞𝄞𝄞 😀 😀\n",
		"short":    "a\n",
	}
	for name, text := range texts {
		for order, enc := range map[binary.ByteOrder]memory.Encoding{binary.LittleEndian: memory.UTF16LE, binary.BigEndian: memory.UTF16BE} {
			d := memory.Parse(utf16Bytes(text, order)[2:])
			if d.Text != text || d.Encoding != enc || d.BOM || d.Lossy {
				t.Errorf("%s, %s: %q as %s", name, enc, d.Text, d.Encoding)
			}
			wantCodes(t, d, memory.ProblemUnmarked)
		}
	}
	// Also when the head of a long file ends inside a character.
	long := utf16Bytes("a"+strings.Repeat("𝄞 ", memory.MaxFileBytes/4), binary.LittleEndian)[2:]
	if d := memory.Parse(long); d.Encoding != memory.UTF16LE || d.Lossy || !d.Truncated {
		t.Errorf("long: %s, lossy %v", d.Encoding, d.Lossy)
	}
}

// Stray NULs make no other encoding of a text.
func TestParseNULs(t *testing.T) {
	for _, raw := range []string{
		"The kestrel\x00vault\n", "abc\x00def\x00ghi\n", "\x00\x00\x00\x00\x00\x00", "a\x00\x00b", strings.Repeat("退款\x00", 40), "x\x00" + strings.Repeat("kestrel ", 900) + "\x00",
	} {
		d := memory.Parse([]byte(raw))
		if d.Text != raw || d.Encoding != memory.UTF8 || len(d.Problems) == 0 || d.Problems[0].Code != memory.ProblemControl {
			t.Errorf("%q: %q as %s, %+v", raw, d.Text, d.Encoding, d.Problems)
		}
	}
}

func TestParseEncodings(t *testing.T) {
	const file = "---\nname: Größe 𝄞\ndescription: d\n---\nΤέλος\n"
	tests := []struct {
		name  string
		raw   []byte
		enc   memory.Encoding
		bom   bool
		lossy bool
	}{
		{"utf-8", []byte(file), memory.UTF8, false, false},
		{"utf-8 with mark", []byte("\uFEFF" + file), memory.UTF8, true, false},
		{"utf-16le", utf16Bytes(file, binary.LittleEndian), memory.UTF16LE, true, false},
		{"utf-16be", utf16Bytes(file, binary.BigEndian), memory.UTF16BE, true, false},
	}
	for _, tt := range tests {
		d := memory.Parse(tt.raw)
		if d.Text != file || d.Encoding != tt.enc || d.BOM != tt.bom || d.Lossy != tt.lossy || d.Title != "Größe 𝄞" || d.BodyText() != "Τέλος" {
			t.Errorf("%s: %+v", tt.name, d)
		}
		wantCodes(t, d)
	}
	bad := map[string]string{
		"a\xffb":                        "a\uFFFDb",
		"\xff\xfea\x00\x00\xd8b\x00":    "a\uFFFDb",
		"\xff\xfea\x00\x00\xdc":         "a\uFFFD",
		"\xff\xfea\x00b":                "a\uFFFD",
		"\xef\xbb\xbf\xe2\x82":          "\uFFFD",
		"\xfe\xff\xd8\x00\xd8\x00\x00a": "\uFFFD\uFFFDa",
	}
	for raw, text := range bad {
		d := memory.Parse([]byte(raw))
		if d.Text != text || !d.Lossy {
			t.Errorf("%q: text %q, lossy %v", raw, d.Text, d.Lossy)
		}
		wantCodes(t, d, memory.ProblemEncoding)
		if p := d.Problems[0].Span; d.Text[p.Start:p.End] != "\uFFFD" {
			t.Errorf("%q: problem at %v", raw, p)
		}
	}
}

func TestParseTruncated(t *testing.T) {
	for _, tail := range []string{"", "x", "xy"} {
		raw := []byte("---\nname: big" + tail + "\n---\n" + strings.Repeat("€", memory.MaxFileBytes/3+10))
		d := memory.Parse(raw)
		if !d.Truncated || d.Lossy || len(d.Text) > memory.MaxFileBytes || d.Size != int64(len(raw)) || d.Title != "big"+tail {
			t.Errorf("truncated %v, lossy %v, %d bytes, title %q", d.Truncated, d.Lossy, len(d.Text), d.Title)
		}
		wantCodes(t, d, memory.ProblemTruncated)
		checkDocument(t, d)
	}
}

func TestVersionIsTheBytes(t *testing.T) {
	a, b := memory.Parse([]byte("a\n")), memory.Parse([]byte("\uFEFFa\n"))
	if a.Version == b.Version || a.Text != b.Text {
		t.Errorf("%q %q", a.Version, b.Version)
	}
	if want := "sha256:87428fc522803d31065e7bce3cf03fe475096631e5e07bbd7a0fde60c4cf25c7"; a.Version != want {
		t.Errorf("version %q", a.Version)
	}
}

func TestCleanLine(t *testing.T) {
	tests := map[string]string{
		"  a \t\r\n b  ":            "a b",
		"a\x00b\x1b[31m":            "ab[31m",
		"pay\u202Elap":              "paylap",
		"a\u2028b":                  "a b",
		"می\u200cخواهم":             "می\u200cخواهم",
		"👩\u200d💻 ok":               "👩\u200d💻 ok",
		"a\u200db":                  "ab",
		"\u200d\u200cx":             "x",
		"soft\u00adhyphen":          "softhyphen",
		"flag\U000E0067\U000E007Fs": "flags",
		"क्\u200dष":                 "क्\u200dष",
	}
	for in, want := range tests {
		if got := memory.CleanLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if again := memory.CleanLine(want); again != want {
			t.Errorf("%q is not stable: %q", want, again)
		}
	}
}

// TestParseLongBody: what the search does not see is said.
func TestParseLongBody(t *testing.T) {
	for _, c := range []struct {
		bytes int
		want  []string
	}{{memory.MaxSearchedBytes, nil}, {memory.MaxSearchedBytes + 2, []string{memory.ProblemTruncated}}} {
		text := strings.Repeat("é", c.bytes/2)
		d := memory.Parse([]byte(text))
		var codes []string
		for _, p := range d.Problems {
			codes = append(codes, p.Code)
		}
		if !slices.Equal(codes, c.want) {
			t.Errorf("%d bytes: problems %q, want %q", c.bytes, codes, c.want)
		}
		if sp := d.SearchedBody(); sp.Len() > memory.MaxSearchedBytes || !utf8.ValidString(d.Text[sp.Start:sp.End]) {
			t.Errorf("%d bytes: searched %v", c.bytes, sp)
		}
	}
}

// TestParseOpenHeaderBeforeAList: items below a key that has a value belong to
// the text, and are found.
func TestParseOpenHeaderBeforeAList(t *testing.T) {
	d := memory.Parse([]byte("---\nname: Deploy rules\ntype: feedback\n- never on Fridays\n- ask Henrik\n"))
	if d.Type != "feedback" || d.BodyText() != "- never on Fridays\n- ask Henrik" || len(memory.Entries(d)) != 2 {
		t.Errorf("type %q, body %q", d.Type, d.BodyText())
	}
	d = memory.Parse([]byte("---\nname: x: y\nkeywords:\n- a\n- b\ntype: user\nfree text\n---\nbody\n"))
	if !slices.Equal(d.Keywords, []string{"a", "b"}) || d.Type != "user" || d.BodyText() != "body" {
		t.Errorf("keywords %q, type %q, body %q", d.Keywords, d.Type, d.BodyText())
	}
}

// What is wrong with a header is said of the line, and of the value, that it is
// wrong in.
func TestProblemsNameTheirPlace(t *testing.T) {
	for _, c := range []struct {
		header string
		want   []string // code, and what its range covers
	}{
		{"name: n\nmetadata:\n\ttype: user", []string{"frontmatter-syntax \ttype: user"}},
		{"name: n\nkeywords:\n\t- a\n  - b", []string{"frontmatter-syntax \t- a"}},
		{"name: n\ndescription: one\n\ttwo: three", []string{"frontmatter-syntax one", "frontmatter-syntax \ttwo: three"}},
		{"name: n\nkeywords: [a, \"b, c]\ntype: user", []string{"frontmatter-syntax keywords: [a, \"b, c]"}},
		{"name: n\nkeywords: [a, b\ntype: user", []string{"frontmatter-syntax [a, b"}},
		{"name: n\ndescription:bar: baz\ntype: user", []string{"key-misspelt description:bar: baz"}},
		{"name: n: m\ndescription:bar: baz\ntype: user", []string{"frontmatter-syntax n: m", "frontmatter-syntax description:bar: baz"}},
		{"name: n\ntype:user", []string{"frontmatter-syntax type:user"}},
		{"name:n\ntype:user", []string{"frontmatter-syntax name:n", "frontmatter-syntax type:user"}},
		{"name: n\ntype: user\nextra: {a: b", []string{"frontmatter-syntax {a: b"}},
		{"name: n\nextra:\n  a: 1\n   b: 2\ntype: user", []string{"frontmatter-syntax    b: 2"}},
		{"name: n\nextra:\n  - a\n  b: 2\ntype: user", []string{"frontmatter-syntax   b: 2"}},
		{"  name: n\ntype: user", []string{"frontmatter-syntax type: user"}},
		{"name: n\n...\ntype: user", []string{"frontmatter-syntax ..."}},
		{"name: 'a' b\ntype: user", []string{"frontmatter-syntax 'a' b"}},
		{"{name: n, type: bogus, status: odd, pinned: maybe}", []string{"type-unknown bogus", "status-unknown odd", "pinned-unreadable maybe"}},
		{"name: n\nmetadata: {type: bogus, expires_at: soon}", []string{"date-unreadable soon", "type-unknown bogus"}},
		{"name: n\nmetadata: {type: \"bogus\" , x: y}", []string{`type-unknown "bogus"`}},
		{"name: n\ntype: bogus # mine", []string{"type-unknown bogus"}},
		{"name: n\nkeywords: [a, 'b: c', d: e]", []string{"value-shape d: e"}},
		{"name: n\nusage_scenarios:\n  - when: it rains\n  - it snows", []string{"value-shape when: it rains"}},
	} {
		d := memory.Parse([]byte("---\n" + c.header + "\n---\nb\n"))
		var got []string
		for _, p := range d.Problems {
			got = append(got, p.Code+" "+d.Text[p.Span.Start:p.Span.End])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q (%+v)", c.header, got, c.want, d.Problems)
		}
	}
}

// Quotes that belong to what is said stay, and items with a colon are items.
func TestReadingTakesNothingAway(t *testing.T) {
	for value, want := range map[string]string{
		`'a' b`: `'a' b`, `"a" and "b"`: `"a" and "b"`, `"the "old" way"`: `the "old" way`, `"never closed`: "never closed",
		`"a" b "c`: `"a" b "c`, `"Yes", she said: "no"`: `"Yes", she said: "no"`, `"say \"hi\" now"`: `say "hi" now`, `'it's`: `'it's`,
	} {
		if d := memory.Parse([]byte("---\nname: n\ndescription: " + value + "\n---\nb\n")); d.Description != want {
			t.Errorf("%s was read as %s, want %s", value, d.Description, want)
		}
	}
	for _, keywords := range []string{"[a, 'b: c', d: e]", "\n  - a\n  - 'b: c'\n  - d: e", "[a, b: c,\n  d: e ]", "[ a,{b: c}, 'b: c' , d: e,]"} {
		if d := memory.Parse([]byte("---\nname: n\nkeywords: " + keywords + "\n---\nb\n")); !slices.Equal(d.Keywords, []string{"a", "b: c", "d: e"}) {
			t.Errorf("%s was read as %q", keywords, d.Keywords)
		}
	}
}
