package main

import (
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/recall"
)

func TestWrapped(t *testing.T) {
	tests := []struct {
		name    string
		columns int
		color   bool
		text    string
		marks   [][2]int
		want    string
	}{
		{"fits", 10, false, "two words", nil, "|two words\n"},
		{"at a space", 10, false, "three more words", nil, "|three\n|more\n|words\n"},
		{"a long word is cut", 6, false, "abcdefgh", nil, "|abcde\n|fgh\n"},
		{"wide characters count twice", 6, false, "座位保留", nil, "|座位\n|保留\n"},
		{"combining marks count nothing", 5, false, "a\u0301b\u0301c\u0301d\u0301", nil, "|a\u0301b\u0301c\u0301d\u0301\n"},
		{"a mark is not parted from its letter", 3, false, "abc\u0301", nil, "|ab\n|c\u0301\n"},
		{"paragraphs stay", 10, false, "a\n\nb", nil, "|a\n|\n|b\n"},
		{"blanks at the end go", 10, false, "a   \nb", nil, "|a\n|b\n"},
		{"nothing is one empty line", 10, false, "", nil, "|\n"},
		{"controls and turned directions go", 20, false, "a\x1b[31mb\u202ec\u2066d\x00\u009be", nil, "|a[31mbcde\n"},
		{"marked words", 20, true, "one two one", [][2]int{{0, 3}, {8, 11}}, "|\x1b[1;33mone\x1b[0m two \x1b[1;33mone\x1b[0m\n"},
		{"a mark ends with its line", 6, true, "abcdefgh", [][2]int{{0, 8}}, "|\x1b[1;33mabcde\x1b[0m\n|\x1b[1;33mfgh\x1b[0m\n"},
		{"no marks without colours", 20, false, "one", [][2]int{{0, 3}}, "|one\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &page{color: tt.color, columns: tt.columns}
			p.wrapped("|", tt.text, tt.marks)
			got := p.b.String()
			if tt.color {
				got = strings.ReplaceAll(got, styleDim+"|"+styleReset, "|")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestHanging(t *testing.T) {
	p := &page{columns: 12}
	p.hanging("why  ", "one two three")
	if got, want := p.b.String(), "why  one two\n     three\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMarks(t *testing.T) {
	tests := []struct {
		name, text string
		why        []string
		want       string // the text with marked stretches in brackets
	}{
		{"every place and case", "Storm? A storm, and stormy weather.", []string{"storm"}, "[Storm]? A [storm], and stormy weather."},
		{"an identifier as a whole", "retryBudget, retry_budget, retry", []string{"retryBudget"}, "[retryBudget], [retry_budget], retry"},
		{"a part of one", "the retryBudget", []string{"retry"}, "the [retry]Budget"},
		{"neighbouring pairs are one stretch", "机票座位保留时间", []string{"座位", "位保", "保留"}, "机票[座位保留]时间"},
		{"a single character of a run is none", "座位保留", []string{"座"}, "座位保留"},
		{"nothing", "text", nil, "text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var why []recall.Why
			for _, w := range tt.why {
				why = append(why, recall.Why{Field: recall.FieldBody, Term: w, Match: recall.MatchExact})
			}
			var b strings.Builder
			at := 0
			for _, m := range marks(tt.text, why) {
				b.WriteString(tt.text[at:m[0]] + "[" + tt.text[m[0]:m[1]] + "]")
				at = m[1]
			}
			b.WriteString(tt.text[at:])
			if got := b.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWords(t *testing.T) {
	tests := []struct{ got, want string }{
		{ago(-1), "today"}, {ago(0), "today"}, {ago(1), "yesterday"}, {ago(59), "59 days ago"}, {ago(60), "2 months ago"},
		{ago(729), "24 months ago"}, {ago(730), "2 years ago"},
		{count(1, "memory"), "1 memory"}, {count(0, "memory"), "0 memories"}, {count(2, "root"), "2 roots"}, {count(2, "match"), "2 matches"},
		{milliseconds(1234 * time.Microsecond), "1.23 ms"}, {milliseconds(12 * time.Millisecond), "12 ms"}, {milliseconds(2500 * time.Millisecond), "2.5 s"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestLineOf(t *testing.T) {
	tests := []struct {
		text   string
		offset int
		want   int
	}{
		{"", 0, 1}, {"a\nb", 2, 2}, {"a\r\nb\r\nc", 6, 3}, {"a\rb\rc", 4, 3}, {"a\n\r\nb", 4, 3},
	}
	for _, tt := range tests {
		if got := lineOf(tt.text, tt.offset); got != tt.want {
			t.Errorf("lineOf(%q, %d) = %d, want %d", tt.text, tt.offset, got, tt.want)
		}
	}
}
