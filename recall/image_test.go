package recall_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// walker is a watcher that looks at its root when it is told to.
type walker struct {
	dir   string
	sink  func(memory.FileChange)
	began chan struct{} // closed when Run has: what an image had is served by then
	walks chan chan struct{}
}

func (w *walker) Run(ctx context.Context) error {
	close(w.began)
	for {
		select {
		case <-ctx.Done():
			return nil
		case done := <-w.walks:
			change := memory.FileChange{Full: true, SkipsKnown: true}
			_ = filepath.WalkDir(w.dir, func(path string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() && strings.HasSuffix(path, ".md") {
					rel, _ := filepath.Rel(w.dir, path)
					change.Changed = append(change.Changed, filepath.ToSlash(rel))
				}
				return nil
			})
			w.sink(change)
			close(done)
		}
	}
}

func (w *walker) Poke() {}

func (w *walker) Sync(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case w.walks <- done:
		<-done
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *walker) Status() memory.WatchStatus { return memory.WatchStatus{Mode: "fsnotify"} }

// started is a catalog over one root, as a program that starts has it.
type started struct {
	*memory.Catalog
	t       testing.TB
	opens   atomic.Int32
	written chan struct{}
	end     func()
}

// start starts a catalog and waits until it serves what an image had.
func start(t testing.TB, dir, state string, edit ...func(*memory.CatalogOptions)) *started {
	t.Helper()
	s := &started{t: t, written: make(chan struct{}, 16)}
	w := &walker{dir: dir, began: make(chan struct{}), walks: make(chan chan struct{})}
	opt := memory.CatalogOptions{
		Roots: []memory.RootConfig{{Scope: memory.ScopeProject, Path: dir}}, Index: recall.NewIndexer(),
		Watch: func(_ string, _ func(string, bool) bool, sink func(memory.FileChange)) memory.Watcher {
			w.sink = sink
			return w
		},
		Open: func(in *os.Root, name string) (*os.File, error) {
			s.opens.Add(1)
			return memory.OpenFile(in, name)
		},
		Images: memory.ImageOptions{
			State: state, Write: true, Least: 1, Every: time.Nanosecond, Quiet: time.Millisecond, Aged: time.Nanosecond,
			Written: func(*memory.Root) { s.written <- struct{}{} },
		},
	}
	for _, e := range edit {
		e(&opt)
	}
	var err error
	if s.Catalog, err = memory.NewCatalog(opt); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Run(ctx) }()
	s.end = func() { cancel(); <-ended }
	t.Cleanup(s.end)
	if w.sink != nil {
		<-w.began
	}
	return s
}

// swept is the snapshot after a walk.
func (s *started) swept() *memory.Snapshot {
	s.t.Helper()
	if err := s.Sync(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return s.Snapshot()
}

// told is what a snapshot says and answers.
func told(t testing.TB, s *memory.Snapshot) string {
	t.Helper()
	var lines []string
	for d := range s.All() {
		lines = append(lines, d.Ref+" "+d.Version+" "+d.Title+" "+d.Text)
	}
	slices.Sort(lines)
	for _, q := range imageQueries {
		lines = append(lines, outcome(rank(t, recall.IndexOf(s), q)))
	}
	return strings.Join(lines, "\n")
}

var imageQueries = []string{"which port does the gateway listen on", "kestrel timeout", "retried queue budget", "日本語のメモ", "gatway"}

func writeImageStore(t testing.TB, n int) (dir, state string) {
	t.Helper()
	dir, state = resolved(t), resolved(t)
	for i := range n {
		text := fmt.Sprintf("---\nname: Kestrel %d\ntype: project\nkeywords: [gateway, node%d]\n---\nThe gateway listens on port %d.\n\nThe queue is retried %d times, with a timeout.\n日本語のメモ %d\n", i, i, 8000+i, i, i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("k%d.md", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, state
}

func resolved(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// imaged fills a state directory with the image of a store, and returns what the store
// says.
func imaged(t testing.TB, dir, state string) (image, truth string) {
	t.Helper()
	s := start(t, dir, state)
	truth = told(t, s.swept())
	<-s.written
	s.end()
	return imageIn(t, state), truth
}

func imageIn(t testing.TB, state string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(state, "*", "catalog.image"))
	if err != nil || len(found) != 1 {
		t.Fatalf("images: %v, %v", found, err)
	}
	return found[0]
}

func readAll(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestRestartReadsWhatChanged starts a second time: it answers before anything was
// read, says that it is not complete, and then reads only the files that changed.
func TestRestartReadsWhatChanged(t *testing.T) {
	dir, state := writeImageStore(t, 40)
	image, truth := imaged(t, dir, state)
	info, err := os.Stat(image)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	in, err := os.Stat(filepath.Dir(image))
	if err != nil || in.Mode().Perm() != 0o700 {
		t.Fatalf("%v, %v", in, err)
	}

	s := start(t, dir, state)
	if got := told(t, s.Snapshot()); got != truth {
		t.Errorf("before the sweep:\n%s\nwant\n%s", got, truth)
	}
	if !s.Snapshot().Loading() || s.opens.Load() != 0 {
		t.Errorf("loading %v, %d files opened", s.Snapshot().Loading(), s.opens.Load())
	}
	if got := told(t, s.swept()); got != truth || s.opens.Load() != 0 || s.Snapshot().Loading() {
		t.Errorf("after it, with %d files opened, loading %v:\n%s", s.opens.Load(), s.Snapshot().Loading(), got)
	}
	s.end()

	// Another text of the same length and time, a new file, one that has gone.
	stamp, err := os.Stat(filepath.Join(dir, "k3.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(readAll(t, filepath.Join(dir, "k3.md"))), "port 8003", "port 9993", 1)
	writeFile(t, dir, "k3.md", text)
	if err := os.Chtimes(filepath.Join(dir, "k3.md"), stamp.ModTime(), stamp.ModTime()); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "new.md", "The heron is new.\n")
	removeFile(t, dir, "k7.md")
	s = start(t, dir, state)
	after := s.swept()
	want := start(t, dir, resolved(t))
	if got, want := told(t, after), told(t, want.swept()); got != want {
		t.Errorf("after changes:\n%s\nwant\n%s", got, want)
	}
	if n := s.opens.Load(); n > 3 {
		t.Errorf("%d files opened for two that changed", n)
	}
}

// TestEndsWhileAnImageIsDue ends a catalog that waits for the quiet in which to write.
func TestEndsWhileAnImageIsDue(t *testing.T) {
	dir, state := writeImageStore(t, 3)
	s := start(t, dir, state, func(o *memory.CatalogOptions) { o.Images.Quiet = time.Hour })
	s.swept()
	s.end()
	if found, err := filepath.Glob(filepath.Join(state, "*", "catalog.image")); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// TestFilesReadTooSoonAreReadAgain: a file that was read within the granularity of its
// time stamp may have changed without another stamp.
func TestFilesReadTooSoonAreReadAgain(t *testing.T) {
	dir, state := writeImageStore(t, 10)
	young := func(o *memory.CatalogOptions) { o.Images.Aged = time.Hour }
	s := start(t, dir, state, young)
	s.swept()
	<-s.written
	s.end()
	s = start(t, dir, state, young)
	if s.swept(); s.opens.Load() != 10 {
		t.Errorf("%d of 10 files were read", s.opens.Load())
	}
}

// TestDocumentsOfAnImageAreThoseOfTheFiles compares every field, and what is found in
// the documents, over files of every kind.
func TestDocumentsOfAnImageAreThoseOfTheFiles(t *testing.T) {
	dir, state := writeImageStore(t, 3)
	samples := filepath.Join("..", "testdata", "memory")
	if err := os.CopyFS(filepath.Join(dir, "samples"), os.DirFS(samples)); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "dates.md", "---\nname: D\ncreated_at: 2026-01-31\nupdated_at: 2026-02-01T10:00:00+05:30\nexpires_at: 2027-01-01\nlast_verified_at: 2026-02-01T10:00:00Z\nsupersedes: [a, b]\nusage_scenarios: [x]\nid: i\npinned: true\nstatus: superseded\ncategory: c\nmetadata:\n  originSessionId: s\n---\nbody\n")
	s := start(t, dir, state)
	want := s.swept()
	<-s.written
	s.end()
	s = start(t, dir, state)
	got := s.Snapshot()
	if got.Len() != want.Len() || got.Len() < 5 {
		t.Fatalf("%d documents of %d", got.Len(), want.Len())
	}
	for d := range want.All() {
		o, ok := got.Get(d.Ref)
		if !ok {
			t.Errorf("%s is not there", d.Ref)
			continue
		}
		if w, g := everything(d), everything(o); w != g {
			t.Errorf("%s:\n got %s\nwant %s", d.Ref, g, w)
		}
	}
}

func everything(d *memory.Document) string {
	var b strings.Builder
	v := reflect.ValueOf(*d)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Name == "Root" {
			continue
		}
		x := v.Field(i).Interface()
		if at, ok := x.(time.Time); ok {
			x = at.Format(time.RFC3339Nano)
		}
		fmt.Fprintf(&b, "%s=%+v\n", f.Name, x)
	}
	fmt.Fprintf(&b, "%v %+v %+v %+v %+v", d.Empty(), memory.Keys(d), memory.Entries(d), memory.Links(d), memory.Anchors(d))
	return b.String()
}

// TestDamagedImages flips bits, cuts off, and adds: whatever the damage, what is served
// before the sweep is nothing or the truth, and after it the truth.
func TestDamagedImages(t *testing.T) {
	dir, state := writeImageStore(t, 12)
	image, truth := imaged(t, dir, state)
	whole := readAll(t, image)
	r := rand.New(rand.NewPCG(5, 6))
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for i := range rounds {
		raw := bytes.Clone(whole)
		switch i % 4 {
		case 0, 1:
			for range 1 + r.IntN(3) {
				raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
			}
		case 2:
			raw = raw[:r.IntN(len(raw))]
		case 3:
			at := r.IntN(len(raw))
			raw = slices.Insert(raw, at, make([]byte, 1+r.IntN(20))...)
		}
		if bytes.Equal(raw, whole) {
			continue // flipped there and back
		}
		checkImage(t, dir, state, image, raw, truth)
	}
}

// checkImage starts with the bytes in the place of an image.
func checkImage(t testing.TB, dir, state, image string, raw []byte, truth string) {
	t.Helper()
	if err := os.WriteFile(image, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, dir, state, func(o *memory.CatalogOptions) { o.Images.Write = false })
	defer s.end()
	if n := s.Snapshot().Len(); n != 0 {
		t.Errorf("a damaged image served %d documents", n)
	}
	if got := told(t, s.swept()); got != truth {
		t.Errorf("after the sweep:\n%s\nwant\n%s", got, truth)
	}
}

// TestImagesOfOthersAreNotUsed: of another root, of another program, of a root that is
// not trusted any more.
func TestImagesOfOthersAreNotUsed(t *testing.T) {
	dir, state := writeImageStore(t, 8)
	image, truth := imaged(t, dir, state)
	whole := readAll(t, image)

	head := sections(whole)[0]
	for _, edit := range [][2]string{{`"format":1`, `"format":2`}, {`"program":"`, `"program":"other`}, {`"numbers":"little"`, `"numbers":"big"`}, {`"documents":8`, `"documents":7`}} {
		changed := bytes.Replace(head, []byte(edit[0]), []byte(edit[1]), 1)
		if bytes.Equal(changed, head) {
			t.Fatalf("no %s in %s", edit[0], head)
		}
		raw := append(section(changed), whole[12+len(head):]...)
		checkImage(t, dir, state, image, raw, truth)
	}

	other, otherState := writeImageStore(t, 5)
	foreign, otherTruth := imaged(t, other, otherState)
	checkImage(t, dir, state, image, readAll(t, foreign), truth)
	checkImage(t, other, otherState, foreign, whole, otherTruth)

	if err := os.WriteFile(image, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, dir, state, func(o *memory.CatalogOptions) { o.Roots[0].Untrusted = true })
	if s.Snapshot().Len() != 0 || s.Snapshot().Roots()[0].State != memory.StateUntrusted {
		t.Errorf("%d documents of a root that is not trusted, %+v", s.Snapshot().Len(), s.Snapshot().Roots())
	}
}

func section(p []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(p)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)))
	return append(b, p...)
}

// sections parts an image.
func sections(raw []byte) (out [][]byte) {
	for len(raw) >= 12 {
		n := binary.LittleEndian.Uint64(raw)
		if n > uint64(len(raw)-12) {
			break
		}
		out = append(out, raw[12:12+n])
		raw = raw[12+n:]
	}
	return out
}

// TestPurgeTakesTheImage: when a purge has answered, no image holds what was forgotten,
// and one that was begun before is not put in place.
func TestPurgeTakesTheImage(t *testing.T) {
	const secret = "the vault opens with seven turns"
	dir, state := writeImageStore(t, 6)
	writeFile(t, dir, "vault.md", "---\nname: Vault\ntype: project\n---\n"+secret+"\n")
	s := start(t, dir, state)
	snap := s.swept()
	<-s.written
	image := imageIn(t, state)
	if !bytes.Contains(readAll(t, image), []byte(secret)) {
		t.Fatal("the image does not hold the text: the test proves nothing")
	}
	s.end()
	// What a program that crashed left of an image.
	writeFile(t, filepath.Dir(image), ".memls-LEFT.tmp", secret)
	roots := []*memory.Root{snap.Roots()[0].Root}
	store, err := memory.NewStore(memory.StoreOptions{State: state, Roots: func() []*memory.Root { return roots }})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := snap.Get("project:vault.md")
	plan, err := store.Propose(t.Context(), memory.Draft{Kind: memory.KindForget, Edits: []memory.Edit{{Action: memory.ActionDelete, Doc: d}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Apply(t.Context(), plan.ID, memory.ApplyOptions{Purge: true}); err != nil {
		t.Fatal(err)
	}
	_ = filepath.WalkDir(state, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && bytes.Contains(readAll(t, path), []byte(secret)) {
			t.Errorf("%s holds it still", path)
		}
		return nil
	})
	s = start(t, dir, state)
	s.swept()
	<-s.written
	if bytes.Contains(readAll(t, imageIn(t, state)), []byte(secret)) {
		t.Error("the next image holds it")
	}
}

// FuzzImage starts with images whose checksums are right whatever they hold: nothing
// that stands in one has the program fail, or answer wrongly after the sweep.
func FuzzImage(f *testing.F) {
	dir, state := writeImageStore(f, 4)
	image, _ := imaged(f, dir, state)
	whole := readAll(f, image)
	f.Add(uint16(1), uint16(3), []byte{0xff})
	f.Add(uint16(12), uint16(0), []byte{1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, which, at uint16, with []byte) {
		parts := sections(bytes.Clone(whole))
		p := parts[int(which)%len(parts)]
		if len(p) > 0 {
			copy(p[int(at)%len(p):], with)
		}
		if len(with) > 0 && with[0]%3 == 0 && len(p) > 0 {
			parts[int(which)%len(parts)] = p[:int(at)%len(p)]
		}
		var raw []byte
		for _, p := range parts {
			raw = append(raw, section(p)...)
		}
		if err := os.WriteFile(image, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		s := start(t, dir, state, func(o *memory.CatalogOptions) { o.Images.Write = false })
		defer s.end()
		_ = told(t, s.Snapshot())
		_ = s.swept()
		// Inv: what a stat proves is what an image says; one that lies with the right
		// stamps and checksums was written by somebody who may write the state. But no
		// file is missing or too many.
		if n := s.Snapshot().Len(); n != 4 {
			t.Errorf("%d documents of 4 files", n)
		}
	})
}
