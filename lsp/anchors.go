package lsp

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memls/memls/memory"
)

// codeDeadAnchor is a place of the workspace that a memory names and that is not
// there.
const codeDeadAnchor = "anchor-dead"

const (
	// anchorPause is how long questions gather before the workspace is looked at.
	anchorPause = 300 * time.Millisecond
	// anchorWait bounds one look at a workspace.
	anchorWait = 20 * time.Second
	// maxVerdicts bounds what is remembered of one workspace. Beyond it all is
	// forgotten and asked again.
	maxVerdicts = 20_000
	// maxSwept bounds the files whose anchors are looked at before anything asks
	// for them.
	maxSwept = 5_000
)

// anchors remember what was found of the places that memories name. Asking them
// costs no look at a file: what is not known is looked up in the background, and
// then known to who asks again.
type anchors struct {
	mu      sync.Mutex
	folders map[string]*anchorFolder // by path
	refs    map[string]bool          // files that have changed
	all     bool                     // or all
	wake    chan struct{}            // of capacity one
}

// anchorFolder is one workspace folder. Inv: guarded by anchors.mu but for the
// workspace itself.
type anchorFolder struct {
	workspace *memory.Workspace
	skip      string // the directories that are not looked at, to tell when they change
	verdicts  map[memory.Anchor]judged
	wanted    map[memory.Anchor]bool
}

type judged struct {
	memory.Verdict
	at time.Time
}

func newAnchors() *anchors {
	return &anchors{folders: map[string]*anchorFolder{}, wake: make(chan struct{}, 1)}
}

func (a *anchors) signal() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// files notes that files have changed, so that their anchors are known before
// they are recalled.
func (a *anchors) files(set memory.ChangeSet) {
	a.mu.Lock()
	a.all = a.all || set.Truncated
	if a.refs == nil {
		a.refs = map[string]bool{}
	}
	for _, ref := range slices.Concat(set.Added, set.Updated) {
		a.refs[ref] = true
	}
	a.mu.Unlock()
	a.signal()
}

func (a *anchors) everything() {
	a.mu.Lock()
	a.all = true
	a.mu.Unlock()
	a.signal()
}

// forget forgets all workspaces, and asks about all files again.
func (a *anchors) forget() {
	a.mu.Lock()
	clear(a.folders)
	a.mu.Unlock()
	a.everything()
}

// verdict is what is known of an anchor in a folder. What is not known, or has
// been known for too long, is wanted.
func (a *anchors) verdict(folder *anchorFolder, anchor memory.Anchor, now time.Time) memory.Verdict {
	a.mu.Lock()
	defer a.mu.Unlock()
	v, ok := folder.verdicts[anchor]
	if age := now.Sub(v.at); !ok || age >= memory.SurveyAge || age < 0 {
		folder.wanted[anchor] = true
		a.signal()
	}
	return v.Verdict
}

// folder is that of a path, with the directories that are not looked at in it.
func (a *anchors) folder(path string, skip []string, now func() time.Time) *anchorFolder {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := strings.Join(skip, "\x00")
	f := a.folders[path]
	if f == nil || f.skip != key {
		f = &anchorFolder{
			workspace: memory.NewWorkspace(path, skip, now), skip: key,
			verdicts: map[memory.Anchor]judged{}, wanted: map[memory.Anchor]bool{},
		}
		a.folders[path] = f
	}
	return f
}

// anchorFolders are the trusted folders that a memory may name places of: those
// that its root belongs to. A person's own memories belong to none.
func (f *features) anchorFolders(snap *memory.Snapshot, root *memory.Root) (out []*anchorFolder) {
	if root == nil || root.Scope == memory.ScopeUser || !f.s.Settings().Trusted {
		return nil
	}
	paths := slices.Collect(root.Folders.All())
	if keys := f.workspace().keys; len(paths) == 0 && len(keys) == 1 {
		paths = keys
	}
	var skip []string
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			continue
		}
		if skip == nil {
			for _, r := range snap.Roots() {
				skip = append(skip, r.Root.Path, r.Root.Real)
			}
		}
		out = append(out, f.anchors.folder(path, skip, f.opt.Now))
	}
	return out
}

// deadAnchors are the places that a memory names and that are known to be in none
// of its folders. It waits for nothing and opens no file.
func (f *features) deadAnchors(snap *memory.Snapshot, d *memory.Document) (out []memory.Problem) {
	folders := f.anchorFolders(snap, d.Root)
	now := f.opt.Now()
	if len(folders) == 0 || !d.ActiveAt(now) {
		return nil
	}
	for _, a := range memory.Anchors(d) {
		span := a.Span
		a.Span = memory.Span{}
		why, gone := "", true
		for _, folder := range folders {
			v := f.anchors.verdict(folder, a, now)
			why, gone = v.Why, gone && v.Dead
		}
		if !gone {
			continue
		}
		if memory.LeadsToMemory(snap, d, a) {
			continue
		}
		out = append(out, memory.Problem{Span: span, Code: codeDeadAnchor, Severity: memory.SeverityInfo, Message: why})
	}
	return out
}

// lookAtAnchors looks up what is wanted until ctx ends.
func (f *features) lookAtAnchors(ctx context.Context) {
	for {
		var again <-chan time.Time
		if len(f.overlays.all()) > 0 {
			again = f.opt.After(memory.SurveyAge)
		}
		select {
		case <-f.anchors.wake:
		case <-again:
			f.wantOpen()
		case <-ctx.Done():
			return
		}
		select {
		case <-f.opt.After(anchorPause):
		case <-ctx.Done():
			return
		}
		f.wantChanged()
		if f.judgeWanted(ctx) {
			f.publisher.anchors()
		}
	}
}

// wantOpen asks again about what is open: the workspace changes without a word.
func (f *features) wantOpen() {
	snap := f.catalog().Snapshot()
	for _, b := range f.overlays.all() {
		if p, ok := f.pageIn(snap, b.uri, b.path, b); ok {
			f.deadAnchors(snap, p.doc)
		}
	}
}

// wantChanged asks about the files that have changed.
func (f *features) wantChanged() {
	snap := f.catalog().Snapshot()
	if snap.Loading() {
		return // the end of it is told
	}
	f.anchors.mu.Lock()
	refs, all := f.anchors.refs, f.anchors.all
	f.anchors.refs, f.anchors.all = nil, false
	f.anchors.mu.Unlock()
	if !f.s.Settings().Trusted {
		return
	}
	n, looked := 0, map[*memory.Root]bool{}
	want := func(d *memory.Document) bool {
		names, known := looked[d.Root]
		if !known {
			names = len(f.anchorFolders(snap, d.Root)) > 0
			looked[d.Root] = names
		}
		if names {
			n++
			f.deadAnchors(snap, d)
		}
		return n < maxSwept
	}
	if all {
		for d := range snap.All() {
			if !want(d) {
				break
			}
		}
		return
	}
	for ref := range refs {
		if d, ok := snap.Get(ref); ok && !want(d) {
			break
		}
	}
}

// judgeWanted looks up what is wanted, and tells whether it learned anything.
func (f *features) judgeWanted(ctx context.Context) (news bool) {
	f.anchors.mu.Lock()
	folders := maps.Clone(f.anchors.folders)
	f.anchors.mu.Unlock()
	for path, folder := range folders {
		f.anchors.mu.Lock()
		wanted := slices.Collect(maps.Keys(folder.wanted))
		clear(folder.wanted)
		f.anchors.mu.Unlock()
		if len(wanted) == 0 || ctx.Err() != nil {
			continue
		}
		verdicts, err := f.judge(ctx, folder.workspace, wanted)
		if err != nil {
			f.s.Log().Info("the places that memories name were not looked up", "folder", path, "err", err)
		}
		news = f.anchors.learn(folder, wanted, verdicts, f.opt.Now()) || news
	}
	return news
}

func (f *features) judge(ctx context.Context, w *memory.Workspace, wanted []memory.Anchor) ([]memory.Verdict, error) {
	// Trust may have been withdrawn since it was asked.
	if !f.s.Settings().Trusted {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, anchorWait)
	defer cancel()
	return w.Check(ctx, wanted)
}

// learn takes the verdicts on what was wanted; none when it could not be looked
// up, which is then not tried again at once.
func (a *anchors) learn(folder *anchorFolder, wanted []memory.Anchor, verdicts []memory.Verdict, now time.Time) (news bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(folder.verdicts)+len(wanted) > maxVerdicts {
		clear(folder.verdicts)
	}
	for i, anchor := range wanted {
		v := judged{at: now}
		if verdicts != nil {
			v.Verdict = verdicts[i]
		}
		news = news || folder.verdicts[anchor].Verdict != v.Verdict
		folder.verdicts[anchor] = v
	}
	return news
}

// deadNote says in one sentence which places that a memory names are gone; empty
// when none is known to be.
func (f *features) deadNote(d *memory.Document) string {
	var whys []string
	for _, p := range f.deadAnchors(f.catalog().Snapshot(), d) {
		whys = append(whys, p.Message)
	}
	return memory.GoneNote(whys)
}
