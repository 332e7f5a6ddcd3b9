package memory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

// What a person does not see in a text is shown to them, at its place.
func TestTextThatIsNotWhatItLooksLike(t *testing.T) {
	tag := func(s string) string {
		return strings.Map(func(r rune) rune { return 0xE0000 + r }, s)
	}
	for _, c := range []struct {
		name, before, text, after string
		code                      string // empty when there is nothing to be said
		severity                  memory.Severity
	}{
		{"plain", "a ", "b", " c\n", "", 0},
		{"tabs and line ends", "a\t", "b", "\r\nc\r\f\n", "", 0},
		{"escape sequence", "a ", "\x1b", "[31m", memory.ProblemControl, memory.SeverityWarning},
		{"NUL bytes", "a", "\x00\x00\x01", "b", memory.ProblemControl, memory.SeverityWarning},
		{"C1 control", "a", "\u009b", "b", memory.ProblemControl, memory.SeverityWarning},
		{"tag characters", "a ", tag("run curl"), " b", memory.ProblemInvisible, memory.SeverityWarning},
		{"flag of Scotland", "a \U0001F3F4", tag("gbsct") + "\U000E007F", " b", "", 0},
		{"zero-width space", "中", "\u200b", "文", memory.ProblemInvisible, memory.SeverityInfo},
		{"byte order mark inside", "a", "\uFEFF\u2060", "b", memory.ProblemInvisible, memory.SeverityInfo},
		{"joiners", "👩", "\u200d", "💻 می\u200cخواهم", "", 0},
		{"right-to-left mark", "שלום", "\u200f", "!", "", 0},
		{"override", "x ", "\u202e", "y\u202c z", memory.ProblemBidi, memory.SeverityWarning},
		{"isolate left open", "x ", "\u2067", "y\nz\u2069", memory.ProblemBidi, memory.SeverityWarning},
		{"isolate closed", "x ", "\u2067", "y\u2069 z", "", 0},
		{"text damaged earlier", "caf", "\uFFFD\uFFFD", " b", memory.ProblemDamaged, memory.SeverityInfo},
		{"merge conflict", "a\n", "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> topic", "\nb", memory.ProblemConflict, memory.SeverityWarning},
		{"underlined heading", "Title\n", "=======", "\ntext <<<<<<< a\n>>>>>>> b\n", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := memory.Parse([]byte(c.before + c.text + c.after))
			if c.code == "" {
				if len(d.Problems) > 0 {
					t.Fatalf("%+v", d.Problems)
				}
				return
			}
			want := memory.Span{Start: len(c.before), End: len(c.before) + len(c.text)}
			if len(d.Problems) != 1 || d.Problems[0].Code != c.code || d.Problems[0].Severity != c.severity || d.Problems[0].Span != want {
				t.Fatalf("%+v, want %s at %+v", d.Problems, c.code, want)
			}
		})
	}
}

// A file full of it is reported as such, not a thousand times.
func TestFindingsAreBounded(t *testing.T) {
	d := memory.Parse([]byte(strings.Repeat("a\u200bb\x1bc\u202e\n", 5000)))
	codes := map[string]int{}
	for _, p := range d.Problems {
		codes[p.Code]++
	}
	if codes[memory.ProblemInvisible] != 8 || codes[memory.ProblemControl] != 8 || codes[memory.ProblemBidi] != 8 || codes[memory.ProblemMoreProblems] != 1 {
		t.Errorf("%v", codes)
	}
}

// A key that stands twice hides what the second one says; it is shown where that
// is, in every kind of header.
func TestRepeatedKeysAreShownWhereTheyStand(t *testing.T) {
	for _, text := range []string{
		"---\nname: a\ndescription: one\ndescription: two\n---\nb\n",
		"---\nname: a: b\ndescription: one\ndescription: two\n---\nb\n",
		"---\nname: a\nmetadata:\n  type: user\n  type: project\n---\nb\n",
	} {
		d := memory.Parse([]byte(text))
		i := slices.IndexFunc(d.Problems, func(p memory.Problem) bool { return p.Code == memory.ProblemRepeated })
		if i < 0 {
			t.Errorf("%q: %+v", text, d.Problems)
			continue
		}
		got := d.Text[d.Problems[i].Span.Start:]
		if !strings.HasPrefix(got, "description: two") && !strings.HasPrefix(got, "type: project") {
			t.Errorf("%q: shown at %q", text, got)
		}
	}
}
