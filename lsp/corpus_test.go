package lsp_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/lsp"
)

// corpusFiles is the number of memory files that were counted in public
// repositories. The corpus of this file has as many, and each deviation as often
// as it was met there.
const corpusFiles = 975

// corpusFile is one file of the corpus and what is to be said of it.
type corpusFile struct {
	name, text string
	codes      []string // sorted
}

// corpus is a memory as the world writes it.
type corpus struct {
	random *rand.Rand
	files  []*shape
}

// shape is what is special about one file.
type shape struct {
	has  map[string]bool
	size int // of the body, about
}

// some gives n files among those that satisfy ok a property.
func (c *corpus) some(n int, property string, ok func(*shape) bool) {
	for _, i := range c.random.Perm(len(c.files)) {
		if n > 0 && ok(c.files[i]) {
			c.files[i].has[property] = true
			n--
		}
	}
	if n > 0 {
		panic(fmt.Sprintf("no %d more files for %s", n, property))
	}
}

func anyShape(*shape) bool { return true }

// without are files with a header and none of the given properties.
func without(properties ...string) func(*shape) bool {
	return func(s *shape) bool {
		return !slices.ContainsFunc(append(properties, "no header"), func(p string) bool { return s.has[p] })
	}
}

func newCorpus() *corpus {
	c := &corpus{random: rand.New(rand.NewPCG(1, 975))}
	for range corpusFiles {
		c.files = append(c.files, &shape{has: map[string]bool{}})
	}
	c.some(99, "no header", anyShape)
	odd := []string{"colon", "hash", "broken quote", "unclosed", "folded", "no type", "odd type", "no description"}
	for _, f := range []struct {
		n        int
		property string
	}{
		{17, "colon"}, {13, "hash"}, {2, "broken quote"}, {1, "unclosed"}, {1, "folded"}, {12, "no type"}, {7, "odd type"},
		{2, "no description"}, {1, "no name"}, {1, "blank before"},
	} {
		c.some(f.n, f.property, without(odd...))
	}
	c.some(493, "metadata", without("no type", "odd type"))
	c.some(349, "blank after metadata", func(s *shape) bool { return s.has["metadata"] })
	c.some(183, "session", without("metadata"))
	c.some(375, "free name", without("no name"))
	c.some(190, "quoted", without(odd...))
	c.some(23, "escapes", without(append(odd, "quoted")...))
	for _, f := range []struct {
		n        int
		property string
	}{
		{465, "why"}, {431, "wikilinks"}, {297, "cjk"}, {6, "cyrillic"}, {4, "arabic"}, {313, "emoji"}, {166, "tags"}, {87, "code"},
		{24, "rule"}, {74, "crlf"}, {61, "no end"}, {6, "long line"}, {1, "zero-width"}, {1, "damaged"},
	} {
		c.some(f.n, f.property, anyShape)
	}
	c.sizes()
	return c
}

// sizes has the measured middle and ends: p50 2,290, p90 7,383, p99 31,597, the
// largest 226,307 bytes.
func (c *corpus) sizes() {
	for i, j := range c.random.Perm(len(c.files)) {
		q := float64(i) / corpusFiles
		size := 300 + int(4000*q)
		switch {
		case i == corpusFiles-1:
			size = 226_000
		case i == corpusFiles-2:
			size = 110_000
		case q > 0.99:
			size = 31_000
		case q > 0.9:
			size = 7_400 + int(240_000*(q-0.9))
		}
		c.files[j].size = size
	}
}

func (c *corpus) file(i int) corpusFile {
	s := c.files[i]
	out := corpusFile{name: fmt.Sprintf("%s/%s_note_%d.md", []string{"project", "feedback", "deep/er"}[i%3], []string{"project", "feedback", "note"}[i%3], i)}
	if s.has["no type"] {
		out.name = fmt.Sprintf("plain_%d.md", i)
	}
	header, codes := s.header(i)
	body := c.body(i, s)
	if s.has["no header"] {
		header = fmt.Sprintf("# Note %d\n\n", i)
	}
	if s.has["zero-width"] {
		body += "\nzero\u200bwidth\n"
		codes = append(codes, "invisible-text")
	}
	if s.has["damaged"] {
		body += "\ncaf\uFFFD\n"
		codes = append(codes, "text-damaged")
	}
	if len(body) > 64<<10 {
		codes = append(codes, "truncated")
	}
	out.text = header + body
	if s.has["no end"] {
		out.text = strings.TrimRight(out.text, "\n")
	}
	if s.has["crlf"] {
		out.text = strings.ReplaceAll(out.text, "\n", "\r\n")
	}
	slices.Sort(codes)
	out.codes = codes
	return out
}

// header is that of a file, and what is to be said of it.
func (s *shape) header(i int) (text string, codes []string) {
	name, description, kind := fmt.Sprintf("note-%d", i), fmt.Sprintf("what note %d is about", i), []string{"project", "feedback", "reference"}[i%3]
	if s.has["free name"] {
		name = fmt.Sprintf("Note %d of the harbour", i)
	}
	switch {
	case s.has["colon"]:
		description, codes = "the port: "+description, append(codes, "frontmatter-syntax")
	case s.has["hash"]:
		description, codes = description+" #12", append(codes, "yaml-comment")
	case s.has["broken quote"]:
		description, codes = `"the "port" of `+description+`"`, append(codes, "frontmatter-syntax")
	case s.has["quoted"]:
		description = `"` + description + `"`
	case s.has["escapes"]:
		description = `"the \"port\" of ` + description + `"`
	case s.has["folded"]:
		description = ">-\n  folded\n  " + description
	}
	var b strings.Builder
	if s.has["blank before"] {
		b.WriteString("\n")
	}
	b.WriteString("---\n")
	if !s.has["no name"] {
		b.WriteString("name: " + name + "\n")
	}
	if !s.has["no description"] {
		b.WriteString("description: " + description + "\n")
	} else {
		codes = append(codes, "description-missing")
	}
	switch {
	case s.has["no type"]:
		codes = append(codes, "type-missing")
	case s.has["odd type"]:
		b.WriteString("type: architecture\n")
		codes = append(codes, "type-unknown")
	case s.has["metadata"]:
		blank := ""
		if s.has["blank after metadata"] {
			blank = " "
		}
		fmt.Fprintf(&b, "metadata:%s\n  node_type: memory\n  type: %s\n  originSessionId: s%d\n", blank, kind, i)
	default:
		b.WriteString("type: " + kind + "\n")
	}
	if s.has["session"] {
		fmt.Fprintf(&b, "originSessionId: s%d\n", i)
	}
	if s.has["unclosed"] {
		return b.String() + "\n", append(codes, "frontmatter-open")
	}
	return b.String() + "---\n\n", codes
}

func (c *corpus) body(i int, s *shape) string {
	var b strings.Builder
	words := []string{"the harbour", "a token", "every deploy", "port 7433", "an index", "the crane"}
	for property, more := range map[string][]string{
		"cjk": {"港口在东边。", "数据库"}, "cyrillic": {"порт на востоке"}, "arabic": {"الميناء في الشرق"}, "emoji": {"🚢", "👩‍💻"},
	} {
		if s.has[property] {
			words = append(words, more...)
		}
	}
	slices.Sort(words)
	for n := 0; b.Len() < s.size; n++ {
		fmt.Fprintf(&b, "- %s and %s, %d.\n", words[c.random.IntN(len(words))], words[c.random.IntN(len(words))], n)
		if s.has["why"] {
			b.WriteString("  **Why:** it was so.\n  **How to apply:** always.\n")
		}
	}
	for _, part := range []struct{ property, text string }{
		{"tags", "\n<details><summary>More</summary>text</details>\n"}, {"code", "\n```sh\ngo test ./... # [[none]]\n```\n"},
		{"rule", "\nabove\n\n---\n\nbelow\n"}, {"long line", "\n" + strings.Repeat("a long line ", 200) + "\n"},
	} {
		if s.has[part.property] {
			b.WriteString(part.text)
		}
	}
	if s.has["wikilinks"] {
		fmt.Fprintf(&b, "\nSee [[%s_note_%d]].\n", []string{"project", "feedback", "note"}[0], linkable(c, i))
	}
	return b.String()
}

// linkable is the number of a file with a name to link to.
func linkable(c *corpus, i int) int {
	for i -= i % 3; c.files[i].has["no type"]; i = (i + 3) % (len(c.files) - len(c.files)%3) {
	}
	return i
}

// Of a memory as the world writes it nothing is lost, each deviation that hurts
// is said where it is, and of what is well-formed nothing is said.
func TestCorpusOfRealShapes(t *testing.T) {
	c := newCorpus()
	s := newStore(t, map[string]string{"MEMORY.md": "# Index\n", "deep/MEMORY.md": "# Index\n"})
	var files []corpusFile
	for i := range c.files {
		files = append(files, c.file(i))
		s.write(files[i].name, files[i].text)
	}
	d := sit(t, lsp.MemoryOptions{}, serving(s)).settled()
	var status lsp.StatusResult
	d.call("memory/status", lsp.StatusParams{}, &status)
	if r := status.Roots[0]; r.OnDisk != corpusFiles || r.Catalogued != corpusFiles || r.SkippedTotal != 0 {
		t.Errorf("%d on disk, %d catalogued, %d skipped", r.OnDisk, r.Catalogued, r.SkippedTotal)
	}
	well, said := 0, map[string]int{}
	for _, f := range files {
		got := codes(d.pulled(s.path(f.name)))
		slices.Sort(got)
		if !slices.Equal(got, f.codes) && (len(got) > 0 || len(f.codes) > 0) {
			t.Errorf("%s: %v, want %v\n%.300s", f.name, got, f.codes, f.text)
		}
		if len(f.codes) == 0 {
			well++
		}
		for _, code := range got {
			said[code]++
		}
	}
	t.Logf("%d of %d files catalogued; 0 diagnostics on %d well-formed files; of the others %v", status.Roots[0].Catalogued, corpusFiles, well, said)
}
