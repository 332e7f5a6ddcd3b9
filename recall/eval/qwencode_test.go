package eval_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/recall/eval"
)

// matches says whether the frozen scorer finds a document with that body for the query.
func matches(query, body string) bool {
	r := eval.NewQwenCode([]eval.Doc{{ID: "d", Body: body}})
	return len(r.Rank(query, 5)) == 1
}

func TestQwenCodeTokens(t *testing.T) {
	tests := []struct {
		name, query, body string
		want              bool
	}{
		{"substring, not word", "owner", "the ownership record", true},
		{"two letters are no token", "CI v2 go", "CI v2 go", false},
		{"letter and digits", "p99", "the P99 latency", true},
		{"an apostrophe splits", "don't", "do not don", true},
		{"C++ gives none", "C++", "C++", false},
		{"underscore splits", "snake_case", "a snake", true},
		{"accents do not fold", "naive", "naïve", false},
		{"an accented word", "NAÏVE", "naïve", true},
		{"full-width Latin folds", "ＤＥＰＬＯＹ", "deploy", true},
		{"half-width Katakana folds", "ﾃﾞﾌﾟﾛｲ", "デプロイ", true},
		{"a single CJK character", "日", "日", false},
		{"CJK by pairs", "部署流程", "流程图", true},
		{"CJK, no common pair", "部署流程", "署流", true},
		{"CJK, parts apart", "部署", "部门 署名", false},
		{"a script change ends a run", "abc漢字", "漢字", true},
		{"Hangul", "배포 절차", "배포는", true},
		{"the long-vowel mark belongs to the run", "サーバー", "バー", true},
		{"CJK punctuation joins a run", "検査。清掃", "点査。別", true},
		{"prolonged quirk: a lone character and its full stop", "査。", "検査。", true},
		{"ASCII punctuation is a boundary", "査,清", "検査,清掃", false},
		{"Thai is one long token", "ฐานข้อมูลหลัก", "ฐานข้อมูล", false},
		{"final sigma", "ΟΔΟΣ", "η οδός, οδος", true},
		{"dotted capital I", "İSTANBUL", "i̇stanbul", true},
		{"marks do not begin a run", "\u0301ab", "ab", false},
		{"nothing but blanks", "  \t ", "anything", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := matches(tt.query, tt.body); got != tt.want {
				t.Errorf("query %q, body %q: found %v, want %v", tt.query, tt.body, got, tt.want)
			}
		})
	}
}

func TestQwenCodeBodyWindow(t *testing.T) {
	fill := func(n int) string { return strings.Repeat(".", n) }
	tests := []struct {
		name, body string
		want       bool
	}{
		{"ends inside the window", fill(1194) + "needle", true},
		{"cut by the window", fill(1195) + "needle", false},
		{"leading blanks do not count", " \ufeff\n" + fill(1194) + "needle", true},
		{"a code point beyond the BMP counts twice", strings.Repeat("😀", 597) + "needle", true},
		{"one more of them is too much", strings.Repeat("😀", 598) + "needle", false},
		{"cut before normalisation: a ligature counts once", strings.Repeat("ﬃ", 1194) + "needle", true},
		{"a pair split by the cut does no harm", strings.Repeat("😀", 597) + "needl" + "😀e", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := matches("needle", tt.body); got != tt.want {
				t.Errorf("found %v, want %v", got, tt.want)
			}
		})
	}
}

func TestQwenCodeOrder(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 5, n, 0, 0, 0, 0, time.UTC) }
	tests := []struct {
		name  string
		query string
		docs  []eval.Doc
		want  []string
	}{
		{
			"title 4 over description 3 over body 1", "deploy",
			[]eval.Doc{{ID: "body", Body: "deploy"}, {ID: "description", Description: "deploy"}, {ID: "title", Title: "deploy"}},
			[]string{"title", "description", "body"},
		},
		{
			"fields add up: 3+1 ties with 4, the input order decides", "deploy",
			[]eval.Doc{{ID: "both", Description: "deploy", Body: "deploy"}, {ID: "title", Title: "deploy"}},
			[]string{"both", "title"},
		},
		{
			"repetition does not count", "deploy",
			[]eval.Doc{{ID: "once", Body: "deploy"}, {ID: "often", Body: "deploy deploy deploy"}},
			[]string{"once", "often"},
		},
		{
			"the newer one wins a tie", "deploy",
			[]eval.Doc{{ID: "old", Body: "deploy", UpdatedAt: day(1)}, {ID: "new", Body: "deploy", UpdatedAt: day(2)}, {ID: "undated", Body: "deploy"}},
			[]string{"new", "old", "undated"},
		},
		{
			"type bonus of at most 2", "deploy dashboard docs link ticket",
			[]eval.Doc{
				{ID: "title", Title: "deploy", Type: "project"},
				{ID: "bonus", Body: "deploy", Type: "reference"},
				{ID: "description", Description: "deploy", Type: "project"},
				{ID: "plain", Body: "deploy", Type: "project"},
			},
			[]string{"title", "bonus", "description", "plain"},
		},
		{
			"no bonus without a match", "dashboard",
			[]eval.Doc{{ID: "d", Body: "nothing of the sort", Type: "reference"}},
			[]string{},
		},
		{
			"keywords and status mean nothing to it", "deploy",
			[]eval.Doc{{ID: "keywords", Title: "x", Keywords: []string{"deploy"}}, {ID: "gone", Body: "deploy", Status: "superseded"}},
			[]string{"gone"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := eval.NewQwenCode(tt.docs).Rank(tt.query, 10); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	r := eval.NewQwenCode([]eval.Doc{{ID: "a", Body: "deploy"}, {ID: "b", Body: "deploy"}})
	if got := r.Rank("deploy", 1); !slices.Equal(got, []string{"a"}) {
		t.Errorf("k = 1: got %v", got)
	}
	if got := r.Rank("deploy", 0); len(got) != 0 {
		t.Errorf("k = 0: got %v", got)
	}
}

// Of a long query the first 32 distinct tokens count and, of the rest, the 32 seen last.
func TestQwenCodeLongQuery(t *testing.T) {
	word := func(i int) string { return fmt.Sprintf("word%03dx", i) }
	query := func(extra ...string) string {
		var words []string
		for i := range 100 {
			words = append(words, word(i))
		}
		return strings.Join(append(words, extra...), " ")
	}
	tests := []struct {
		name, query string
		body        int
		want        bool
	}{
		{"last of the head", query(), 31, true},
		{"dropped from the middle", query(), 32, false},
		{"last one dropped", query(), 67, false},
		{"first of the tail", query(), 68, true},
		{"the end", query(), 99, true},
		{"seen again at the end: the oldest of the tail gives way", query(word(50)), 68, false},
		{"seen again at the end: it counts", query(word(50)), 50, true},
		{"repeated within the tail: it moves to the end", query(word(68), word(50)), 68, true},
		{"repeated within the tail: the next oldest gives way", query(word(68), word(50)), 69, false},
		{"a token of the head does not enter the tail", query(word(0)), 68, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := matches(tt.query, word(tt.body)); got != tt.want {
				t.Errorf("found %v, want %v", got, tt.want)
			}
		})
	}
}
