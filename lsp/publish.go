package lsp

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memls/memls/memory"
)

const (
	notifyDiagnostics    = "textDocument/publishDiagnostics"
	askDiagnosticRefresh = "workspace/diagnostic/refresh"
	askLensRefresh       = "workspace/codeLens/refresh"
)

const (
	// diagnosticPause is how long changes gather before they are looked at: long
	// enough for a paste or a macro to be one, too short to be noticed.
	diagnosticPause = 5 * time.Millisecond
	// refreshPause is the shortest time between two requests to a client to ask
	// for its diagnostics again, and refreshWait how long one may take.
	refreshPause = 250 * time.Millisecond
	refreshWait  = 10 * time.Second
	// maxShownFiles bounds the files that are not open and of which diagnostics
	// are shown. memory/list tells the number for every file.
	maxShownFiles = 1000
)

// publishParams are LSP's PublishDiagnosticsParams.
type publishParams struct {
	URI         string       `json:"uri"`
	Version     *int32       `json:"version,omitzero"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

// pending is what has changed since diagnostics were last looked at.
type pending struct {
	open map[string]string // open documents that changed, and closed ones: paths by pathKey
	refs map[string]bool   // files whose document in the catalog changed
	all  bool              // too many, or the roots
	news bool              // of what open documents name
}

// others tells whether something has changed that the client does not know of.
func (p pending) others() bool { return p.all || p.news || len(p.refs) > 0 }

// publisher gathers what diagnostics depend on.
type publisher struct {
	mu   sync.Mutex
	next pending
	wake chan struct{} // of capacity one
	// lenses wakes what has the client ask for its lenses again; of capacity one.
	lenses chan struct{}
}

func newPublisher() *publisher {
	return &publisher{wake: make(chan struct{}, 1), lenses: make(chan struct{}, 1)}
}

// memories notes that files of memories have changed, which lenses depend on.
func (u *publisher) memories() {
	select {
	case u.lenses <- struct{}{}:
	default:
	}
}

func (u *publisher) note(change func(*pending)) {
	u.mu.Lock()
	change(&u.next)
	u.mu.Unlock()
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// document notes that an open document has changed, or is open no more.
func (u *publisher) document(path string) {
	u.note(func(p *pending) {
		if p.open == nil {
			p.open = map[string]string{}
		}
		p.open[pathKey(path)] = path
	})
}

// files notes that files have changed.
func (u *publisher) files(set memory.ChangeSet) {
	u.memories()
	u.note(func(p *pending) {
		p.all = p.all || set.Truncated
		if p.refs == nil {
			p.refs = map[string]bool{}
		}
		for _, refs := range [][]string{set.Added, set.Updated, set.Removed} {
			for _, ref := range refs {
				p.refs[ref] = true
			}
		}
	})
}

func (u *publisher) everything() {
	u.memories()
	u.note(func(p *pending) { p.all = true })
}

func (u *publisher) anchors() { u.note(func(p *pending) { p.news = true }) }

func (u *publisher) take() pending {
	u.mu.Lock()
	defer u.mu.Unlock()
	next := u.next
	u.next = pending{}
	return next
}

// startDiagnostics begins to look for them, once, when the client has its answer
// to initialize: nothing may be sent before.
func (f *features) startDiagnostics() {
	f.reporting.Do(func() {
		f.s.Go(f.reportDiagnostics)
		f.s.Go(f.lookAtAnchors)
		if f.s.Client().RefreshLenses {
			f.s.Go(f.refreshLenses)
		}
	})
}

// reportDiagnostics keeps the client's diagnostics current until ctx ends.
func (f *features) reportDiagnostics(ctx context.Context) {
	client := f.s.Client()
	s := &shownDiagnostics{f: f, closed: client.PublishDiagnostics, files: map[string]shownFile{}, refs: map[string]string{}}
	pause := diagnosticPause
	if client.PullDiagnostics {
		pause = refreshPause
	}
	for {
		select {
		case <-f.publisher.wake:
		case <-ctx.Done():
			return
		}
		select {
		case <-f.opt.After(pause):
		case <-ctx.Done():
			return
		}
		next := f.publisher.take()
		switch {
		case !client.PullDiagnostics:
			s.update(ctx, next)
		case client.RefreshDiagnostics && next.others():
			f.refresh(ctx, askDiagnosticRefresh)
		}
	}
}

// refreshLenses has the client ask for its lenses again when memories have changed:
// links and likenesses of one depend on the others.
func (f *features) refreshLenses(ctx context.Context) {
	for {
		select {
		case <-f.publisher.lenses:
		case <-ctx.Done():
			return
		}
		select {
		case <-f.opt.After(refreshPause):
		case <-ctx.Done():
			return
		}
		f.refresh(ctx, askLensRefresh)
	}
}

// refresh has the client ask again.
func (f *features) refresh(ctx context.Context, method string) {
	ctx, cancel := context.WithTimeout(ctx, refreshWait)
	defer cancel()
	var done any
	if err := f.s.Request(ctx, method, &nothing{}, &done); err != nil {
		f.s.Log().Debug("not refreshed", "method", method, "err", err)
	}
}

// shownDiagnostics are those that were pushed to the client.
type shownDiagnostics struct {
	f      *features
	closed bool                 // also of files that are not open
	files  map[string]shownFile // by pathKey
	refs   map[string]string    // the pathKey of files that are not open, by ref
	cut    bool                 // more files have diagnostics than are shown
}

type shownFile struct {
	uri     string
	ref     string // of a file that is not open
	version int32  // of one that is
	items   []diagnostic
}

func (s *shownDiagnostics) update(ctx context.Context, next pending) {
	snap := s.f.catalog().Snapshot()
	for _, path := range next.open {
		s.document(snap, path, s.f.overlays.get(path))
	}
	if !next.others() {
		return
	}
	// Other files decide where links lead.
	for _, b := range s.f.overlays.all() {
		if ctx.Err() != nil {
			return
		}
		s.document(snap, b.path, b)
	}
	switch {
	case !s.closed:
	case next.all:
		s.sweep(snap)
	default:
		for ref := range next.refs {
			d, _ := snap.Get(ref)
			s.file(ref, d)
		}
	}
}

// document shows what there is to say about a document that is open, or was.
func (s *shownDiagnostics) document(snap *memory.Snapshot, path string, b *buffer) {
	key := pathKey(path)
	if b == nil {
		s.clear(key)
		if at, ok := s.f.locate(snap, path); ok && s.closed {
			d, _ := snap.Get(at.Ref())
			s.file(at.Ref(), d)
		}
		return
	}
	p, ok := s.f.pageIn(snap, b.uri, path, b)
	if !ok {
		s.clear(key)
		return
	}
	if old, ok := s.files[key]; ok && old.uri != b.uri {
		s.clear(key)
	}
	delete(s.refs, p.Ref())
	s.show(key, shownFile{uri: b.uri, version: b.version, items: s.f.diagnose(p)}, &b.version)
}

// file shows the problems of a file that is not open; d is nil when it is gone.
func (s *shownDiagnostics) file(ref string, d *memory.Document) {
	if d == nil {
		if key, ok := s.refs[ref]; ok {
			s.clear(key)
		}
		return
	}
	key := pathKey(pathOf(d, d.Root.Path))
	if b := s.f.overlays.get(pathOf(d, d.Root.Path)); b != nil {
		return
	}
	if len(d.Problems) == 0 {
		s.clear(key)
		return
	}
	if _, shown := s.refs[ref]; !shown && len(s.refs) >= maxShownFiles {
		if !s.cut {
			s.f.s.Log().Warn("diagnostics of further files are shown when they are opened", "shown", maxShownFiles)
		}
		s.cut = true
		return
	}
	s.refs[ref] = key
	s.show(key, shownFile{uri: uriOf(d), ref: ref, items: fileDiagnostics(d, s.f.s.Client().PositionEncoding)}, nil)
}

// sweep shows the problems of all files that are not open.
func (s *shownDiagnostics) sweep(snap *memory.Snapshot) {
	for ref := range maps.Clone(s.refs) {
		if _, ok := snap.Get(ref); !ok {
			s.file(ref, nil)
		}
	}
	for _, d := range flawed(snap) {
		s.file(d.Ref, d)
	}
	for ref := range maps.Clone(s.refs) {
		if d, ok := snap.Get(ref); ok && len(d.Problems) == 0 {
			s.file(ref, d)
		}
	}
}

// flawed are the documents with problems, by ref.
func flawed(snap *memory.Snapshot) (out []*memory.Document) {
	for d := range snap.All() {
		if len(d.Problems) > 0 {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b *memory.Document) int { return strings.Compare(a.Ref, b.Ref) })
	return out
}

// fileDiagnostics are the problems of a file that is not open: what its own text
// tells.
func fileDiagnostics(d *memory.Document, encoding string) []diagnostic {
	return worded(newPositions(d.Text, encoding), slices.Clone(d.Problems))
}

// show sends the diagnostics of a file, unless the client has them.
func (s *shownDiagnostics) show(key string, now shownFile, version *int32) {
	old, shown := s.files[key]
	if shown && old.ref == now.ref && old.version == now.version && slices.Equal(old.items, now.items) {
		return
	}
	s.files[key] = now
	s.f.notify(notifyDiagnostics, &publishParams{URI: now.uri, Version: version, Diagnostics: now.items})
}

// clear takes the diagnostics of a file back.
func (s *shownDiagnostics) clear(key string) {
	old, shown := s.files[key]
	if !shown {
		return
	}
	delete(s.files, key)
	delete(s.refs, old.ref)
	if len(old.items) > 0 {
		s.f.notify(notifyDiagnostics, &publishParams{URI: old.uri, Diagnostics: []diagnostic{}})
	}
}

// workspaceDiagnosticParams are LSP's WorkspaceDiagnosticParams.
type workspaceDiagnosticParams struct {
	PreviousResultIDs []struct {
		URI   string `json:"uri"`
		Value string `json:"value"`
	} `json:"previousResultIds"`
}

// workspaceReport is LSP's WorkspaceDiagnosticReport.
type workspaceReport struct {
	Items []workspaceItem `json:"items"`
}

type workspaceItem struct {
	diagnosticReport
	URI     string `json:"uri"`
	Version *int32 `json:"version"`
}

// workspaceDiagnostic serves workspace/diagnostic: the files that are not open,
// with problems of their own or with some when the client last asked.
func (f *features) workspaceDiagnostic(ctx context.Context, p *workspaceDiagnosticParams) (*workspaceReport, error) {
	snap, err := f.loaded(ctx)
	if err != nil {
		return nil, err
	}
	before := map[string]string{}
	for _, id := range p.PreviousResultIDs {
		before[id.URI] = id.Value
	}
	r := &workspaceReport{Items: []workspaceItem{}}
	for _, d := range flawed(snap) {
		if f.overlays.get(pathOf(d, d.Root.Path)) != nil {
			continue
		}
		if len(r.Items) == maxShownFiles {
			f.s.Log().Warn("diagnostics of further files are shown when they are opened", "shown", maxShownFiles)
			break
		}
		uri := uriOf(d)
		item := workspaceItem{URI: uri, diagnosticReport: fullReport(fileDiagnostics(d, f.s.Client().PositionEncoding))}
		if before[uri] == item.ResultID {
			item.Kind, item.Items = "unchanged", nil
		}
		delete(before, uri)
		r.Items = append(r.Items, item)
	}
	for _, uri := range slices.Sorted(maps.Keys(before)) {
		if path, ok := filePathOf(uri); ok && f.overlays.get(path) == nil {
			r.Items = append(r.Items, workspaceItem{URI: uri, diagnosticReport: fullReport(nil)})
		}
	}
	return r, ctx.Err()
}
