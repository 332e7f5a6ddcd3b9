package memory

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"
)

// ImageOptions says whether and where a catalog keeps images of its roots, see
// image.go. An [Indexer] that is no [PartIndexer] keeps none.
type ImageOptions struct {
	// State is the directory of the [Store]'s state; empty for no images.
	State string
	// Write lets the catalog write images, and not only read those that there are.
	Write bool
	// Least is how many documents a root must have for an image; DefaultImageLeast
	// when zero. Of fewer, reading the files takes a moment.
	Least int
	// Every is the least time between two images of a root, DefaultImageEvery when
	// zero; Quiet how long nothing must change before one is written,
	// DefaultImageQuiet when zero.
	Every, Quiet time.Duration
	// Aged is how old the time stamps of a file must be when it is read for an equal
	// stat to prove, at the next start, that it has not changed; 2 s when zero, the
	// coarsest granularity of the file systems in use (FAT).
	Aged time.Duration
	// Written is called after an image has been written; may be nil.
	Written func(root *Root)
}

// Defaults of ImageOptions. A root of 500 memories of usual size is read in about
// 0.2 s. An image costs what the whole root is large, and what has changed since the
// last one only costs reading those files, so that there is no hurry.
const (
	DefaultImageLeast = 500
	DefaultImageEvery = 10 * time.Minute
	DefaultImageQuiet = 2 * time.Second
)

// epochName is the file that a purge writes anew: an image of what was read before the
// epoch began is not put in place any more.
const epochName = "catalog.epoch"

// images reads and writes the images of a catalog.
type images struct {
	opt   ImageOptions
	index PartIndexer
	store *Store // for its folders and locks

	mu   sync.Mutex
	kept map[*Root]keptImage
}

// keptImage is the image that a root has.
type keptImage struct {
	revision uint64 // of the root, when it was made
	at       time.Time
}

func newImages(opt *CatalogOptions) (*images, error) {
	index, ok := opt.Index.(PartIndexer)
	if !ok || opt.Images.State == "" {
		return nil, nil
	}
	store, err := NewStore(StoreOptions{State: opt.Images.State, Roots: func() []*Root { return nil }, Log: opt.Log})
	if err != nil {
		return nil, fmt.Errorf("images of the catalog: %w", err)
	}
	m := &images{opt: opt.Images, index: index, store: store, kept: map[*Root]keptImage{}}
	if m.opt.Least <= 0 {
		m.opt.Least = DefaultImageLeast
	}
	if m.opt.Every <= 0 {
		m.opt.Every = DefaultImageEvery
	}
	if m.opt.Quiet <= 0 {
		m.opt.Quiet = DefaultImageQuiet
	}
	return m, nil
}

func (m *images) note(root *Root, revision uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[root] = keptImage{revision, time.Now()}
}

// load reads the image of a root. That there is none is fs.ErrNotExist.
func (m *images) load(root *Root) (docs []*Document, part any, err error) {
	base, err := m.store.disk.openBase(m.store.opt.State, false)
	if err != nil {
		return nil, nil, err
	}
	defer base.close()
	in, _, err := base.enter(root.ID, false)
	if err != nil {
		return nil, nil, err
	}
	defer in.close()
	if err := m.store.claim(in, root, false); err != nil {
		return nil, nil, err
	}
	if _, err := lstatRegular(in.root, imageName); err != nil {
		return nil, nil, err
	}
	f, err := OpenFile(in.root, imageName)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	return readImage(f, info.Size(), root, m.index)
}

// epoch is the one that the state of a root is in; empty before the first purge.
func (m *images) epoch(in *folder) (string, error) {
	raw, err := in.readState(epochName)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(raw), err
}

// restore serves a root from its image until it has been swept. It is called before
// the watcher runs.
func (s *source) restore() {
	m, root := s.c.images, s.root.Load()
	if m == nil {
		return
	}
	docs, part, err := m.load(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		s.c.opt.Log.Warn("the image of a root is not used; every file is read", "root", s.real, "reason", err)
		return
	case !s.restored(docs):
		s.c.opt.Log.Info("the image of a root is not used: folders in it are roots of their own now", "root", s.real)
		return
	}
	done := make(chan struct{})
	if s.send(func(w *writer) { defer close(done); w.restore(s, root, docs, part) }) {
		<-done
	}
}

// restore takes the documents of an image.
func (w *writer) restore(src *source, root *Root, docs []*Document, part any) {
	s := &src.state
	if s.stopped || src.root.Load() != root || len(s.files) > 0 {
		return
	}
	var c change
	for _, d := range docs {
		if s.files[d.Rel] != nil { // twice: it is no image of a root
			s.files, s.documents = map[string]*entry{}, 0
			return
		}
		s.files[d.Rel] = &entry{doc: d}
		s.put(&c, nil, d)
	}
	src.imaged = docs
	w.part = part
	w.commit(c)
	w.part = nil
	w.c.images.note(root, s.revision)
}

// unlisted are the documents of an image that a full walk of the root did not find.
func (s *source) unlisted(changed []string) []string {
	there := make(map[string]bool, len(changed))
	for _, rel := range changed {
		there[rel] = true
	}
	var gone []string
	for _, d := range s.imaged {
		if !there[d.Rel] {
			gone = append(gone, d.Rel)
		}
	}
	s.imaged = nil
	return gone
}

// keepImages writes images when they are due, until ctx ends.
func (c *Catalog) keepImages(ctx context.Context) {
	m := c.images
	for ctx.Err() == nil {
		changed := c.Changed()
		due, wait := m.due(c.Snapshot())
		if due != nil {
			if !c.quiet(ctx) {
				continue
			}
			err := m.write(ctx, c, due)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				c.opt.Log.Warn("no image of a root was written", "root", due.Real, "reason", err)
			}
			continue
		}
		var timer <-chan time.Time
		if wait > 0 {
			timer = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-timer:
		}
	}
}

// quiet waits until nothing has changed for a while, and tells whether that was so
// from the start.
func (c *Catalog) quiet(ctx context.Context) bool {
	for still := true; ; still = false {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(c.images.opt.Quiet):
			return still
		case <-c.Changed():
		}
	}
}

// due is a root whose image is to be written, or when to ask again; 0 when nothing
// will be due before something changes.
func (m *images) due(snap *Snapshot) (due *Root, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range snap.Roots() {
		if r.State != StateReady && r.State != StateDegraded || r.Catalogued < m.opt.Least {
			continue
		}
		k, ok := m.kept[r.Root]
		if ok && k.revision == r.Revision {
			continue
		}
		left := time.Duration(0)
		if ok {
			left = time.Until(k.at.Add(m.opt.Every))
		}
		if left <= 0 {
			return r.Root, 0
		}
		if wait == 0 || left < wait {
			wait = left
		}
	}
	return nil, wait
}

// write writes the image of a root.
//
// Inv: it holds nothing that was purged. A purge first begins a new epoch and then
// removes the image, with the state locked; the image is put in place with the state
// locked, in the epoch that it was begun in, and is made of what a sweep that began in
// that epoch saw.
func (m *images) write(ctx context.Context, c *Catalog, root *Root) (err error) {
	// However it ends, the next attempt waits.
	defer func() {
		if err != nil {
			m.note(root, 0)
		}
	}()
	in, err := m.store.stateFolder(root)
	if err != nil {
		return err
	}
	defer in.close()
	epoch, err := m.epoch(in)
	if err != nil {
		return err
	}
	if err := c.Sync(ctx); err != nil {
		return err
	}
	snap := c.Snapshot()
	revision := uint64(0)
	for _, r := range snap.Roots() {
		if r.Root == root {
			revision = r.Revision
		}
	}
	temp := tempName()
	if err := in.writeStream(temp, imageOf(snap, root, m.index)); err != nil {
		return err
	}
	locked, err := m.store.lock(ctx, []*Root{root})
	if err != nil {
		return errors.Join(err, in.remove(temp))
	}
	defer locked.unlock()
	now, err := m.epoch(in)
	if err == nil && now != epoch {
		err = errors.New("something was purged meanwhile")
	}
	if err == nil {
		err = in.rename(temp, imageName)
	}
	if err != nil {
		return errors.Join(err, in.remove(temp))
	}
	m.note(root, revision)
	if m.opt.Written != nil {
		m.opt.Written(root)
	}
	return nil
}

// dropImage begins a new epoch of a root's state, which is locked, and removes its
// image and what became of images that were not finished.
func (s *rootState) dropImage() error {
	names, err := s.folder.list()
	if err != nil {
		return err
	}
	if err := s.folder.replace(epochName, []byte(rand.Text())); err != nil {
		return err
	}
	for _, name := range names {
		if name == imageName || strings.HasPrefix(name, tempPrefix) {
			if err := s.folder.remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}
