package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxRememberBytes bounds the text of one memory that is to be remembered
// (64 KiB).
const MaxRememberBytes = 64 << 10

// maxNameRunes bounds a name or description that is derived from a text.
const maxNameRunes = 72

// maxTwins is how many memories a ranker is asked for that may say the same.
const maxTwins = 50

// Ranked is a memory that a text is about.
type Ranked struct {
	Doc   *Document
	Score float64
	Why   []Ground
}

// RankQuery asks for the memories that a text is about, the best first.
type RankQuery struct {
	Text     string
	Scopes   []Scope // empty: all
	Folder   string  // with a folder, project and team roots of other folders are out
	Limit    int
	Inactive bool // superseded and expired ones too
	Now      time.Time
}

// Ranker finds the memories that a text is about.
type Ranker interface {
	Rank(ctx context.Context, snap *Snapshot, q RankQuery) ([]Ranked, error)
}

// Remember is what is to be remembered.
type Remember struct {
	Text string
	// Scope, Type and Name are taken from the text when they are empty.
	Scope    Scope
	Type     string
	Name     string
	Keywords []string
	Session  string
	Folder   string
	Now      time.Time
}

// Remembered is what remembering comes to: a draft, or the memories that say it
// already.
type Remembered struct {
	Draft     Draft
	Unchanged []string // refs; the draft is empty then
}

// PlanRemember makes the draft that remembers a text: a new file, or the change
// of the memory that says the same or less. Roots are those served, in order;
// ranker may be nil, then all memories are looked at. Errors are refusals.
func PlanRemember(ctx context.Context, snap *Snapshot, roots []*Root, ranker Ranker, q Remember) (*Remembered, error) {
	m := &rememberer{Remember: q, snap: snap, roots: roots}
	if err := m.read(); err != nil {
		return nil, err
	}
	twins, err := m.twins(ctx, ranker)
	if err != nil {
		return nil, err
	}
	if len(twins.saying) > 0 {
		return &Remembered{Unchanged: twins.saying}, nil
	}
	if t := twins.best; t != nil {
		e, warnings, err := m.update(t)
		if err != nil {
			return nil, err
		}
		return &Remembered{Draft: Draft{Kind: KindRemember, Session: q.Session, Edits: []Edit{*e}, Warnings: warnings}}, nil
	}
	e, err := m.create()
	if err != nil {
		return nil, err
	}
	d := Draft{Kind: KindRemember, Session: q.Session, Edits: []Edit{*e}}
	if m.Scope != "" && m.Scope != e.Root.Scope {
		d.Warnings = append(d.Warnings, fmt.Sprintf("the text speaks of the scope %s, and no %s memory can be written to here: it is kept in %s", m.Scope, m.Scope, e.Root.Scope))
	}
	return &Remembered{Draft: d}, nil
}

// rememberer makes one draft.
type rememberer struct {
	Remember
	snap        *Snapshot
	roots       []*Root
	body        string   // what is to be remembered
	said        []string // its words
	name        string
	description string
	named       bool // the name was given
	typed       bool // the type was given
	scoped      bool // the scope was given

	// What extraction adds: the documents to compare with in the place of those that
	// a ranker finds, the session that a new file comes from, and what follows the
	// statement in it.
	pool   []*Document
	origin string
	more   string
}

// read understands the request.
func (m *rememberer) read() error {
	switch {
	case len(m.Text) > MaxRememberBytes:
		return refuse(RefusedTooLarge, nil, "the text has %d bytes; at most %d are remembered as one memory", len(m.Text), MaxRememberBytes)
	case m.Scope != "" && !m.Scope.Valid():
		return &Refusal{Kind: RefusedInput, Field: "scope", Detail: fmt.Sprintf("%.40q is none of project, user, team", m.Scope)}
	}
	for _, given := range []struct{ field, text string }{{"text", m.Text}, {"type", m.Type}, {"name", m.Name}, {"keywords", strings.Join(m.Keywords, "\n")}} {
		if !utf8.ValidString(given.text) {
			return &Refusal{Kind: RefusedInput, Field: given.field, Detail: "it is no UTF-8 text: convert it first"}
		}
	}
	m.body = strings.TrimSpace(withoutLead(cleanText(m.Text)))
	m.said = words(m.body)
	if len(m.said) == 0 || onlyLead(m.body) {
		return &Refusal{Kind: RefusedInput, Field: "text", Detail: "there is nothing to remember in the text"}
	}
	typ, scope := inferred(m.body)
	m.typed = m.Type != ""
	m.scoped = m.Scope != ""
	m.Scope = cmp.Or(m.Scope, scope)
	m.Type = cmp.Or(knownType(m.Type), CleanLine(m.Type), typ, TypeUser)
	m.name = clipWords(CleanLine(m.Name), maxTitleRunes)
	if m.named = m.name != ""; !m.named {
		m.name = nameOf(m.body)
	}
	m.description = clipWords(sentence(m.body), maxNameRunes)
	return nil
}

// cleanText is a text without characters that show nothing, and with lines that
// end in LF. What it says stays.
func cleanText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && r != zwj && r != zwnj && invisible(r) {
			return -1
		}
		return r
	}, s)
}

// nameOf derives a name from a text: its first clause.
func nameOf(text string) string { return clipWords(clause(sentence(text)), maxNameRunes) }

// sentence is the first sentence of a text, as one line without marks.
func sentence(text string) string {
	line := ""
	for l := range strings.Lines(text) {
		if line = bare(l); line != "" {
			break
		}
	}
	for i, r := range line {
		end := i + utf8.RuneLen(r)
		next, _ := utf8.DecodeRuneInString(line[end:])
		switch {
		case strings.ContainsRune("。！？｡۔।॥", r), strings.ContainsRune("!?؟.", r) && next == ' ' && !abbreviated(line[:i]):
			return line[:i]
		}
	}
	return strings.TrimRight(line, ".!?؟ ")
}

// abbreviated tells whether a point behind s is that of an abbreviation or a
// number: "e.g.", "Dr.", "3.".
func abbreviated(s string) bool {
	word := s[strings.LastIndexAny(s, " (")+1:]
	return utf8.RuneCountInString(word) < 3 || strings.Contains(word, ".")
}

// bare is a line without the marks of Markdown.
func bare(line string) string {
	line = strings.TrimSpace(line)
	if h := atxHeading(line); h != "" {
		line = h
	}
	line = line[quotePrefix(line):]
	if line == "" || fenceMark(line) != "" || isRule(line) {
		return ""
	}
	line = line[min(readListMark(line).width, len(line)):]
	return unmark(CleanLine(strings.NewReplacer("**", "", "__", "", "`", "").Replace(line)))
}

// minClause and minClauseWords keep "In this project" from being a name.
const (
	minClause      = 12
	minClauseWords = 4
)

// clause is the first clause of a sentence, unless that says next to nothing.
func clause(s string) string {
	for i, r := range s {
		rest := s[i+utf8.RuneLen(r):]
		wide := strings.ContainsRune("，；：、、—", r)
		narrow := strings.ContainsRune(",;:–-()", r) && (strings.HasPrefix(rest, " ") || r == '(')
		if !wide && !narrow {
			continue
		}
		head := strings.TrimRight(s[:i], " ")
		if n := len(words(head)); n >= minClauseWords && (utf8.RuneCountInString(head) >= minClause || wide) {
			return head
		}
	}
	return s
}

// clipWords cuts a line after whole words, at most n characters long.
func clipWords(s string, n int) string {
	cut, long := clipRunes(s, n)
	if !long {
		return s
	}
	next, _ := utf8.DecodeRuneInString(s[len(cut):])
	last, _ := utf8.DecodeLastRuneInString(cut)
	if !unicode.IsSpace(next) && !unsegmented(last) {
		if i := strings.LastIndexFunc(cut, func(r rune) bool { return unicode.IsSpace(r) || unsegmented(r) }); i > 0 {
			_, width := utf8.DecodeRuneInString(cut[i:])
			cut = cut[:i+width]
		}
	}
	// No character without the marks on it.
	for len(cut) > 0 && unicode.IsMark(next) {
		_, width := utf8.DecodeLastRuneInString(cut)
		next, _ = utf8.DecodeRuneInString(cut[len(cut)-width:])
		cut = cut[:len(cut)-width]
	}
	return strings.TrimRight(cut, " ,;:，、；：–—-(")
}

// twin is a memory that the text changes.
type twin struct {
	doc     *Document
	entry   *Entry // what it replaces; nil when it is added
	extends bool
}

type twins struct {
	saying []string // refs of what says it already
	best   *twin
}

// twins finds the memories that say what is to be remembered, and the one that
// it changes: an entry that says less, else a memory of the same name.
func (m *rememberer) twins(ctx context.Context, ranker Ranker) (twins, error) {
	candidates, err := m.candidates(ctx, ranker)
	if err != nil {
		return twins{}, err
	}
	var t twins
	name := words(m.name)
	for d := range candidates {
		if err := ctx.Err(); err != nil {
			return twins{}, fmt.Errorf("looking for what is known: %w", err)
		}
		entries := Entries(d)
		before := len(t.saying)
		named := slices.Equal(words(d.Title), name) && (!m.typed || d.Type == "" || d.Type == m.Type)
		for i := range entries {
			e := &entries[i]
			old := words(d.Text[e.Span.Start:e.Span.End])
			switch {
			case relate(old, m.said) == alreadySaid:
				t.saying = append(t.saying, entryRef(d, i, len(entries)))
			case relate(words(d.Text[e.SummarySpan.Start:e.SummarySpan.End]), m.said) == saysMore:
				t.offer(&twin{d, e, true}, m)
			case named && sameButNumbers(words(d.Text[e.SummarySpan.Start:e.SummarySpan.End]), m.said):
				t.offer(&twin{d, e, false}, m)
			}
		}
		if len(t.saying) == before && relate(words(d.BodyText()), m.said) == alreadySaid {
			t.saying = append(t.saying, d.Ref)
		}
		if named {
			t.offer(&twin{doc: d}, m)
		}
	}
	slices.Sort(t.saying)
	return t, nil
}

// offer keeps the better one of two twins that can be changed: one that the text
// extends, then one that it puts right, then one that it is added to.
func (t *twins) offer(n *twin, m *rememberer) {
	if writable(n.doc.Root, nil) != nil || n.doc.Truncated || n.doc.Lossy {
		return
	}
	rank := func(t *twin) int {
		switch {
		case t == nil:
			return 0
		case t.entry == nil:
			return 1
		case !t.extends:
			return 2
		}
		return 3
	}
	if rank(n) > rank(t.best) || rank(n) == rank(t.best) && n.doc.Ref < t.best.doc.Ref {
		t.best = n
	}
}

func entryRef(d *Document, i, of int) string {
	if of == 1 {
		return d.Ref
	}
	return d.Ref + "#" + strconv.Itoa(i)
}

// candidates are the memories that may say the same: those that the ranker finds
// and those of the same name, or all.
func (m *rememberer) candidates(ctx context.Context, ranker Ranker) (iter.Seq[*Document], error) {
	if m.pool != nil {
		return slices.Values(m.pool), nil
	}
	if ranker == nil {
		return func(yield func(*Document) bool) {
			for d := range m.snap.All() {
				if m.sees(d) && !yield(d) {
					return
				}
			}
		}, nil
	}
	q := RankQuery{Text: m.name + "\n" + m.body, Folder: m.Folder, Limit: maxTwins, Now: m.Now}
	if m.scoped {
		q.Scopes = []Scope{m.Scope}
	}
	ranked, err := ranker.Rank(ctx, m.snap, q)
	if err != nil {
		return nil, fmt.Errorf("looking for what is known: %w", err)
	}
	seen := map[string]bool{}
	var docs []*Document
	add := func(d *Document) {
		if !seen[d.Ref] && m.sees(d) {
			seen[d.Ref] = true
			docs = append(docs, d)
		}
	}
	for _, r := range ranked {
		add(r.Doc)
	}
	name := foldName(m.name)
	for d := range m.snap.All() {
		if foldName(d.Title) == name {
			add(d)
		}
	}
	return slices.Values(docs), nil
}

// sees tells whether a memory is of those that are asked about and holds.
func (m *rememberer) sees(d *Document) bool {
	return d.ActiveAt(m.Now) && d.Root.Folders.Has(m.Folder) && (!m.scoped || d.Root.Scope == m.Scope)
}

// target is the root that a new memory goes to.
func (m *rememberer) target() (*Root, error) {
	if m.scoped {
		return WritableRoot(m.roots, m.Scope, m.Folder)
	}
	order := []Scope{ScopeUser, ScopeProject}
	switch m.Scope {
	case ScopeTeam: // what is meant for others is nearer to the project than to one of them
		order = []Scope{ScopeTeam, ScopeProject, ScopeUser}
	case ScopeProject:
		order = []Scope{ScopeProject, ScopeUser}
	}
	// A root that may not be written to tells more than one that is not there.
	var why error
	for _, scope := range order {
		r, err := WritableRoot(m.roots, scope, m.Folder)
		if err == nil {
			return r, nil
		}
		if r, ok := errors.AsType[*Refusal](err); why == nil || ok && r.Kind != RefusedNotFound {
			why = err
		}
	}
	return nil, why
}

// create makes a new file.
func (m *rememberer) create() (*Edit, error) {
	root, err := m.target()
	if err != nil {
		return nil, err
	}
	return &Edit{Action: ActionCreate, Root: root, Rel: m.freeName(root), Text: m.file(), Reason: "asked for"}, nil
}

// file is the text of a new file.
func (m *rememberer) file() string {
	return newFile(m.body+"\n"+m.more,
		KeyChange{Key: "name", Text: m.name}, KeyChange{Key: "description", Text: m.description}, KeyChange{Key: "type", Text: m.Type},
		KeyChange{Key: "keywords", List: m.keywords()}, KeyChange{Key: "created_at", Text: m.Now.UTC().Format(time.RFC3339)},
		KeyChange{Key: "originSessionId", Text: m.origin})
}

// keywords are the given ones as displayable lines, each once; nil for none.
func (m *rememberer) keywords() []string {
	var out []string
	for _, k := range m.Keywords {
		if k, _ = clipRunes(CleanLine(k), maxItemRunes); k != "" && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// freeName is the name of the new file: in the folder of its type where the root
// has such folders, and not taken, whatever the case.
func (m *rememberer) freeName(root *Root) string {
	taken := map[string]bool{}
	// qwen-code keeps a folder for each type.
	folders := root.Profile == "qwen"
	for d := range m.snap.All() {
		if d.Root.Real != root.Real {
			continue
		}
		taken[foldName(d.Rel)] = true
		folder, _, nested := strings.Cut(d.Rel, "/")
		folders = folders || nested && knownType(folder) != ""
	}
	dir := ""
	if folders {
		dir = knownType(m.Type)
	}
	slug := Slug(m.name)
	for n := 1; ; n++ {
		name := slug
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		if rel := path.Join(dir, name+".md"); !taken[foldName(rel)] {
			return rel
		}
	}
}

// update changes the twin: its statement becomes the new one, or the new one is
// added to it.
func (m *rememberer) update(t *twin) (*Edit, []string, error) {
	d := t.doc
	e := &Edit{Action: ActionUpdate, Doc: d}
	old := ""
	if t.entry != nil {
		s := t.entry.SummarySpan
		old = d.Text[s.Start:s.End]
		e.Replace = []Replacement{{s, indentLike(d.Text, s.Start, m.body)}}
		e.Reason = "replaces what says the same with another value"
		if t.extends {
			e.Reason = "replaces what says less"
		}
	} else {
		e.Replace = []Replacement{appendEntry(d, m.body)}
		e.Reason = "added to the memory of the same name"
	}
	head, warning := m.head(d, old)
	e.Replace = append(e.Replace, head...)
	var warnings []string
	if warning != "" {
		warnings = append(warnings, warning)
	}
	return e, warnings, nil
}

// head changes the keys of a memory that follow from what it says: a name and a
// description that were derived from the old statement, and its dates. A header
// that cannot be edited stays as it is.
func (m *rememberer) head(d *Document, old string) ([]Replacement, string) {
	if d.Header.Len() == 0 {
		return nil, ""
	}
	var changes []KeyChange
	if old != "" && slices.Equal(words(d.Title), words(nameOf(old))) && !m.named {
		changes = append(changes, KeyChange{Key: "name", Text: m.name})
	}
	if old != "" && d.Description != "" && slices.Equal(words(d.Description), words(clipWords(sentence(old), maxNameRunes))) {
		changes = append(changes, KeyChange{Key: "description", Text: m.description})
	}
	if list := m.keywords(); list != nil && d.Keywords == nil {
		changes = append(changes, KeyChange{Key: "keywords", List: list})
	}
	if !d.CreatedAt.IsZero() || !d.UpdatedAt.IsZero() {
		changes = append(changes, KeyChange{Key: "updated_at", Text: m.Now.UTC().Format(time.RFC3339)})
	}
	if len(changes) == 0 {
		return nil, ""
	}
	reps, err := SetKeys(d, changes...)
	if err != nil {
		return nil, d.Ref + ": " + err.Error()
	}
	return reps, ""
}

// indentLike is a text as it stands at a place of another: with its further
// lines indented as far as the place is.
func indentLike(text string, at int, s string) string {
	start := strings.LastIndexAny(text[:at], "\r\n") + 1
	column := 0
	for _, r := range text[start:at] {
		if r == '\t' {
			column += tabStop - column%tabStop
		} else {
			column++
		}
	}
	return indentLines(s, column, LineEnd(text))
}

func indentLines(s string, column int, eol string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		if i > 0 && lines[i] != "" {
			lines[i] = strings.Repeat(" ", column) + lines[i]
		}
	}
	return strings.Join(lines, eol)
}

// appendEntry adds an entry behind the last one of a body, as one more item when
// that is one.
func appendEntry(d *Document, s string) Replacement {
	eol := LineEnd(d.Text)
	if d.placeholder {
		for pos := d.Body.Start; pos < d.Body.End; {
			line, next := lineAt(d.Text, pos)
			if isNoEntries(strings.TrimSpace(d.Text[line.Start:line.End])) {
				return Replacement{line, indentLines(s, 0, eol)}
			}
			pos = next
		}
	}
	at := Span{d.Body.End, d.Body.End}
	if d.Body.Len() == 0 {
		before := ""
		if d.Body.Start > 0 && !strings.HasSuffix(d.Text[:d.Body.Start], "\n") {
			before = eol
		}
		return Replacement{Span{d.Body.Start, d.Body.Start}, before + indentLines(s, 0, eol) + eol}
	}
	if entries := Entries(d); len(entries) > 0 {
		last := entries[len(entries)-1]
		first, _ := lineAt(d.Text, last.Span.Start)
		if line := d.Text[first.Start:first.End]; readListMark(line).width > 0 && strings.IndexByte("-*+", line[0]) >= 0 {
			return Replacement{at, eol + line[:1] + " " + indentLines(s, 2, eol)}
		}
	}
	return Replacement{at, eol + eol + indentLines(s, 0, eol)}
}
