package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxRemovedPart bounds how many of a scope's files one consolidation removes: one
// in so many.
const maxRemovedPart = 5

// tidied is one thing that consolidation would do, with what decides whether a
// person has to look at it.
type tidied struct {
	edit Edit
	// review says that a person has to look: a statement may read differently.
	review bool
}

// tidier finds what can be tidied in one root by rules alone: duplicates, expired
// memories, links that lead nowhere, days that are told from another day.
type tidier struct {
	snap *Snapshot
	root *Root
	now  time.Time
	docs []*Document // of the root, by path, those that may be changed
	all  int         // files of the scope
	gone map[string]bool
	out  []tidied
	left []Skipped
	// removed counts the files that go, in all the roots of a run.
	removed int
}

// newTidier looks at one root. Pinned memories, those that were read in part, and
// those whose bytes are not text are left alone.
func newTidier(snap *Snapshot, root *Root, files int, now time.Time) *tidier {
	t := &tidier{snap: snap, root: root, now: now, all: files, gone: map[string]bool{}}
	for _, d := range snap.Of(root) {
		if !d.Truncated && !d.Lossy {
			t.docs = append(t.docs, d)
		}
	}
	return t
}

// run finds all, in an order that depends on the files alone.
func (t *tidier) run(ctx context.Context) error {
	if err := t.duplicates(ctx); err != nil {
		return err
	}
	for _, d := range t.docs {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("consolidating: %w", err)
		}
		if d.Pinned || t.gone[d.Ref] {
			continue
		}
		t.file(d)
	}
	return nil
}

// file tidies one memory that stays.
func (t *tidier) file(d *Document) {
	if d.Status == StatusActive && !d.ActiveAt(t.now) {
		// A day lasts until its end, which is the beginning of the next one.
		t.keys(d, "it expired on "+d.ExpiresAt.Add(-1).Format(time.DateOnly), KeyChange{Key: "status", Text: StatusExpired})
		return
	}
	if d.Status != StatusActive {
		return
	}
	t.repeats(d)
	t.days(d)
	t.deadLinks(d)
}

// keys changes keys of a header. A header that cannot be edited stays as it is.
func (t *tidier) keys(d *Document, reason string, changes ...KeyChange) bool {
	if d.Header.Len() == 0 {
		return false
	}
	reps, err := SetKeys(d, changes...)
	if err != nil {
		t.left = append(t.left, Skipped{Reason: SkipUnchangeable, Detail: d.Ref + ": its header cannot be changed"})
		return false
	}
	if len(reps) == 0 {
		return false
	}
	t.out = append(t.out, tidied{edit: Edit{Action: ActionUpdate, Doc: d, Replace: reps, Reason: reason}})
	return true
}

// duplicate is a memory that goes, since keeper says all of it.
type duplicate struct {
	doc, keeper *Document
	names       []string // by which keeper is not found yet
}

// duplicates removes memories of which every statement stands in another one of
// the same root, scope and type. What their names and keywords say goes into the
// keywords of the one that stays. Inv: what stays for another does not go in the
// same run.
func (t *tidier) duplicates(ctx context.Context) error {
	texts := make(map[string]*sayings, len(t.docs))
	postings := map[string][]*Document{}
	for _, d := range t.docs {
		if !d.ActiveAt(t.now) {
			continue
		}
		s := sayingsOf(d)
		texts[d.Ref] = s
		for w := range s.vocabulary {
			postings[w] = append(postings[w], d)
		}
	}
	kept := map[string][]duplicate{} // by the ref of their keeper
	for _, d := range t.docs {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("looking for duplicates: %w", err)
		}
		s := texts[d.Ref]
		if s == nil || d.Pinned || len(s.entries) == 0 || kept[d.Ref] != nil {
			continue
		}
		keeper := t.survivor(d, s, texts, postings[s.rarest(postings)])
		if keeper == nil || !t.mayRemove(d, keeper) {
			continue
		}
		t.gone[d.Ref] = true
		t.removed++
		kept[keeper.Ref] = append(kept[keeper.Ref], duplicate{d, keeper, newNames(d, keeper)})
	}
	for _, d := range t.docs {
		t.replace(kept[d.Ref])
	}
	return nil
}

// replace drafts that the duplicates of one keeper go. Those whose names it cannot
// take stay.
func (t *tidier) replace(of []duplicate) {
	var names []string
	for _, d := range of {
		names = union(names, d.names)
	}
	taken := len(names) > 0 && t.keys(of[0].keeper, "keeps the names of what it stands for", KeyChange{Key: "keywords", List: union(of[0].keeper.Keywords, names)})
	key := ""
	if taken {
		key = "names of " + of[0].keeper.Ref
		t.out[len(t.out)-1].edit.Key = key
	}
	for _, d := range of {
		if len(d.names) > 0 && !taken {
			delete(t.gone, d.doc.Ref)
			t.removed--
			continue
		}
		e := Edit{Action: ActionDelete, Doc: d.doc, Reason: "all that it says stands in " + d.keeper.Ref, Carrier: d.keeper}
		if len(d.names) > 0 {
			e.Needs = []string{key}
		}
		t.out = append(t.out, tidied{edit: e})
	}
}

// mayRemove bounds what goes, and leaves alone what others link to.
func (t *tidier) mayRemove(d, keeper *Document) bool {
	if links := Backlinks(t.snap, d); len(links) > 0 {
		t.left = append(t.left, Skipped{Reason: SkipLinked, Detail: fmt.Sprintf("%s says what %s says, and %s links to it", d.Ref, keeper.Ref, links[0])})
		return false
	}
	if (t.removed+1)*maxRemovedPart > t.all {
		t.left = append(t.left, Skipped{Reason: SkipBounded, Detail: fmt.Sprintf("%s says what %s says; one run removes at most one file in %d", d.Ref, keeper.Ref, maxRemovedPart)})
		return false
	}
	return true
}

// newNames are what d is called and found by, and keeper is not.
func newNames(d, keeper *Document) []string {
	said := map[string]bool{}
	for _, w := range append(words(keeper.Title+" "+keeper.Description+" "+strings.Join(keeper.Keywords, " ")), words(keeper.BodyText())...) {
		said[w] = true
	}
	names := slices.Clone(d.Keywords)
	if d.Header.Len() > 0 {
		names = append(names, d.Title, d.Description)
	}
	var out []string
	for _, name := range names {
		name, _ = clipRunes(CleanLine(name), maxItemRunes)
		if name != "" && slices.ContainsFunc(words(name), func(w string) bool { return !said[w] }) {
			out = append(out, name)
		}
	}
	return out
}

// survivor is the memory that says all that d says, and stays: one that others
// stand in, too, wins over d only when it says more or is the better one of two
// equal ones.
func (t *tidier) survivor(d *Document, s *sayings, texts map[string]*sayings, among []*Document) *Document {
	var best *Document
	for _, o := range among {
		if o == d || t.gone[o.Ref] || o.Type != d.Type || !texts[o.Ref].carry(s) {
			continue
		}
		if s.carry(texts[o.Ref]) && betterKept(d, o) {
			continue
		}
		if (o.Pinned || o.Header.Len() == 0) && len(newNames(d, o)) > 0 {
			continue // it cannot take the name along
		}
		if best == nil || betterKept(o, best) {
			best = o
		}
	}
	return best
}

// betterKept tells which of two memories that say the same stays: a pinned one,
// one that tells more in its header, the older one, the first by its ref.
func betterKept(a, b *Document) bool {
	if a.Pinned != b.Pinned {
		return a.Pinned
	}
	return cmp.Or(
		-cmp.Compare(len(a.Keywords)+len(words(a.Description)), len(b.Keywords)+len(words(b.Description))),
		a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.Ref, b.Ref),
	) < 0
}

// sayings are the statements of a memory, by their words.
type sayings struct {
	entries    [][]string
	vocabulary map[string]bool
}

func sayingsOf(d *Document) *sayings {
	s := &sayings{vocabulary: map[string]bool{}}
	for _, e := range Entries(d) {
		ws := words(d.Text[e.Span.Start:e.Span.End])
		if len(ws) == 0 {
			continue
		}
		s.entries = append(s.entries, ws)
		for _, w := range ws {
			s.vocabulary[w] = true
		}
	}
	return s
}

// rarest is the word of which the fewest memories have one: whatever says all of
// this memory has it, too.
func (s *sayings) rarest(postings map[string][]*Document) string {
	best := ""
	for w := range s.vocabulary {
		if best == "" || cmp.Or(cmp.Compare(len(postings[w]), len(postings[best])), strings.Compare(w, best)) < 0 {
			best = w
		}
	}
	return best
}

// carry tells whether every statement of o stands in s.
func (s *sayings) carry(o *sayings) bool {
	for _, now := range o.entries {
		if !slices.ContainsFunc(s.entries, func(old []string) bool { return relate(old, now) == alreadySaid }) {
			return false
		}
	}
	return true
}

// repeats takes statements out of a memory that stand in it before.
func (t *tidier) repeats(d *Document) {
	entries := Entries(d)
	seen := map[string]int{}
	for i, e := range entries {
		key := strings.Join(words(d.Text[e.Span.Start:e.Span.End]), " ")
		first, again := seen[key]
		if !again || key == "" {
			seen[key] = i
			continue
		}
		n := i
		t.out = append(t.out, tidied{
			edit: Edit{
				Action: ActionUpdate, Doc: d, Entry: &n, Replace: []Replacement{{Span: e.Removal(d)}},
				Reason: fmt.Sprintf("entry %d says what entry %d says", n+1, first+1),
			},
		})
	}
}

// deadLinks proposes to leave of links that lead nowhere what they show.
func (t *tidier) deadLinks(d *Document) {
	for _, l := range Links(d) {
		if l.Kind == LinkSupersedes || l.Span.Start > l.TargetSpan.Start || l.Span.End < l.TargetSpan.End {
			continue
		}
		if l.Kind == LinkMarkdown && !strings.HasSuffix(strings.ToLower(l.Target), ".md") {
			continue // it may lead to something else than a memory
		}
		if _, ok := Resolve(t.snap, d, l.Target); ok {
			continue // Inv: what another memory links to does not go
		}
		text := cmp.Or(d.Text[l.TextSpan.Start:l.TextSpan.End], CleanLine(l.Target))
		t.out = append(t.out, tidied{
			edit:   Edit{Action: ActionUpdate, Doc: d, Replace: []Replacement{{Span: l.Span, New: text}}, Reason: fmt.Sprintf("there is no memory %.80q any more", CleanLine(l.Target))},
			review: true,
		})
	}
}
