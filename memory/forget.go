package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// DefaultForgetLimit is how many candidates a query proposes when it does not
	// say.
	DefaultForgetLimit = 5
	// MaxForgetLimit is how many a query can ask for.
	MaxForgetLimit = 100
	// maxForgetCandidates bounds what a model chooses from.
	maxForgetCandidates = 400
	// maxForgetQuery bounds the words of a query that are looked for.
	maxForgetQuery = 64
)

// Target is a memory, or one of its entries, that is named by its ref.
type Target struct {
	Ref     Ref
	Version string // when given, the file must be of this version
}

// Forget is what is to be forgotten: the targets, or what a query finds.
type Forget struct {
	Targets []Target
	Query   string
	Scopes  []Scope // empty: all
	Folder  string
	Limit   int // candidates of a query; DefaultForgetLimit when 0
	Now     time.Time
}

// ForgetTools help a query. All may be nil.
type ForgetTools struct {
	// Ranker puts candidates in order, and proposes some to the selector.
	Ranker Ranker
	// Selector chooses by meaning; without one, or when it fails, only whole words
	// are looked for.
	Selector Selector
	// Content tells whether a word, folded, carries a topic.
	Content func(word string) bool
	// Writable tells why a memory cannot be changed now, nil when it can: a query
	// leaves it out, and says so.
	Writable func(*Document) error
}

// Candidate is one thing that a query may mean: a memory, or one of its entries.
type Candidate struct {
	Doc   *Document
	Entry int // NoEntry for the whole file
	// Summary is the entry in one line; empty for the whole file.
	Summary string

	removal Span
	score   float64
	rank    float64 // of its document
	why     []Ground
}

// Ref names the candidate.
func (c *Candidate) Ref() string {
	if c.Entry == NoEntry {
		return c.Doc.Ref
	}
	return fmt.Sprintf("%s#%d", c.Doc.Ref, c.Entry)
}

// Selector chooses which candidates a query means: their places in the list, the
// surest first, at most limit. None is an answer.
type Selector interface {
	Select(ctx context.Context, query string, candidates []Candidate, limit int) ([]int, error)
}

// PlanForget makes the draft that forgets. It changes nothing. Errors are
// refusals; nothing found is one.
func PlanForget(ctx context.Context, snap *Snapshot, tools ForgetTools, q Forget) (*Draft, error) {
	if len(q.Targets) > 0 {
		return forgetTargets(snap, q.Targets)
	}
	f := &forgetter{Forget: q, snap: snap, tools: tools}
	return f.plan(ctx)
}

// forgetTargets drafts the removal of exactly what was named.
func forgetTargets(snap *Snapshot, targets []Target) (*Draft, error) {
	d := &Draft{Kind: KindForget}
	var chosen []Candidate
	for _, t := range targets {
		c, err := named(snap, t)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(chosen, func(o Candidate) bool { return o.Ref() == c.Ref() }) {
			continue
		}
		c.score, c.why = 1, []Ground{{Field: "ref", Term: t.Ref.String(), Match: "exact"}}
		chosen = append(chosen, *c)
	}
	// Who names a file and an entry of it means the file.
	chosen = slices.DeleteFunc(chosen, func(c Candidate) bool {
		return c.Entry != NoEntry && slices.ContainsFunc(chosen, func(o Candidate) bool { return o.Entry == NoEntry && o.Doc == c.Doc })
	})
	return d, d.forget(snap, chosen)
}

// named is the candidate that a target names.
func named(snap *Snapshot, t Target) (*Candidate, error) {
	refs := []string{t.Ref.String()}
	doc, ok := snap.Get(t.Ref.File())
	switch {
	case !ok:
		return nil, refuse(RefusedNotFound, refs, "there is no memory %s", t.Ref.File())
	case t.Version != "" && t.Version != doc.Version:
		return nil, refuse(RefusedConflict, refs, "%s has changed: its version is %s", doc.Ref, doc.Version)
	case t.Ref.Entry == NoEntry:
		return &Candidate{Doc: doc, Entry: NoEntry}, nil
	}
	entries := Entries(doc)
	if t.Ref.Entry >= len(entries) {
		return nil, refuse(RefusedNotFound, refs, "%s has %d entries", doc.Ref, len(entries))
	}
	e := entries[t.Ref.Entry]
	return &Candidate{Doc: doc, Entry: t.Ref.Entry, Summary: e.Summary, removal: e.Removal(doc)}, nil
}

// forget adds the removal of the candidates to the draft.
func (d *Draft) forget(snap *Snapshot, chosen []Candidate) error {
	var whole []*Document
	for i := range chosen {
		c := &chosen[i]
		if c.Doc.Truncated {
			return refuse(RefusedTooLarge, []string{c.Doc.Ref}, "%s has more than %d bytes, of which only the first are read; change it in an editor", c.Doc.Ref, MaxFileBytes)
		}
		e := Edit{Action: ActionDelete, Doc: c.Doc, Reason: "the whole file", Why: c.why, Score: c.score}
		switch {
		case c.Entry == NoEntry:
			whole = append(whole, c.Doc)
		case c.last():
			e.Reason = "its last entry, and with it the file"
			whole = append(whole, c.Doc)
		default:
			n := c.Entry
			e.Action, e.Entry, e.DropEmpty = ActionUpdate, &n, true
			e.Replace = []Replacement{{Span: c.removal}}
			e.Reason = fmt.Sprintf("entry %d of %d", n+1, len(Entries(c.Doc)))
			if repeats(c.Doc, c.Doc.Text[c.removal.Start:c.removal.End]) {
				d.Warnings = append(d.Warnings, c.Ref()+": the title or description of the file repeats it, and stays unless the whole file goes")
			}
		}
		d.Edits = append(d.Edits, e)
	}
	d.Warnings = append(d.Warnings, emptied(chosen)...)
	for _, doc := range whole {
		for _, ref := range linkers(snap, doc) {
			d.Warnings = append(d.Warnings, ref+" links to "+doc.Ref)
		}
	}
	return nil
}

// last tells whether nothing is left of a file without an entry.
func (c *Candidate) last() bool {
	d := c.Doc
	return len(Entries(d)) == 1 && !d.Lossy && nothingLeft([]byte(d.Text[:c.removal.Start]+d.Text[c.removal.End:]))
}

// emptied says of which files all entries are among the candidates, one by one:
// such a file goes with them.
func emptied(chosen []Candidate) []string {
	var out []string
	count := map[*Document]int{}
	for i := range chosen {
		c := &chosen[i]
		if c.Entry == NoEntry {
			continue
		}
		count[c.Doc]++
		if n := len(Entries(c.Doc)); n > 1 && count[c.Doc] == n {
			out = append(out, c.Doc.Ref+" goes with its entries when all of them go")
		}
	}
	return out
}

// maxLinkers bounds the warnings about links to one memory.
const maxLinkers = 20

// linkers are the memories that link to one that goes, the last one standing for
// those beyond the bound.
func linkers(snap *Snapshot, doc *Document) []string {
	refs := Backlinks(snap, doc)
	if n := len(refs); n > maxLinkers {
		refs = append(refs[:maxLinkers], fmt.Sprintf("and each of %d other memories", n-maxLinkers))
	}
	return refs
}

// repeats tells whether the title or the description of a file says what an
// entry of it says.
func repeats(d *Document, entry string) bool {
	all := words(entry)
	for _, s := range []string{d.Title, d.Description} {
		if ws := words(s); len(ws) >= minSaid && indexRun(all, ws) >= 0 {
			return true
		}
	}
	return false
}

// forgetter finds what a query means.
type forgetter struct {
	Forget
	snap   *Snapshot
	tools  ForgetTools
	phrase []string // the words of the query
	terms  []term   // what to look for
	draft  Draft
	left   []error // why memories were left out
	lost   map[*Document]bool
}

func (f *forgetter) plan(ctx context.Context) (*Draft, error) {
	f.draft = Draft{Kind: KindForget, Query: true}
	f.Limit = cmp.Or(f.Limit, DefaultForgetLimit)
	if err := f.read(); err != nil {
		return nil, err
	}
	ranks, err := f.ranks(ctx)
	if err != nil {
		return nil, err
	}
	literal, err := f.literal(ctx, ranks)
	if err != nil {
		return nil, err
	}
	chosen, asked, err := f.selected(ctx, literal, ranks)
	if err != nil {
		return nil, err
	}
	if !asked {
		chosen = f.surest(literal)
	}
	if len(chosen) == 0 {
		if r, ok := errors.AsType[*Refusal](errors.Join(f.left...)); ok {
			return nil, refuse(r.Kind, r.Refs, "what the query means cannot be changed: %s", strings.Join(f.draft.Warnings, "; "))
		}
		return nil, refuse(RefusedNotFound, nil, "no memory was found that the query means%s", f.because())
	}
	return &f.draft, f.draft.forget(f.snap, chosen)
}

// because is what went wrong while nothing was found.
func (f *forgetter) because() string {
	if len(f.draft.Warnings) == 0 {
		return ""
	}
	return "; " + strings.Join(f.draft.Warnings, "; ")
}

// read takes the words of the query. Without one that can name something, a
// query would mean everything.
func (f *forgetter) read() error {
	f.phrase = words(f.Query)
	var usable, content []term
	for piece := range strings.FieldsSeq(f.Query) {
		for _, t := range termsOf(words(piece)) {
			if !t.names() || slices.ContainsFunc(usable, func(o term) bool { return slices.Equal(o, t) }) {
				continue
			}
			usable = append(usable, t)
			if len(t) > 1 || f.tools.Content == nil || f.tools.Content(t[0]) {
				content = append(content, t)
			}
		}
	}
	f.terms = content
	if len(content) == 0 {
		f.terms = usable
	}
	if len(f.terms) == 0 {
		return &Refusal{Kind: RefusedInput, Field: "query", Detail: "the query has no word to look for: give at least one of two letters"}
	}
	f.terms = f.terms[:min(len(f.terms), maxForgetQuery)]
	return nil
}

// term is a word to look for: in scripts without spaces a run of characters, of
// which words() makes a word each.
type term []string

// termsOf are the terms of neighbouring words.
func termsOf(ws []string) []term {
	var out []term
	last := false
	for _, w := range ws {
		r, _ := utf8.DecodeRuneInString(w)
		run := unsegmented(r)
		if run && last {
			out[len(out)-1] = append(out[len(out)-1], w)
		} else {
			out = append(out, term{w})
		}
		last = run
	}
	return out
}

// names tells whether a term alone can name something: it has two characters, or
// is a Han character, which is a word.
func (t term) names() bool {
	r, n := utf8.DecodeRuneInString(t[0])
	return len(t) > 1 || unicode.Is(unicode.Han, r) || wordRune(r) && len(t[0]) > n
}

// in tells how much of a term stands in a text: all of it, as neighbours; of a
// long run half, when at least half of its neighbours are neighbours there.
func (t term) in(ws []string) float64 {
	if indexRun(ws, t) >= 0 {
		return 1
	}
	if len(t) < minPartlyMet {
		return 0
	}
	pairs := 0
	for i := 1; i < len(t); i++ {
		if indexRun(ws, t[i-1:i+1]) >= 0 {
			pairs++
		}
	}
	if 2*pairs >= len(t)-1 {
		return 0.5
	}
	return 0
}

// minPartlyMet is how long a run is that may be met in part.
const minPartlyMet = 3

func (t term) String() string { return strings.Join(t, "") }

// sees tells whether a memory may be a candidate.
func (f *forgetter) sees(d *Document) bool {
	return d.Root.Folders.Has(f.Folder) && (len(f.Scopes) == 0 || slices.Contains(f.Scopes, d.Root.Scope))
}

// ranks are the scores of documents that the ranker finds.
func (f *forgetter) ranks(ctx context.Context) (map[string]float64, error) {
	if f.tools.Ranker == nil {
		return nil, nil
	}
	ranked, err := f.tools.Ranker.Rank(ctx, f.snap, RankQuery{
		Text: f.Query, Scopes: f.Scopes, Folder: f.Folder, Limit: maxForgetCandidates, Inactive: true, Now: f.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("ranking: %w", err)
	}
	ranks := make(map[string]float64, len(ranked))
	for _, r := range ranked {
		ranks[r.Doc.Ref] = r.Score
	}
	return ranks, nil
}

// The scores of literal candidates: all words as a phrase, all words, some.
const (
	scorePhrase = 1.0
	scoreAll    = 0.9
	scoreSome   = 0.8 // times the share of the words
)

// literal are all candidates that hold words of the query as whole words, the
// best first. No memory is left out of the search.
func (f *forgetter) literal(ctx context.Context, ranks map[string]float64) ([]Candidate, error) {
	var found []Candidate
	readOnly := 0
	for d := range f.snap.All() {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("looking for the query: %w", err)
		}
		if !f.sees(d) || !f.mayHold(d) {
			continue
		}
		cs := f.within(d)
		if len(cs) > 0 && writable(d.Root, nil) != nil {
			readOnly++
			continue
		}
		if len(cs) > 0 && f.leftOut(d) {
			continue
		}
		for _, c := range cs {
			c.rank = ranks[d.Ref]
			found = append(found, c)
		}
	}
	if readOnly > 0 {
		f.warn("%d more memories match that lie where nothing may be written", readOnly)
	}
	slices.SortFunc(found, betterCandidate)
	return found, nil
}

// leftOut tells whether a memory that the query may mean cannot be changed now,
// and notes why. One file never keeps a query from the others.
func (f *forgetter) leftOut(d *Document) bool {
	if f.tools.Writable == nil || f.lost[d] {
		return f.lost[d]
	}
	err := f.tools.Writable(d)
	if err == nil {
		return false
	}
	if f.lost == nil {
		f.lost = map[*Document]bool{}
	}
	f.lost[d] = true
	if f.left = append(f.left, err); len(f.left) <= maxLeftOut {
		f.warn("%s is left out: %s", d.Ref, reason(err))
	} else if len(f.left) == maxLeftOut+1 {
		f.warn("more memories are left out that cannot be changed now")
	}
	return true
}

// maxLeftOut bounds the warnings about memories that were left out.
const maxLeftOut = 10

func (f *forgetter) warn(format string, args ...any) {
	f.draft.Warnings = append(f.draft.Warnings, fmt.Sprintf(format, args...))
}

// betterCandidate orders candidates: literal ones first, then as the ranker has
// their documents, then the newest.
func betterCandidate(a, b Candidate) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.rank, a.rank), b.Doc.Fact().Compare(a.Doc.Fact()),
		cmp.Compare(a.Doc.Root.Order, b.Doc.Root.Order), strings.Compare(a.Doc.Ref, b.Doc.Ref), cmp.Compare(a.Entry, b.Entry))
}

// mayHold is a cheap look whether a document can hold one of the words.
func (f *forgetter) mayHold(d *Document) bool {
	text := foldWords(d.Text)
	head := foldWords(d.Title)
	return slices.ContainsFunc(f.terms, func(t term) bool {
		// A word may be spelled with an apostrophe that words() drops, and a run may
		// be met in part.
		return strings.Contains(text, t[0]) || strings.Contains(head, t[0]) || len(t) >= minPartlyMet || strings.ContainsAny(text, "'’ʼ")
	})
}

// within are the candidates of one document: its entries, or the whole when it
// has no more than one.
func (f *forgetter) within(d *Document) []Candidate {
	head := words(strings.Join(append([]string{d.Title, d.Description}, d.Keywords...), "\n"))
	entries := Entries(d)
	if len(entries) <= 1 {
		body := ""
		if len(entries) == 1 {
			body = d.Text[entries[0].Span.Start:entries[0].Span.End]
		}
		c := Candidate{Doc: d, Entry: NoEntry}
		if f.judge(&c, head, words(body)) {
			return []Candidate{c}
		}
		return nil
	}
	var found []Candidate
	complete := false
	for i, e := range entries {
		c := Candidate{Doc: d, Entry: i, Summary: e.Summary, removal: e.Removal(d)}
		own := words(d.Text[e.Span.Start:e.Span.End])
		if slices.ContainsFunc(f.terms, func(t term) bool { return t.in(own) > 0 }) && f.judge(&c, head, own) {
			found = append(found, c)
			complete = complete || c.score >= scoreAll
		}
	}
	if whole := (Candidate{Doc: d, Entry: NoEntry}); !complete && f.judge(&whole, head, nil) && whole.score >= scoreAll {
		found = append(found, whole)
	}
	return found
}

// judge scores a candidate by the words that its head and its own text hold.
func (f *forgetter) judge(c *Candidate, head, own []string) bool {
	met := 0.0
	title, description := words(c.Doc.Title), words(c.Doc.Description)
	for _, t := range f.terms {
		best, field := 0.0, ""
		for _, place := range []struct {
			field string
			words []string
		}{{"body", own}, {"title", title}, {"description", description}, {"keywords", head}} {
			if share := t.in(place.words); share > best {
				best, field = share, place.field
			}
		}
		if best == 0 {
			continue
		}
		met += best
		match := "exact"
		if best < 1 {
			match = "part"
		}
		c.why = append(c.why, Ground{Field: field, Term: t.String(), Match: match})
	}
	all := float64(len(f.terms))
	switch {
	case met == 0:
		return false
	case indexRun(own, f.phrase) >= 0 || indexRun(head, f.phrase) >= 0:
		c.score = scorePhrase
	case met == all:
		c.score = scoreAll
	case 2*met >= all:
		c.score = scoreSome * met / all
	default:
		return false
	}
	return true
}

// surest are the literal candidates to propose: those with all words, or when
// there is none those with some.
func (f *forgetter) surest(literal []Candidate) []Candidate {
	if len(literal) > 0 && literal[0].score >= scoreAll {
		literal = slices.DeleteFunc(literal, func(c Candidate) bool { return c.score < scoreAll })
	}
	return f.limited(literal)
}

// limited cuts the candidates to the limit and says so.
func (f *forgetter) limited(cs []Candidate) []Candidate {
	if n := len(cs); n > f.Limit {
		f.warn("%d more candidates are not shown; ask for more, or more precisely", n-f.Limit)
		return cs[:f.Limit]
	}
	return cs
}

// selected are the candidates that the selector chose; asked is false when there
// is none, or it could not answer.
func (f *forgetter) selected(ctx context.Context, literal []Candidate, ranks map[string]float64) (chosen []Candidate, asked bool, err error) {
	if f.tools.Selector == nil {
		return nil, false, nil
	}
	offered := f.offer(literal, ranks)
	if len(offered) == 0 {
		return nil, true, nil
	}
	places, err := f.tools.Selector.Select(ctx, f.Query, offered, f.Limit)
	if ctx.Err() != nil {
		return nil, false, fmt.Errorf("choosing what to forget: %w", ctx.Err())
	}
	if err != nil {
		f.warn("the model could not choose, and only whole words were looked for: %s", CleanLine(err.Error()))
		return nil, false, nil
	}
	seen := map[int]bool{}
	for _, i := range places {
		// Inv: what a model answers is an index into what it was shown, or nothing.
		if i < 0 || i >= len(offered) || seen[i] || len(chosen) == f.Limit {
			continue
		}
		seen[i] = true
		c := offered[i]
		if c.score == 0 && f.leftOut(c.Doc) { // literal ones have been asked about
			continue
		}
		c.why = append(c.why, Ground{Field: "body", Term: CleanLine(cmp.Or(c.Summary, c.Doc.Title)), Match: "semantic"})
		c.score = max(c.score, scoreAll)
		chosen = append(chosen, c)
	}
	return chosen, true, nil
}

// offer are the candidates that the selector chooses from: the literal ones,
// then those of the documents that the ranker found, then the newest. Every
// scope gets its share of the places; what one does not use goes to the others.
func (f *forgetter) offer(literal []Candidate, ranks map[string]float64) []Candidate {
	have := map[string]bool{}
	for i := range literal {
		have[literal[i].Ref()] = true
	}
	var others []Candidate
	for d := range f.snap.All() {
		if !f.sees(d) || d.Empty() || writable(d.Root, nil) != nil {
			continue
		}
		for _, c := range parts(d) {
			if !have[c.Ref()] {
				c.rank = ranks[d.Ref]
				others = append(others, c)
			}
		}
	}
	slices.SortFunc(others, betterCandidate)
	byScope := map[Scope][]Candidate{}
	for _, c := range slices.Concat(literal, others) {
		byScope[c.Doc.Root.Scope] = append(byScope[c.Doc.Root.Scope], c)
	}
	var out []Candidate
	for i := 0; len(out) < maxForgetCandidates; i++ {
		before := len(out)
		for _, scope := range []Scope{ScopeProject, ScopeUser, ScopeTeam} {
			if cs := byScope[scope]; i < len(cs) && len(out) < maxForgetCandidates {
				out = append(out, cs[i])
			}
		}
		if len(out) == before {
			break
		}
	}
	return out
}

// parts are what of a document can be forgotten: its entries, or the whole.
func parts(d *Document) []Candidate {
	entries := Entries(d)
	if len(entries) <= 1 {
		c := Candidate{Doc: d, Entry: NoEntry}
		if len(entries) == 1 {
			c.Summary = entries[0].Summary
		}
		return []Candidate{c}
	}
	out := make([]Candidate, len(entries))
	for i, e := range entries {
		out[i] = Candidate{Doc: d, Entry: i, Summary: e.Summary, removal: e.Removal(d)}
	}
	return out
}

// CheckForget refuses what names nothing, or names it twice over.
func CheckForget(q Forget) error {
	switch {
	case len(q.Targets) == 0 && strings.TrimSpace(q.Query) == "":
		return &Refusal{Kind: RefusedInput, Field: "query", Detail: "say what to forget: a query or refs"}
	case len(q.Targets) > 0 && q.Query != "":
		return &Refusal{Kind: RefusedInput, Field: "refs", Detail: "either a query or refs"}
	case q.Limit < 0 || q.Limit > MaxForgetLimit:
		return &Refusal{Kind: RefusedInput, Field: "limit", Detail: fmt.Sprintf("%d is not within 1 to %d", q.Limit, MaxForgetLimit)}
	}
	return nil
}
