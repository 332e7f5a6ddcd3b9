package memory_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

func TestLinks(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string // kind target#heading "text"
	}{
		{"wiki", "See [[deploy-window]] and [[ notes/x.md | the notes ]].", []string{`wiki deploy-window "deploy-window"`, `wiki notes/x.md "the notes"`}},
		{"wiki with a heading", "[[a#b c|d]] [[#here]] [[]] [[ ]]", []string{`wiki a#b c "d"`}},
		{"wiki that is a title", "[[Why Go?]] [[Note: x]]", []string{`wiki Why Go? "Why Go?"`, `wiki Note: x "Note: x"`}},
		{"wiki in a table", `| [[a\|b]] |`, []string{`wiki a "b"`}},
		{"wiki embedded", "![[a]]", []string{`wiki a "a"`}},
		{"wiki inside brackets", "[[[a]]] [x [[b]] y](c.md)", []string{`wiki a "a"`, `wiki b "b"`}},
		{"wiki that is none", "[[a\nb]] [[a]b]] [ [a]] \\[[a]] [[https://x.org]]", nil},
		{"inline", "[a](b.md) [c](<d e.md>) [f]( g.md \"t\" ) [h](i.md 'a)') [j](k.md (t))", []string{`markdown b.md "a"`, `markdown d e.md "c"`, `markdown g.md "f"`, `markdown i.md "h"`, `markdown k.md "j"`}},
		{"inline with parts", "[a](b.md#c) [d](e.md?f#g) [h](#i) [j](k(l).md) [m](n%20o.md) [p](q\\_r.md)", []string{`markdown b.md#c "a"`, `markdown e.md#g "d"`, `markdown k(l).md "j"`, `markdown n%20o.md "m"`, `markdown q_r.md "p"`}},
		{"inline with brackets", "[a [b] c](d.md) [e `]` f](g.md) [h \\] i](j.md)", []string{`markdown d.md "a [b] c"`, "markdown g.md \"e `]` f\"", `markdown j.md "h ] i"`}},
		{"inline over two lines", "[a\nb](c.md)", []string{`markdown c.md "a b"`}},
		{"inline that is none", "[a] (b.md) [a](b c) [a](b.md [a](<b\n\n[a](c.md", nil},
		{"not over paragraphs", "[a\n\nb](c.md)\n\n- [d\n- e](f.md)\n", nil},
		{"elsewhere", "[a](https://x.org/b.md) [c](mailto:d@e) [f](//x.org) <https://x.org/[g](h.md)> [i]()", nil},
		{"refs and drives", "[a](project:b.md) [c](user@0a1b2c3d:d.md) [e](C:f)", []string{`markdown project:b.md "a"`, `markdown user@0a1b2c3d:d.md "c"`, `markdown C:f "e"`}},
		{"images", "![a](b.png) [![c](d.png)](e.md)", []string{`markdown e.md "![c](d.png)"`}},
		{"no link in a link", "[a [b](c.md) d](e.md)", []string{`markdown c.md "b"`}},
		{"by reference", "[a][r] [R][] [r] [x] [y][z] [ ]\n\n[r]: b.md 'title'\n[r]: later.md\n[^1]: foot.md\n[u]: http://x\n\n[u] [^1]", []string{`markdown b.md "a"`, `markdown b.md "R"`, `markdown b.md "r"`}},
		{"definitions that are none", "[r] [s] [t]\n\n[r]: a b\n[s]:\n\n[t](\n\n[q][s\n", nil},
		{"title that goes on", "[a](b.md \"c\\\"d\") [e](f.md (g(h))", []string{`markdown b.md "a"`}},
		{"code", "`[[a]]` ``[b](c.md) ` `` [[d]] ` [[e]]", []string{`wiki d "d"`, `wiki e "e"`}},
		{"fences", "[[a]]\n```\n[[b]]\n```\n[[c]]\n\n- d\n  ~~~\n  [[e]]\n  ~~~\n  [[f]]\n", []string{`wiki a "a"`, `wiki c "c"`, `wiki f "f"`}},
		{"indented code", "a\n\n    [[b]]\n\n- c\n\n    [[d]]\n", []string{`wiki d "d"`}},
		{"comments", "<!-- [[a]]\n\n[[b]] -->\n\nc <!-- [[d]] --> [[e]] <!-- [[f]]", []string{`wiki e "e"`, `wiki f "f"`}},
		{"headings, labels, items, quotes", "# [[a]]\n[[t]]\n===\n- [[b]]\n  - [[c]]\n> [[d]]\n\nWhy: [[e]]\n**How to apply:** [f](g.md)\n", []string{`wiki a "a"`, `wiki t "t"`, `wiki b "b"`, `wiki c "c"`, `wiki d "d"`, `wiki e "e"`, `markdown g.md "f"`}},
		{"CRLF", "[[a]]\r\n\r\n[b\r\nc](d.md)\r\n", []string{`wiki a "a"`, `markdown d.md "b c"`}},
		{"supersedes", "---\nname: n\nsupersedes: [old.md, project:x.md]\n---\n[[a]]\n", []string{`supersedes old.md "old.md"`, `supersedes project:x.md "project:x.md"`, `wiki a "a"`}},
		{"nothing hidden", "[[a|b\u202e\x07c]]", []string{`wiki a "bc"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := memory.Parse([]byte(tt.body))
			checkLinks(t, d)
			var got []string
			for _, l := range memory.Links(d) {
				s := string(l.Kind) + " " + l.Target
				if l.Heading != "" {
					s += "#" + l.Heading
				}
				got = append(got, s+` "`+l.Text+`"`)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("links\n%q, want\n%q", got, tt.want)
			}
		})
	}
}

func TestLinkSpans(t *testing.T) {
	d := memory.Parse([]byte("---\nname: n\nsupersedes:\n  - x-old.md\n  - old.md\n---\nSee [[ a b # c | d ]], [[ j | ]], [[ k#l ]] or [*e*](<f.md#g>) or [h][r], [r][] or [r].\n\n[r]: <i j.md>\n"))
	var got []string
	for _, l := range memory.Links(d) {
		got = append(got, d.Text[l.Span.Start:l.Span.End]+" -> "+d.Text[l.TargetSpan.Start:l.TargetSpan.End]+" as "+d.Text[l.TextSpan.Start:l.TextSpan.End])
	}
	want := []string{
		"x-old.md -> x-old.md as ", "old.md -> old.md as ", "[[ a b # c | d ]] -> a b as d", "[[ j | ]] -> j as ", "[[ k#l ]] -> k as k#l",
		"[*e*](<f.md#g>) -> f.md as *e*", "[h][r] -> i j.md as h", "[r][] -> i j.md as r", "[r] -> i j.md as r",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// checkLinks holds what is true of the links of every document.
func checkLinks(t testing.TB, d *memory.Document) {
	t.Helper()
	last := 0
	for i, l := range memory.Links(d) {
		if l.Span.Start < last || l.Span.End < l.Span.Start || l.Span.End > d.Body.End {
			t.Fatalf("link %d %+v: the last one ends at %d", i, l, last)
		}
		last = l.Span.End
		s := l.TargetSpan
		if s.Start < 0 || s.End < s.Start || s.End > d.Body.End || l.Target == "" || len(l.Target) > 4096 || memory.CleanLine(l.Text) != l.Text {
			t.Fatalf("link %d %+v", i, l)
		}
		if s := l.TextSpan; l.Kind != memory.LinkSupersedes && (s.Start < l.Span.Start || s.End < s.Start || s.End > l.Span.End) {
			t.Fatalf("the text of link %d %+v", i, l)
		}
		if l.Kind != memory.LinkSupersedes && (l.Span.Start < d.Body.Start || l.Span.Len() < len("[a]")) {
			t.Fatalf("link %d %+v is not in the body %v", i, l, d.Body)
		}
	}
}

// As TestEntriesHostile, for brackets and code.
func TestLinksHostile(t *testing.T) {
	for i, unit := range hostileUnits {
		for _, head := range []string{"", "[r]: x.md\n\n"} {
			d := memory.Parse([]byte(head + strings.Repeat(unit, (hostileBytes(i)-len(head))/len(unit))))
			checkLinks(t, d)
		}
	}
	// Runs of backticks of all lengths, of which none is closed.
	var b strings.Builder
	for n := 1; b.Len() < memory.MaxFileBytes/2; n++ {
		b.WriteString(strings.Repeat("`", n) + " ")
	}
	checkLinks(t, memory.Parse([]byte(b.String())))
}

func FuzzLinks(f *testing.F) {
	for _, s := range hostileUnits {
		f.Add([]byte(strings.Repeat(s, 5)))
	}
	for _, s := range []string{"[a](b.md \"c\") [[d#e|f]] [g][r]\n\n[r]: <h.md>\n", "---\nsupersedes: [a, 'b']\n---\n`[[c]]`", "[a\\](b)](c\\", "![a](b)[[c\\|d]]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		checkLinks(t, memory.Parse(raw))
	})
}

// linked is a catalog of two roots with documents that resemble each other.
func linked(t *testing.T) (*bench, *memory.Snapshot) {
	dir, other := tempDir(t), tempDir(t)
	for rel, text := range map[string]string{
		"from.md":                  "---\nname: From\n---\nx\n",
		"deploy.md":                "---\nname: Deploy window\n---\nx\n",
		"feedback/from.md":         "---\nname: Inner\n---\nx\n",
		"feedback/style.md":        "---\nname: Code style\n---\nx\n",
		"feedback/testing.md":      "---\nname: Testing\n---\nx\n",
		"project/testing.md":       "---\nname: Testing\n---\nx\n",
		"project/deep/testing.md":  "---\nname: Deep\n---\nx\n",
		"project/deep/only.md":     "---\nname: deploy\n---\nx\n",
		"with space & (brace).md":  "---\nname: Spaced\n---\nx\n",
		"100%25.md":                "---\nname: Percent\n---\nx\n",
		"straße.md":                "---\nname: ÄRGER\n---\nx\n",
		"v1.2.md":                  "---\nname: Version\n---\nx\n",
		"user_Upper.MD":            "---\nname: Upper\n---\nx\n",
		"reference/what: which.md": "---\nname: What? # \n---\nx\n",
	} {
		write(t, dir, rel, text)
	}
	write(t, other, "secret.md", "---\nname: Secret\n---\nx\n")
	b := open(t, dir, func(o *memory.CatalogOptions) {
		o.Roots = append(o.Roots, memory.RootConfig{Scope: memory.ScopeUser, Path: other})
	})
	return b, b.ready()
}

func TestResolve(t *testing.T) {
	b, s := linked(t)
	_ = b
	tests := []struct{ from, target, want string }{
		{"from.md", "deploy.md", "deploy.md"},
		{"from.md", "deploy", "deploy.md"}, // a path goes before a title
		{"from.md", "./deploy.md", "deploy.md"},
		{"from.md", " deploy ", "deploy.md"},
		{"from.md", "feedback/../deploy", "deploy.md"},
		{"from.md", "/deploy.md", "deploy.md"},
		{"feedback/style.md", "../deploy.md", "deploy.md"},
		{"feedback/style.md", "deploy.md", "deploy.md"},
		{"feedback/style.md", "feedback/testing", "feedback/testing.md"},
		{"feedback/style.md", "from", "feedback/from.md"}, // the own folder first
		{"feedback/style.md", "/from", "from.md"},
		{"from.md", "with%20space%20%26%20%28brace%29.md", "with space & (brace).md"},
		{"from.md", "with space & (brace)", "with space & (brace).md"},
		{"from.md", "100%2525.md", "100%25.md"},
		{"from.md", "100%25.md", "100%25.md"},
		{"from.md", "feedback%2Fstyle.md", "feedback/style.md"},
		{"from.md", "v1.2", "v1.2.md"},
		{"from.md", "project:feedback/style.md", "feedback/style.md"},
		{"from.md", "STYLE", "feedback/style.md"},
		{"from.md", "Deep/Testing.MD", "project/deep/testing.md"},
		{"from.md", "user_upper", "user_Upper.MD"},
		{"from.md", "STRASSE", "straße.md"},
		{"from.md", "a\u0308rger", "straße.md"},
		{"from.md", "code STYLE", "feedback/style.md"},
		{"from.md", "what: which", "reference/what: which.md"},
		// Several of one name: the own folder, else the fewest folders, else by path.
		{"from.md", "testing", "feedback/testing.md"},
		{"project/deep/only.md", "testing", "project/deep/testing.md"},
		{"project/testing.md", "TESTING", "project/testing.md"},

		{"from.md", "", ""}, {"from.md", ".", ""}, {"from.md", "..", ""}, {"from.md", "/", ""}, {"from.md", "feedback", ""}, {"from.md", "feedback/", ""},
		{"from.md", "missing.md", ""}, {"from.md", "x/deploy", ""}, {"from.md", "../deploy.md", ""}, {"from.md", "..%2Fdeploy.md", ""},
		{"from.md", "secret", ""}, {"from.md", "user:secret.md", ""}, {"from.md", "/etc/passwd", ""}, {"from.md", "../../../etc/passwd", ""},
		{"from.md", "deploy.md\x00", ""}, {"from.md", "de\nploy", ""}, {"from.md", "deploy%00", ""}, {"from.md", `feedback\style.md`, ""}, {"from.md", "%zz", ""}, {"from.md", "\xff", ""},
		{"from.md", "project:missing.md", ""},
	}
	for _, tt := range tests {
		from, ok := s.Get(refOf(tt.from))
		if !ok {
			t.Fatalf("no %s", tt.from)
		}
		d, ok := memory.Resolve(s, from, tt.target)
		if got := rel(d); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q in %s: %q %v, want %q", tt.target, tt.from, got, ok, tt.want)
		}
	}
	if d, ok := memory.Resolve(s, memory.Parse([]byte("x")), "deploy.md"); ok || d != nil {
		t.Error("a document of no root resolves a link")
	}
}

func refOf(rel string) string {
	return memory.Ref{Scope: memory.ScopeProject, Rel: rel, Entry: memory.NoEntry}.File()
}

func rel(d *memory.Document) string {
	if d == nil {
		return ""
	}
	return d.Rel
}

func TestBacklinks(t *testing.T) {
	dir, other := tempDir(t), tempDir(t)
	write(t, dir, "target.md", "---\nname: The target\n---\n[[target]]\n")
	write(t, dir, "a.md", "[[The Target]] and again [x](target.md)\n")
	write(t, dir, "sub/b.md", "[x](../target.md)\n")
	write(t, dir, "sub/c.md", "[x][t]\n\n[t]: /target\n")
	write(t, dir, "d.md", "---\nname: d\nsupersedes: target.md\n---\nx\n")
	write(t, dir, "not.md", "`[[target]]` target.md\n")
	write(t, dir, "sub/near/target.md", "nearer\n")
	write(t, dir, "sub/near/e.md", "[[target]]\n")
	write(t, other, "f.md", "[[target]]\n")
	b := open(t, dir, func(o *memory.CatalogOptions) {
		o.Roots = append(o.Roots, memory.RootConfig{Scope: memory.ScopeUser, Path: other})
	})
	s := b.ready()
	for rel, want := range map[string][]string{
		"target.md":          {"project:a.md", "project:d.md", "project:sub/b.md", "project:sub/c.md"},
		"sub/near/target.md": {"project:sub/near/e.md"},
		"a.md":               nil,
	} {
		d, _ := s.Get(refOf(rel))
		if got := memory.Backlinks(s, d); !slices.Equal(got, want) {
			t.Errorf("links to %s: %q, want %q", rel, got, want)
		}
	}
	if got := memory.Backlinks(s, memory.Parse([]byte("x"))); got != nil {
		t.Errorf("links to a document of no root: %q", got)
	}
}

func TestSCAN_06_LinkTextIsNoPath(t *testing.T) {
	dir := tempDir(t)
	long := strings.Repeat("a/", 3000)
	write(t, dir, "a.md", fmt.Sprintf("---\nname: a\n---\n[x](%s) [y](%s) [[%s]] [[b]]\n", long, filepath.ToSlash(dir), strings.Repeat("w", 300)))
	write(t, dir, "b.md", "x\n")
	b := open(t, dir, nil)
	s := b.ready()
	before := b.opens.Load()
	d, ok := s.Get("project:a.md")
	if !ok || !strings.Contains(d.BodyText(), long) {
		t.Fatal("a.md is not catalogued whole")
	}
	var targets []string
	for _, l := range memory.Links(d) {
		targets = append(targets, l.Target)
		_, ok := memory.Resolve(s, d, l.Target)
		if ok != (l.Target == "b") {
			t.Errorf("%.40q resolves: %v", l.Target, ok)
		}
	}
	if want := []string{filepath.ToSlash(dir), "b"}; !slices.Equal(targets, want) {
		t.Errorf("targets %.80q, want %q", targets, want)
	}
	for _, target := range []string{long, long[:4000], strings.Repeat("w", 300), strings.Repeat("%41", 2000)} {
		if d, ok := memory.Resolve(s, d, target); ok {
			t.Errorf("%.40q resolves to %s", target, d.Ref)
		}
	}
	if n := b.opens.Load(); n != before {
		t.Errorf("%d files were opened", n-before)
	}
}
