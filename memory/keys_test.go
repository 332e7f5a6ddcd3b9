package memory_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

// written is what stands at the places of a document's keys.
func written(d *memory.Document) []string {
	var out []string
	for _, k := range memory.Keys(d) {
		at := func(s memory.Span) string { return d.Text[s.Start:s.End] }
		row := k.Name + "|" + at(k.NameSpan) + "|" + at(k.ValueSpan)
		for _, i := range k.Items {
			row += "|" + at(i)
		}
		out = append(out, row)
	}
	return out
}

func TestKeysAndTheirPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		header []string
		want   []string
	}{
		"plain": {
			[]string{"name: A b # not a comment", "type: user   # one", "Expires-At: 2030-01-01", "empty:", "other: x # one"},
			[]string{"name|name|A b # not a comment", "type|type|user", "expires_at|Expires-At|2030-01-01", "empty|empty|", "other|other|x"},
		},
		"quoted": {
			[]string{`"name": "a \" b" # c`, `description: 'it''s'`, `x: "two`, `  lines"`},
			[]string{`name|"name"|"a \" b"`, `description|description|'it''s'`, "x|x|\"two\n  lines\""},
		},
		"blocks": {
			[]string{"description: >-", "  a", "", "  b", "", "# about the next", "text: |", "  # content", "  c", "plain: a", "  b", "z: 1"},
			[]string{"description|description|>-\n  a\n\n  b", "text|text||\n  # content\n  c", "plain|plain|a\n  b", "z|z|1"},
		},
		"lists": {
			[]string{"keywords: [a, 'b, c', d]  # x", "usage_scenarios:", "- one", `- "two"`, "supersedes:", "  - x.md", "  # said", "  - y.md", "id: 1"},
			[]string{
				"keywords|keywords|[a, 'b, c', d]|a|'b, c'|d", "usage_scenarios|usage_scenarios|- one\n- \"two\"|one|\"two\"",
				"supersedes|supersedes|- x.md\n  # said\n  - y.md|x.md|y.md", "id|id|1",
			},
		},
		"maps": {
			[]string{"metadata: ", "  type: user", "  deep:", "    type: z", "  originSessionId: s", "flow: {a: 1, b: [x, y]}", "last: 2"},
			[]string{
				"metadata|metadata|type: user\n  deep:\n    type: z\n  originSessionId: s", "metadata.type|type|user", "metadata.deep|deep|type: z",
				"metadata.deep.type|type|z", "metadata.originsessionid|originSessionId|s", "flow|flow|{a: 1, b: [x, y]}", "flow.a|a|1", "flow.b|b|[x, y]|x|y", "last|last|2",
			},
		},
		"anchors": {
			[]string{"a: &x one", "b: *x", "c: !!str 5", "<<: *x", "d: &y", "  - *x"},
			nil, // a merge of a text is refused by no reader here, but the places are what is asked
		},
		"line by line": {
			[]string{"name: a: b", `description: "c "d" e"`, "metadata: ", "  type: user", "keywords:", "  - a", "  - b", "broken", "id: 7"},
			[]string{
				"name|name|a: b", `description|description|"c "d" e"`, "metadata|metadata|type: user", "metadata.type|type|user",
				"keywords|keywords|- a\n  - b|a|b", "id|id|7",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, eol := range []string{"\n", "\r\n", "\r"} {
				text := strings.ReplaceAll(lines(append(append([]string{"---"}, c.header...), "---", "body")...), "\n", eol)
				d := memory.Parse([]byte(text))
				checkKeys(t, d)
				var want []string
				for _, w := range c.want {
					want = append(want, strings.ReplaceAll(w, "\n", eol))
				}
				if got := written(d); c.want != nil && !slices.Equal(got, want) {
					t.Errorf("%q:\n%q\nwant\n%q", eol, got, want)
				}
			}
		})
	}
}

// checkKeys checks what holds for the keys of every document.
func checkKeys(t *testing.T, d *memory.Document) {
	t.Helper()
	within := func(in, out memory.Span) bool {
		return in.Start >= out.Start && in.Start <= in.End && in.End <= out.End
	}
	var open []memory.Key
	for _, k := range memory.Keys(d) {
		if !within(k.Span, memory.Span{End: len(d.Text)}) || !within(k.NameSpan, k.Span) || !within(k.ValueSpan, k.Span) || k.NameSpan.Len() == 0 {
			t.Fatalf("places of %+v in %q", k, d.Text)
		}
		if d.Header.Len() > 0 && !within(k.Span, d.Header) {
			t.Fatalf("%+v is not in the header %v of %q", k, d.Header, d.Text)
		}
		if d.Body.Len() > 0 && k.Span.End > d.Body.Start {
			t.Fatalf("%+v is in the body %v of %q", k, d.Body, d.Text)
		}
		end := k.ValueSpan.Start
		for _, i := range k.Items {
			if !within(i, k.ValueSpan) || i.Start < end {
				t.Fatalf("items of %+v in %q", k, d.Text)
			}
			end = i.End
		}
		for len(open) > 0 && open[len(open)-1].Depth >= k.Depth {
			if last := open[len(open)-1]; last.Span.End > k.Span.Start {
				t.Fatalf("%+v overlaps %+v in %q", k, last, d.Text)
			}
			open = open[:len(open)-1]
		}
		if len(open) > 0 && !within(k.Span, open[len(open)-1].Span) {
			t.Fatalf("%+v is not inside %+v in %q", k, open[len(open)-1], d.Text)
		}
		open = append(open, k)
	}
}

func TestSetKeys(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		changes []memory.KeyChange
		want    string
	}{
		"replace":         {"---\nname: a   # c\ntype: user # c\n---\nb", []memory.KeyChange{{Key: "type", Text: "project"}}, "---\nname: a   # c\ntype: project # c\n---\nb"},
		"prose":           {"---\nname: a # 1\n---\nb", []memory.KeyChange{{Key: "name", Text: "b # 2: \"x\""}}, "---\nname: \"b # 2: \\\"x\\\"\"\n---\nb"},
		"words":           {"---\nname: a\n---\n", []memory.KeyChange{{Key: "name", Text: "true"}, {Key: "pinned", Text: "true"}}, "---\nname: \"true\"\npinned: true\n---\n"},
		"add":             {"---\r\nname: a\r\n---\r\nb", []memory.KeyChange{{Key: "status", Text: "superseded"}, {Key: "keywords", List: []string{"a, b", "c"}}}, "---\r\nname: a\r\nstatus: superseded\r\nkeywords: [\"a, b\", c]\r\n---\r\nb"},
		"remove":          {"---\nname: a\npinned: true # x\n# end\n---\nb", []memory.KeyChange{{Key: "pinned"}}, "---\nname: a\n# end\n---\nb"},
		"remove none":     {"---\nname: a\n---\nb", []memory.KeyChange{{Key: "pinned"}}, "---\nname: a\n---\nb"},
		"no value":        {"---\npinned:\nname: # c\n---\nb", []memory.KeyChange{{Key: "pinned", Text: "true"}, {Key: "name", Text: "n"}}, "---\npinned: true\nname: \"n\" # c\n---\nb"},
		"under metadata":  {"---\nmetadata: \n  type: user\n  x: 1\n---\nb", []memory.KeyChange{{Key: "type", Text: "project"}}, "---\nmetadata: \n  type: project\n  x: 1\n---\nb"},
		"list stays":      {"---\nkeywords:\n  - a\n  - b\nid: 1\n---\n", []memory.KeyChange{{Key: "keywords", List: []string{"c", "true", "e: f"}}}, "---\nkeywords:\n  - c\n  - \"true\"\n  - \"e: f\"\nid: 1\n---\n"},
		"block text":      {"---\ndescription: >-\n  a\n\n  b\nid: 1\n---\n", []memory.KeyChange{{Key: "description", Text: "c"}}, "---\ndescription: c\nid: 1\n---\n"},
		"braces":          {"---\n{name: a, type: user}\n---\nb", []memory.KeyChange{{Key: "type", Text: "project"}}, "---\n{name: a, type: project}\n---\nb"},
		"no header":       {"# T\r\n\r\nbody\r\n", []memory.KeyChange{{Key: "type", Text: "user"}}, "---\r\ntype: user\r\n---\r\n\r\n# T\r\n\r\nbody\r\n"},
		"rule on top":     {"---\nfree text\n---\nb\n", []memory.KeyChange{{Key: "type", Text: "user"}}, "---\ntype: user\n---\n\n---\nfree text\n---\nb\n"},
		"empty file":      {"", []memory.KeyChange{{Key: "type", Text: "user"}}, "---\ntype: user\n---\n"},
		"empty header":    {"---\n---\nb", []memory.KeyChange{{Key: "type", Text: "user"}}, "---\ntype: user\n---\nb"},
		"emptied":         {"---\nname: a\n---\nb", []memory.KeyChange{{Key: "name", Empty: true}}, "---\nname: \"\"\n---\nb"},
		"control":         {"---\nname: a\n---\nb", []memory.KeyChange{{Key: "name", Text: "x\ny\x00\u2028z"}}, "---\nname: \"x\\ny\\u0000\\u2028z\"\n---\nb"},
		"indented header": {"---\n  name: a\n  id: 2\n---\nb", []memory.KeyChange{{Key: "pinned", Text: "true"}}, "---\n  name: a\n  id: 2\n  pinned: true\n---\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			d := memory.Parse([]byte(c.text))
			edits, err := memory.SetKeys(d, c.changes...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := memory.ReplaceText(d.Text, edits...)
			if err != nil || got != c.want {
				t.Errorf("%q, want %q (%v)", got, c.want, err)
			}
		})
	}
}

// What a header says beside the key survives, or nothing is changed.
func TestPARSE_08_HeadersThatAreNotChanged(t *testing.T) {
	for name, text := range map[string]string{
		"broken quotes":          lines("---", "name: n", `description: "abc "def" ghi"`, "tags: [x]", "---", "b"),
		"never closed":           lines("---", "name: n", "type: user", "", "body"),
		"an anchor in use":       lines("---", "type: &a user", "other: *a", "---", "b"),
		"keys in braces removed": lines("---", "{type: user}", "---", "b"),
		"the only key of a map":  lines("---", "metadata:", "  type: user", "---", "b"),
	} {
		change := memory.KeyChange{Key: "type", Text: "project"}
		if strings.HasSuffix(name, "removed") || strings.HasPrefix(name, "the only") {
			change.Text = ""
		}
		if edits, err := memory.SetKeys(memory.Parse([]byte(text)), change); !errors.Is(err, memory.ErrHeader) {
			t.Errorf("%s: %v, %v", name, edits, err)
		}
	}
}

func TestPARSE_10_OnlyTheKeyIsTouched(t *testing.T) {
	text := lines("---", "# kept", "b: &a  'x'", "c: *a", "description: |", "  block", "  text", "custom:   spaced  # and said", "type: user", "---", "body")
	d := memory.Parse([]byte(text))
	edits, err := memory.SetKeys(d, memory.KeyChange{Key: "type", Text: "project"}, memory.KeyChange{Key: "pinned", Text: "true"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := memory.Replace([]byte(text), edits...)
	want := strings.Replace(text, "type: user\n", "type: project\npinned: true\n", 1)
	if err != nil || string(got) != want {
		t.Errorf("%q (%v)", got, err)
	}
}

func TestReplace(t *testing.T) {
	edit := func(from, to int, text string) memory.Replacement {
		return memory.Replacement{Span: memory.Span{Start: from, End: to}, New: text}
	}
	for name, c := range map[string]struct {
		raw   string
		edits []memory.Replacement
		want  string // empty: refused
	}{
		"in any order":       {"abcdef", []memory.Replacement{edit(4, 5, "E"), edit(0, 1, ""), edit(2, 2, "x"), edit(2, 2, "y")}, "bxycdEf"},
		"a mark in front":    {"\uFEFFab", []memory.Replacement{edit(0, 1, "ä")}, "\uFEFFäb"},
		"no second mark":     {"\uFEFFab", []memory.Replacement{edit(0, 0, "\uFEFF")}, ""},
		"a mark made":        {"ab", []memory.Replacement{edit(0, 0, "\uFEFF")}, ""},
		"stray bytes":        {"a\xff\xfeb\xe4\xb8c", []memory.Replacement{edit(4, 5, "B"), edit(8, 9, "")}, "a\xff\xfeB\xe4\xb8"},
		"a stray byte gone":  {"a\xffb", []memory.Replacement{edit(1, 4, "-")}, "a-b"},
		"stray bytes joined": {"\xe4x\xb8\xad", []memory.Replacement{edit(3, 4, "")}, ""},
		"inside a character": {"aäb", []memory.Replacement{edit(2, 3, "")}, ""},
		"inside stray bytes": {"\xff\xff", []memory.Replacement{edit(1, 3, "")}, ""},
		"beyond the end":     {"ab", []memory.Replacement{edit(1, 3, "")}, ""},
		"backwards":          {"ab", []memory.Replacement{edit(2, 1, "")}, ""},
		"overlapping":        {"abcd", []memory.Replacement{edit(0, 2, ""), edit(1, 3, "")}, ""},
		"not a text":         {"ab", []memory.Replacement{edit(0, 0, "\xff")}, ""},
		"beyond the head":    {strings.Repeat("a", memory.MaxFileBytes) + "tail", []memory.Replacement{edit(0, memory.MaxFileBytes, "b")}, "btail"},
	} {
		got, err := memory.Replace([]byte(c.raw), c.edits...)
		if c.want == "" {
			if !errors.Is(err, memory.ErrReplace) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		} else if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, want %q (%v)", name, got, c.want, err)
		}
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		raw := utf16Bytes("a😀b中", order)
		got, err := memory.Replace(raw, edit(1, 5, "é🔥"), edit(6, 9, ""))
		if err != nil || !slices.Equal(got, utf16Bytes("aé🔥b", order)) {
			t.Errorf("UTF-16: % x (%v)", got, err)
		}
		odd := append(slices.Clone(raw), 0x41)
		if got, err := memory.Replace(odd, edit(0, 1, "x")); err != nil || !slices.Equal(got, append(utf16Bytes("x😀b中", order), 0x41)) {
			t.Errorf("an odd byte: % x (%v)", got, err)
		}
	}
}
