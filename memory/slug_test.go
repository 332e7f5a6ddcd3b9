package memory_test

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/memls/memls/memory"
)

func TestSlugsKeepTheirScript(t *testing.T) {
	for name, want := range map[string]string{
		"Deploy on Thursdays":         "deploy-on-thursdays",
		"retryBudget = 3 (Nordhavn!)": "retrybudget-3-nordhavn",
		"Größe der Fähre":             "größe-der-fähre",
		"座位保留多久？":                     "座位保留多久",
		"デプロイは木曜日":                    "デプロイは木曜日",
		"배포는 목요일":                     "배포는-목요일",
		"Развёртывание по четвергам":  "развёртывание-по-четвергам",
		"Ανάπτυξη":                    "ανάπτυξη",
		"النشر يوم الخميس":            "النشر-يوم-الخميس",
		"हिंदी में नोट":               "हिंदी-में-नोट",
		"ใช้แท็บ ไม่ใช่เว้นวรรค":      "ใช้แท็บ-ไม่ใช่เว้นวรรค",
		"פריסה ביום חמישי":            "פריסה-ביום-חמישי",
		"don't use l'eau":             "dont-use-leau",
		"e\u0301te\u0301":             "été",
		"İstanbul":                    "istanbul",
		"   ":                         "note",
		"!!!":                         "note",
		"🚀":                           "note",
		"CON":                         "note-con",
		"lpt1":                        "note-lpt1",
		"MEMORY":                      "note-memory",
		"../../etc/passwd":            "etc-passwd",
		`..\..\windows`:               "windows",
		".hidden":                     "hidden",
		"a\x00b":                      "ab",
		"x.tmp":                       "x-tmp",
		"C:\\x":                       "c-x",
		"a\u202Eb\u200Bc":             "abc",
	} {
		if got := memory.Slug(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// Whatever a memory is called, its file is one in its folder that the catalog
// reads.
func FuzzSlug(f *testing.F) {
	for _, s := range []string{"", "a", "..", "座位", "a/b", "\xff", strings.Repeat("座", 400), strings.Repeat("word ", 100), "nul", "e\u0301", "\u0301", "ﬀ", "ẞ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		slug := memory.Slug(name)
		rel := slug + ".md"
		switch {
		case slug == "" || len(slug) > 160 || strings.ContainsAny(slug, `/\:.`+"\x00") || !utf8.ValidString(slug):
			t.Fatalf("%q makes %q", name, slug)
		case memory.CheckRel(rel) != nil || path.Base(rel) != rel:
			t.Fatalf("%q is no name of a file: %v", rel, memory.CheckRel(rel))
		case !norm.NFC.IsNormalString(slug):
			t.Fatalf("%q is not composed", slug)
		case strings.HasPrefix(slug, "-") || strings.HasSuffix(slug, "-") || slug == "memory":
			t.Fatalf("%q", slug)
		}
		if again := memory.Slug(slug); again != slug && !strings.HasPrefix(again, "note-") {
			t.Fatalf("%q makes %q makes %q", name, slug, again)
		}
	})
}
