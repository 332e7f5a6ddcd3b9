package text_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/memls/memls/recall/text"
)

// tokens returns the terms of s of the given kinds, in order.
func tokens(s string, kinds ...text.Kind) []string {
	var tk text.Tokenizer
	out := []string{}
	tk.Each(s, func(t text.Token) {
		if len(kinds) == 0 || slices.Contains(kinds, t.Kind) {
			out = append(out, string(t.Term))
		}
	})
	return out
}

func TestTokens(t *testing.T) {
	words := []text.Kind{text.Word, text.Part, text.Whole, text.Symbol, text.Bigram, text.Lone, text.Cluster3}
	for _, tc := range []struct{ name, in, want string }{
		{"camel case", "retryBudget", "retry retrybudget budget"},
		{"capitals before a word", "HTTPServer", "http httpserver server"},
		{"snake and kebab", "retry_budget-max", "retry budget max retrybudgetmax"},
		{"ticket", "TIDE-482", "tide 482 tide482"},
		{"version keeps its dots", "v1.26.8", "v1 26 8 v1.26.8"},
		{"letters with digits stay whole", "p99 utf8 sha256", "p99 utf8 sha256"},
		{"names with signs", "C++ C# F#", "c c++ c c# f f#"},
		{"path", "src/booking/saga.go", "src booking saga go srcbookingsagago"},
		{"apostrophe splits", "l'équipe don't", "l équipe don t"},
		{"full width and ligature", "Ｃｌｏｕｄ ﬁle", "cloud file"},
		{"sharp s, final sigma, dotted I", "Straße ΟΔΟΣ İade", "strasse οδοσ iade"},
		{"script change ends a run", "abc漢字", "abc 漢字"},
		{"Latin to Devanagari too", "goकाम", "go काम"},
		{"long vowel mark belongs to the run", "サーバー", "サー ーバ バー"},
		{"half-width kana compose", "ﾃﾞﾌﾟﾛｲ", "デプ プロ ロイ"},
		{"punctuation is a boundary", "検査。清書", "検査 清書"},
		{"a lone character", "猫 です", "猫 です"},
		{"Hangul", "배포는", "배포 포는"},
		{"Arabic unifies", "أَحْمَد الكتـــاب مكتبة", "احمد الكتاب مكتبه"},
		{"Arabic presentation forms", "ﻛﺘﺎﺏ", "كتاب"},
		{"Hebrew points and finals", "שָׁלוֹם", "שלומ"},
		{"Devanagari nukta", "सड़क", "सडक"},
		{"Thai short run is whole", "ตาล", "ตาล"},
		{"Thai clusters", "น้ำตาล", "น้ําต าตา ตาล"},
		{"nothing", " … — !? \u200b", ""},
		{"invalid bytes are separators", "ab\xffcd", "ab cd"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(tokens(tc.in, words...), " "); got != tc.want {
				t.Errorf("tokens of %q:\n got %q\nwant %q", tc.in, got, tc.want)
			}
		})
	}
}

// TestFoldIsFullCaseFolding checks the fast folding against Unicode's own, for
// every cased letter: two letters meet in one exactly when they do in the other.
func TestFoldIsFullCaseFolding(t *testing.T) {
	fold := cases.Fold()
	for r := rune(0xC0); r < 0x2FFF; r++ {
		if !unicode.IsLetter(r) || unicode.ToUpper(r) == r && unicode.ToLower(r) == r {
			continue
		}
		if unicode.In(r, unicode.Cherokee, unicode.Georgian) || r >= 0x1C80 && r <= 0x1C8F {
			continue // two cases that people write as two scripts, and letter forms of old Slavonic prints
		}
		lower, upper := string(unicode.ToLower(r)), string(unicode.ToUpper(r))
		if norm.NFKC.String(fold.String(lower)) != norm.NFKC.String(fold.String(upper)) {
			continue
		}
		a, b := tokens("x"+lower+"x"), tokens("x"+upper+"x")
		if strings.Join(a, "") == "" || !slices.Contains(b, a[len(a)-1]) {
			t.Errorf("%U: %q and %q fold apart: %q, %q", r, lower, upper, a, b)
		}
	}
}

func TestStripAccents(t *testing.T) {
	for in, want := range map[string]string{
		"résumé": "resume", "naïve": "naive", "złoty": "zloty", "đường": "duong", "smørrebrød": "smorrebrod", "œuvre": "oeuvre",
		"ελλάδα": "ελλαδα", "край": "край", "น้ำ": "น้ำ", "हिन्दी": "हिन्दी", "ガ": "ガ", "plain": "plain",
	} {
		if got := text.StripAccents(in); got != want {
			t.Errorf("StripAccents(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestStemsMeet(t *testing.T) {
	// Inv: stems are made of folded words, as the tokenizer gives them.
	meet := func(a, b string) bool {
		ka, kb := text.Stems(nil, tokens(a)[0]), text.Stems(nil, tokens(b)[0])
		return slices.ContainsFunc(ka, func(k string) bool { return slices.Contains(kb, k) })
	}
	for _, group := range []string{
		"deploy deploys deployed deploying deployment deployments deployer", "policy policies", "run runs running",
		"release releases released releasing", "migration migrations migrate migrating", "paginate pagination paginating",
		"rechnung rechnungen", "steuersatz steuersätze", "fecha fechas", "réunion réunions", "configuração configurações",
		"миграция миграции миграцию миграций", "таблица таблицы таблицу таблицах", "база базы базу базой",
		"κράτηση κράτησης κρατήσεις", "الكتاب كتاب والكتاب بالكتاب", "הספר ספר", "किताब किताबें किताबों", "sipariş siparişin siparişler", "lämpötila lämpötilan lämpötilat lämpötilojen",
	} {
		ws := strings.Fields(group)
		for _, w := range ws[1:] {
			if !meet(ws[0], w) {
				t.Errorf("%s and %s do not meet: %q %q", ws[0], w, text.Stems(nil, ws[0]), text.Stems(nil, w))
			}
		}
	}
	for _, apart := range []string{"port party", "cache catch", "table tablet", "база базар", "owner power"} {
		ws := strings.Fields(apart)
		if meet(ws[0], ws[1]) {
			t.Errorf("%s and %s meet", ws[0], ws[1])
		}
	}
}

func TestTopicOf(t *testing.T) {
	for _, w := range strings.Fields("the how which und für que как के في של") {
		if text.TopicOf(w) != text.Function {
			t.Errorf("%q is not a function word", w)
		}
	}
	// Names of things that are function words somewhere must stay findable.
	for _, w := range strings.Fields("pod go ci ai io os vi bin db ui ip git make saga deploy") {
		if text.TopicOf(w) == text.Function {
			t.Errorf("%q is taken for a function word", w)
		}
	}
}

func FuzzEach(f *testing.F) {
	for _, s := range []string{"retryBudget C++", "数据库", "น้ำตาล", "a\xff\xc3", "é\u0301\u0301", strings.Repeat("a", 2000), "ﬁ①", "\u1100\u1161", "🏳️‍🌈x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var tk text.Tokenizer
		last := 0
		tk.Each(s, func(tok text.Token) {
			if tok.Start < 0 || tok.End > len(s) || tok.Start >= tok.End {
				t.Fatalf("span %d..%d of %d bytes", tok.Start, tok.End, len(s))
			}
			if !utf8.Valid(tok.Term) || len(tok.Term) == 0 {
				t.Fatalf("term %q", tok.Term)
			}
			if utf8.RuneCount(tok.Term) > text.MaxTerm+2 {
				t.Fatalf("term of %d code points", utf8.RuneCount(tok.Term))
			}
			last = max(last, tok.End)
		})
		first := tokens(s)
		if again := tokens(s); !slices.Equal(first, again) {
			t.Fatalf("two readings differ: %q %q", first, again)
		}
	})
}
