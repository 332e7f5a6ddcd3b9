package memory_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
)

// The shape of the memories that agents keep in public repositories, counted over
// 975 files and 41 indexes: how many deviate in which way from the form that
// their programs describe.
const (
	corpusFiles   = 975
	corpusRoots   = 47
	corpusIndexes = 41
)

// made is one file of a corpus with what a reader must find in it.
type made struct {
	root                                      int
	rel, text                                 string
	header                                    bool
	title, description, kind, session, marker string
	problems                                  []string
}

// features deals features out to files: so many of each, chosen by a generator of
// its own, so that the combinations are as mixed as in the wild.
type features struct {
	rng *rand.Rand
	has map[string]map[int]bool
}

// deal gives a feature to n of the files for which ok holds.
func (f *features) deal(t testing.TB, name string, n int, ok func(i int) bool) {
	t.Helper()
	var eligible []int
	for i := range corpusFiles {
		if ok == nil || ok(i) {
			eligible = append(eligible, i)
		}
	}
	if len(eligible) < n {
		t.Fatalf("%s: %d files of %d", name, len(eligible), n)
	}
	f.rng.Shuffle(len(eligible), func(a, b int) { eligible[a], eligible[b] = eligible[b], eligible[a] })
	f.has[name] = map[int]bool{}
	for _, i := range eligible[:n] {
		f.has[name][i] = true
	}
}

// is tells whether a file has all of some features.
func (f *features) is(i int, names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !f.has[name][i] })
}

// none tells whether a file has none of some features.
func (f *features) none(i int, names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return f.has[name][i] })
}

// corpusSize is the size of the i-th smallest file: the median is 2,290 bytes, 90 %
// are below 7,383, 99 % below 31,597, thirteen are above 25,000 and the largest
// has 226,307.
func corpusSize(i int) int {
	between := func(from, to, low, high int) int { return low + (high-low)*(i-from)/max(to-from, 1) }
	switch {
	case i < 140:
		return between(0, 139, 260, 1_200)
	case i < 488:
		return between(140, 487, 1_201, 2_290)
	case i < 878:
		return between(488, 877, 2_291, 7_383)
	case i < 962:
		return between(878, 961, 7_384, 24_990)
	case i < 966:
		return between(962, 965, 25_100, 31_597)
	case i < 973:
		return between(966, 972, 40_000, 95_000)
	}
	return []int{120_000, 226_307}[i-973]
}

func corpusFeatures(t testing.TB) *features {
	f := &features{rng: rand.New(rand.NewPCG(975, 41)), has: map[string]map[int]bool{}}
	f.deal(t, "plain", 99, nil)
	f.deal(t, "unclosed", 1, func(i int) bool { return f.none(i, "plain") })
	closed := func(i int) bool { return f.none(i, "plain", "unclosed") } // 875
	f.deal(t, "no type", 12, closed)
	f.deal(t, "odd type", 7, func(i int) bool { return closed(i) && f.none(i, "no type") })
	f.deal(t, "metadata", 494, func(i int) bool { return closed(i) && f.none(i, "odd type", "no type") })
	f.deal(t, "nested type", 493, func(i int) bool { return f.is(i, "metadata") })
	f.deal(t, "blank behind metadata", 349, func(i int) bool { return f.is(i, "metadata") })
	f.deal(t, "node type", 380, func(i int) bool { return f.is(i, "metadata") })
	f.deal(t, "nested session", 378, func(i int) bool { return f.is(i, "metadata") })
	f.deal(t, "session", 183, func(i int) bool { return closed(i) && f.none(i, "nested session") })
	f.deal(t, "modified", 92, func(i int) bool { return f.is(i, "metadata") })
	f.deal(t, "no name", 1, closed)
	f.deal(t, "no description", 2, closed)
	named := func(i int) bool { return closed(i) && f.none(i, "no name") }
	described := func(i int) bool { return closed(i) && f.none(i, "no description") }
	f.deal(t, "free name", 375, named)
	f.deal(t, "colon in name", 2, func(i int) bool { return named(i) && f.none(i, "free name") })
	f.deal(t, "hash in name", 2, func(i int) bool { return named(i) && f.none(i, "free name", "colon in name") })
	f.deal(t, "quoted", 213, described)
	f.deal(t, "escapes", 23, func(i int) bool { return f.is(i, "quoted") })
	unquoted := func(i int) bool { return described(i) && f.none(i, "quoted") }
	f.deal(t, "broken quote", 2, unquoted)
	f.deal(t, "colon", 15, func(i int) bool { return unquoted(i) && f.none(i, "broken quote") })
	f.deal(t, "hash", 11, func(i int) bool { return unquoted(i) && f.none(i, "broken quote", "colon", "colon in name") })
	f.deal(t, "folded", 1, func(i int) bool { return unquoted(i) && f.none(i, "broken quote", "colon", "hash", "colon in name") })
	f.deal(t, "blank on top", 1, closed)
	for _, any := range []struct {
		name string
		n    int
	}{
		{"why", 465}, {"wiki", 431}, {"cjk", 297}, {"cyrillic", 6}, {"arabic", 4}, {"emoji", 313}, {"html", 166}, {"code", 87}, {"rule", 24}, {"crlf", 74},
		{"no final newline", 61}, {"long line", 6}, {"zero width", 1}, {"replaced", 1},
	} {
		f.deal(t, any.name, any.n, nil)
	}
	return f
}

// corpus makes the files, the same ones every time.
func corpus(t testing.TB) []made {
	f := corpusFeatures(t)
	var kinds []string
	for _, k := range []struct {
		name string
		n    int
	}{{"project", 433}, {"feedback", 313}, {"reference", 83}, {"user", 27}} {
		for range k.n {
			kinds = append(kinds, k.name)
		}
	}
	f.rng.Shuffle(len(kinds), func(a, b int) { kinds[a], kinds[b] = kinds[b], kinds[a] })
	sizes := f.rng.Perm(corpusFiles)
	files := make([]made, corpusFiles)
	for i := range files {
		m := &files[i]
		m.header = f.none(i, "plain")
		m.marker = fmt.Sprintf("marker%04dq", i)
		if m.header && f.none(i, "no type", "odd type", "unclosed") {
			m.kind, kinds = kinds[0], kinds[1:]
		}
		m.name(f, i)
		m.write(f, i, corpusSize(sizes[i]))
	}
	if len(kinds) != 0 {
		t.Fatalf("%d kinds are left", len(kinds))
	}
	return files
}

// name gives the file its root and path: 885 files lie in the roots that have an
// index.
func (m *made) name(f *features, i int) {
	m.root = i % corpusIndexes
	if i >= 885 {
		m.root = corpusIndexes + i%(corpusRoots-corpusIndexes)
	}
	kind := m.kind
	if kind == "" {
		kind = "note"
	}
	slug := fmt.Sprintf("topic-%03d", i)
	if f.is(i, "cjk") && i%3 == 0 {
		slug = fmt.Sprintf("メモ-%03d", i)
	}
	m.rel = []string{kind + "_" + slug + ".md", slug + ".md", kind + "/" + slug + ".md"}[i%3]
}

func (m *made) write(f *features, i, size int) {
	var b strings.Builder
	if f.is(i, "blank on top") {
		b.WriteString("\n \n")
	}
	if m.header {
		b.WriteString("---\n")
		m.keys(f, i, &b)
		if f.none(i, "unclosed") {
			b.WriteString("---\n")
		}
		b.WriteString("\n")
	}
	m.body(f, i, &b, size)
	m.text = b.String()
	if f.is(i, "no final newline") {
		m.text = strings.TrimRight(m.text, "\n")
	}
	if f.is(i, "crlf") {
		m.text = strings.ReplaceAll(m.text, "\n", "\r\n")
	}
	if len(m.text) > memory.MaxSearchedBytes {
		m.problems = append(m.problems, memory.ProblemTruncated)
	}
	if f.is(i, "zero width") {
		m.problems = append(m.problems, memory.ProblemInvisible)
	}
	if f.is(i, "replaced") {
		m.problems = append(m.problems, memory.ProblemDamaged)
	}
}

func (m *made) keys(f *features, i int, b *strings.Builder) {
	line := func(key, value string) { fmt.Fprintf(b, "%s: %s\n", key, value) }
	if f.none(i, "no name") {
		m.title = fmt.Sprintf("topic-%03d", i)
		switch {
		case f.is(i, "free name"):
			m.title = fmt.Sprintf("Topic %d, as people say it", i)
		case f.is(i, "colon in name"):
			m.title = fmt.Sprintf("Topic %d (Split: Core)", i)
			m.problems = append(m.problems, memory.ProblemSyntax)
		case f.is(i, "hash in name"):
			m.title = fmt.Sprintf("Topic of #ops %d", i)
			m.problems = append(m.problems, memory.ProblemCut)
		}
		line("name", m.title)
	}
	if f.none(i, "no description") {
		line("description", m.describe(f, i))
	}
	if f.is(i, "session") {
		m.session = fmt.Sprintf("session-%d", i)
		line("originSessionId", m.session)
	}
	switch {
	case f.is(i, "odd type"):
		m.kind = []string{"architecture", "decisions", "feature", "handoff"}[i%4]
		line("type", m.kind)
		m.problems = append(m.problems, memory.ProblemType)
	case m.kind != "" && f.none(i, "nested type"):
		line("type", m.kind)
	}
	if f.is(i, "metadata") {
		m.metadata(f, i, b)
	}
	if f.is(i, "unclosed") {
		m.problems = append(m.problems, memory.ProblemUnclosed)
	}
	if slices.Contains(m.problems, memory.ProblemSyntax) {
		// What a line reader takes as it stands cuts nothing.
		m.problems = slices.DeleteFunc(m.problems, func(c string) bool { return c == memory.ProblemCut })
		m.problems = slices.Compact(m.problems)
	}
}

// describe is the value of the description as it is written.
func (m *made) describe(f *features, i int) string {
	m.description = fmt.Sprintf("what is known of topic %d and when it matters", i)
	switch {
	case f.is(i, "escapes"):
		m.description = fmt.Sprintf(`the "quoted" path C:\dir of topic %d`, i)
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(m.description) + `"`
	case f.is(i, "quoted"):
		return `"` + m.description + `"`
	case f.is(i, "broken quote"):
		m.description = fmt.Sprintf(`abc "def" topic %d`, i)
		m.problems = append(m.problems, memory.ProblemSyntax)
		return `"` + m.description + `"`
	case f.is(i, "colon"):
		m.description = fmt.Sprintf("topic %d: not as it seems", i)
		m.problems = append(m.problems, memory.ProblemSyntax)
	case f.is(i, "hash"):
		m.description = fmt.Sprintf("see issue #%d for it", i)
		m.problems = append(m.problems, memory.ProblemCut)
	case f.is(i, "folded"):
		m.description = fmt.Sprintf("folded text of topic %d", i)
		return ">-\n  folded text\n  of topic " + fmt.Sprint(i)
	}
	return m.description
}

func (m *made) metadata(f *features, i int, b *strings.Builder) {
	b.WriteString("metadata:")
	if f.is(i, "blank behind metadata") {
		b.WriteString(" ")
	}
	b.WriteString("\n")
	if f.is(i, "node type") {
		b.WriteString("  node_type: memory\n")
	}
	if f.is(i, "nested type") {
		fmt.Fprintf(b, "  type: %s\n", m.kind)
	}
	if f.is(i, "nested session") {
		m.session = fmt.Sprintf("session-%d", i)
		fmt.Fprintf(b, "  originSessionId: %s\n", m.session)
	}
	if f.is(i, "modified") {
		b.WriteString("  modified: 2026-02-03T04:05:06.789Z\n")
	}
	if f.none(i, "node type", "nested type", "nested session", "modified") {
		b.WriteString("  version: 2\n")
	}
}

func (m *made) body(f *features, i int, b *strings.Builder, size int) {
	if m.title == "" {
		m.title = fmt.Sprintf("Heading of %d", i)
		fmt.Fprintf(b, "# %s\n\n", m.title)
	}
	fmt.Fprintf(b, "The rule of this note is %s.\n\n", m.marker)
	for _, part := range []struct{ feature, text string }{
		{"why", "**Why:** it once went wrong.\n**How to apply:** before every release.\n\n"}, {"wiki", "Related: [[topic-001]], [[no-such|that]].\n\n"},
		{"cjk", "部署用蓝绿，先看监控。デプロイは月曜日。\n\n"}, {"cyrillic", "Развёртывание по понедельникам.\n\n"}, {"arabic", "النشر يوم الإثنين\n\n"}, {"emoji", "Done ✅ and 👩‍💻 shipped 🚀\n\n"},
		{"html", "<details><summary>more</summary>\n\ntext</details>\n\n"}, {"code", "```go\n// # no heading\nfunc x() {}\n```\n\n"}, {"rule", "above\n\n---\n\nbelow\n\n"},
		{"zero width", "zero\u200Bwidth\n\n"}, {"replaced", "a \uFFFD stands here\n\n"},
	} {
		if f.is(i, part.feature) {
			b.WriteString(part.text)
		}
	}
	if f.is(i, "long line") {
		b.WriteString(strings.Repeat("a line without an end ", 100) + "\n\n")
	}
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(b, "- point %d on how this is done here, with a word or two about it\n", n)
	}
}

// Of a corpus with the deviations of real memories, in the same numbers, every
// file is catalogued, with what it says, and a well-formed one has no problem.
func TestRealFilesAreAllCatalogued(t *testing.T) {
	files := corpus(t)
	base := tempDir(t)
	var roots []memory.RootConfig
	for i := range corpusRoots {
		roots = append(roots, project(filepath.Join(base, fmt.Sprintf("r%02d", i))))
	}
	for _, m := range files {
		write(t, roots[m.root].Path, m.rel, m.text)
	}
	s := open(t, base, withRoots(roots...)).ready()
	present, catalogued := 0, 0
	prefixes := make([]string, corpusRoots)
	for i, r := range s.Roots() {
		present += r.OnDisk
		catalogued += r.Catalogued
		prefixes[i] = r.Root.Prefix
		if len(r.Skipped) > 0 {
			t.Errorf("skipped: %v", r.Skipped)
		}
	}
	t.Logf("files catalogued / files present: %d / %d = %.1f %%", catalogued, present, 100*float64(catalogued)/float64(present))
	if present != corpusFiles || catalogued != corpusFiles || s.Len() != corpusFiles {
		t.Errorf("%d of %d files, %d documents", catalogued, present, s.Len())
	}
	clean := 0
	for d := range s.All() {
		i := slices.IndexFunc(files, func(m made) bool { return prefixes[m.root] == d.Root.Prefix && m.rel == d.Rel })
		m := files[i]
		checkDocument(t, d)
		checkKeys(t, d)
		if d.Title != m.title || d.Description != m.description || d.OriginSession != m.session || m.kind != "" && d.Type != m.kind ||
			!strings.Contains(d.BodyText(), m.marker) || strings.Contains(d.BodyText(), "description:") {
			t.Errorf("%s: title %q, description %q, type %q, session %q\nof %.300q", m.rel, d.Title, d.Description, d.Type, d.OriginSession, m.text)
		}
		if got := codes(d); !slices.Equal(got, m.problems) {
			t.Errorf("%s: problems %q, want %q of %.300q", m.rel, got, m.problems, m.text)
		}
		if len(m.problems) == 0 {
			clean++
		}
		entries := memory.Entries(d)
		e := entries[len(entries)-1]
		replace(t, []byte(m.text), d, memory.Replacement{Span: e.Removal(d)})
	}
	if clean < 900 {
		t.Errorf("%d files are well-formed", clean)
	}
}

// Indexes as they are found: every line is known for what it is, and of their
// links 90 lead nowhere while 60 files beside them are not listed.
func TestRealIndexesDrift(t *testing.T) {
	files := corpus(t)
	base := tempDir(t)
	rng := rand.New(rand.NewPCG(41, 1342))
	lines := make([][]string, corpusIndexes)
	hook := func(i int) string {
		text := fmt.Sprintf("what topic %d is about", i)
		if i%4 == 0 {
			text += strings.Repeat(" and more of it", 14)
		}
		return text
	}
	listed := 0
	for i, m := range files {
		if m.root >= corpusIndexes {
			continue
		}
		if i%15 == 0 && i/15 < 60 { // 59 of 885, and one more
			continue
		}
		if i == 1 {
			continue
		}
		name := strings.ReplaceAll(m.rel, " ", "%20")
		line := fmt.Sprintf([]string{"- [%s](%s) — %s", "- [%s](%s) - %s", "- [%s](%s): %s"}[i%3], strings.NewReplacer("[", "(", "]", ")").Replace(m.title), name, hook(i))
		switch {
		case listed < 11:
			line = "- `" + m.rel + "` — " + hook(i)
		case listed < 20:
			line = fmt.Sprintf("%d. [%s](%s) — %s", listed, m.title, name, hook(i))
		}
		listed++
		lines[m.root] = append(lines[m.root], line)
	}
	add := func(n int, form func(i int) string) {
		for i := range n {
			root := rng.IntN(corpusIndexes)
			at := rng.IntN(len(lines[root]) + 1)
			lines[root] = slices.Insert(lines[root], at, form(i))
		}
	}
	add(90, func(i int) string { return fmt.Sprintf("- [Gone %d](gone_%d.md) — was here", i, i) })
	add(216, func(i int) string { return fmt.Sprintf("- a fact %d that only the index has", i) })
	add(8, func(i int) string { return fmt.Sprintf("%d. a numbered fact", i+1) })
	add(164, func(i int) string { return fmt.Sprintf("## Section %d", i) })
	add(34, func(i int) string { return fmt.Sprintf("Some prose %d.", i) })
	add(4, func(i int) string { return fmt.Sprintf("> quoted %d", i) })
	var roots []memory.RootConfig
	for i := range corpusIndexes {
		roots = append(roots, project(filepath.Join(base, fmt.Sprintf("r%02d", i))))
		write(t, roots[i].Path, "MEMORY.md", strings.Join(lines[i], "\n")+"\n")
	}
	for _, m := range files {
		if m.root < corpusIndexes {
			write(t, roots[m.root].Path, m.rel, m.text)
		}
	}
	s := open(t, base, withRoots(roots...)).ready()
	kinds := map[memory.IndexLineKind]int{}
	var missing, unlisted, resolved int
	for _, r := range s.Roots() {
		drift, ok := s.DriftOf(r.Root, nil)
		if !ok {
			t.Fatalf("no index in %s", r.Root.Path)
		}
		missing, unlisted, resolved = missing+len(drift.Missing), unlisted+len(drift.Unlisted), resolved+drift.Listed
		for _, l := range r.Index.Lines {
			kinds[l.Kind]++
		}
		// Rebuilding them loses no line that somebody wrote.
		c := memory.RebuildIndex(r.Index, s.Of(r.Root), memory.IndexOptions{})
		rest := c.Text
		for _, l := range r.Index.Lines {
			text := r.Index.Doc.Text[l.Span.Start:l.Span.End]
			if l.Kind == memory.IndexEntry && strings.Contains(text, "(gone_") {
				text = text[3:strings.Index(text, "](")]
			}
			_, after, ok := strings.Cut(rest, text)
			if !ok {
				t.Fatalf("%q is lost", text)
			}
			rest = after
		}
		next := memory.ParseIndex([]byte(c.Text)).Drift(s.Of(r.Root), nil)
		if len(next.Missing) != 0 || len(next.Unlisted) != len(c.Omitted) {
			t.Errorf("after a rebuild: %d missing, %d not listed, %d omitted", len(next.Missing), len(next.Unlisted), len(c.Omitted))
		}
	}
	want := map[memory.IndexLineKind]int{
		memory.IndexEntry: 825 + 90, memory.IndexFact: 216 + 8, memory.IndexHeading: 164, memory.IndexText: 34, memory.IndexQuote: 4,
	}
	for kind, n := range want {
		if kinds[kind] != n {
			t.Errorf("%d lines are %s, want %d", kinds[kind], kind, n)
		}
	}
	if len(kinds) != len(want) || missing != 90 || unlisted != 60 || resolved != 825 {
		t.Errorf("%d resolve, %d missing, %d not listed, kinds %v", resolved, missing, unlisted, kinds)
	}
}
