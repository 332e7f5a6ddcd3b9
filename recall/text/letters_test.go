package text_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/memls/memls/recall/text"
)

func TestLetters(t *testing.T) {
	for in, want := range map[string]string{
		"Retry-Budget, v2!": " retry budget v2 ",
		"ΛΌΓΟΣ":             " λόγοσ ", "ДЕПЛОЙ Ёлка": " деплой елка ", "أَحْمَد": " احمد ",
		"Ｃｌｏｕｄ": " cloud ", "배포는": " 배포는 ", "a\u0301b": " ab ", "x迁移y": " x\x00\x00y ",
		"": " ", "\xff": " ", "…": " ", "don't": " don t ",
	} {
		if got := string(text.Letters(nil, in)); got != want {
			t.Errorf("Letters(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzLetters(f *testing.F) {
	for _, s := range []string{"Retry Budget", "迁移 배포", "a\xff\u0301", "ﬁ①", "İß", "น้ำ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rs := text.Letters(nil, s)
		if rs[0] != ' ' || rs[len(rs)-1] != ' ' && len(rs) > 1 {
			t.Fatalf("%q does not begin and end with a space: %q", s, string(rs))
		}
		if len(rs) > utf8.RuneCountInString(s)+2 {
			t.Fatalf("%d letters of %d characters", len(rs), utf8.RuneCountInString(s))
		}
		if strings.Contains(string(rs), "  ") {
			t.Fatalf("two spaces in a row: %q", string(rs))
		}
		if again := text.Letters([]rune{'x'}, s); !slices.Equal(again[1:], rs) {
			t.Fatalf("appending gives something else: %q", string(again))
		}
	})
}
