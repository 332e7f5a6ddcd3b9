package vectors_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memls/memls/memory/vectors"
)

const rootID = "0a1b2c3d"

func some(root, model string, refs ...string) *vectors.File {
	f := &vectors.File{Root: root, Model: model, Dimension: 3, Sample: []float32{0.1, 0.25, 0.5}, Sampled: 40}
	for i, ref := range refs {
		f.Rows = append(f.Rows, vectors.Row{Key: vectors.Key{byte(i), 9}, File: vectors.FileOf(ref), Inverse: 0.01, Numbers: []int8{int8(i), -127, 127}})
	}
	return f
}

// stored is the one file of vectors below a directory.
func stored(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, rootID, "vectors-*.bin"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	return found[0]
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	dir := t.TempDir()
	s := vectors.Open(dir)
	if _, err := s.Load(rootID, "m"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing saved: %v", err)
	}
	want := some(rootID, "m", "project:a.md", "project:b.md")
	for range 2 {
		if err := s.Save(t.Context(), want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Load(rootID, "m")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	info, err := os.Stat(stored(t, dir))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(dir, rootID)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	// Neither names nor texts stand in it.
	raw, err := os.ReadFile(stored(t, dir))
	if err != nil || strings.Contains(string(raw), "a.md") {
		t.Errorf("it names a file: %v", err)
	}
	want.Rows = nil
	if err := s.Save(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(rootID, "m"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without rows: %v", err)
	}
}

// A file that was cut off, changed anywhere, or belongs elsewhere is not used.
func TestDamagedFilesAreNotUsed(t *testing.T) {
	dir := t.TempDir()
	s := vectors.Open(dir)
	if err := s.Save(t.Context(), some(rootID, "m", "project:a.md", "project:b.md")); err != nil {
		t.Fatal(err)
	}
	path := stored(t, dir)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(what string, raw []byte) {
		t.Helper()
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := s.Load(rootID, "m")
		var bad *vectors.DamagedError
		if !errors.As(err, &bad) || f != nil || !strings.Contains(err.Error(), "made anew") {
			t.Errorf("%s: %v %v", what, f, err)
		}
	}
	for n := range len(whole) {
		damaged("cut off", whole[:n])
		flipped := append([]byte(nil), whole...)
		flipped[n] ^= 0x10
		damaged("a bit flipped", flipped)
	}
	damaged("longer", append(append([]byte(nil), whole...), 0))
	damaged("something else", []byte(strings.Repeat("a notebook ", 100)))
	// Of another root, and of another model, under this name.
	for what, other := range map[string]*vectors.File{"root": some("ffffffff", "m", "project:a.md"), "model": some(rootID, "n", "project:a.md")} {
		elsewhere := t.TempDir()
		if err := vectors.Open(elsewhere).Save(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		found, _ := filepath.Glob(filepath.Join(elsewhere, "*", "vectors-*.bin"))
		raw, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		damaged("another "+what, raw)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(rootID, "m"); err == nil {
		t.Error("a link is followed")
	}
	if _, err := s.Load("../x", "m"); err == nil {
		t.Error("a root that leads elsewhere")
	}
}

// What is forgotten goes from the files of all models; what cannot be read goes whole.
func TestForget(t *testing.T) {
	dir := t.TempDir()
	s := vectors.Open(dir)
	if err := s.Forget(t.Context(), rootID, []string{"project:a.md"}); err != nil {
		t.Errorf("nothing kept: %v", err)
	}
	for _, m := range []string{"m", "n"} {
		if err := s.Save(t.Context(), some(rootID, m, "project:a.md", "project:b.md", "project@0a1b2c3d:a.md")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Forget(t.Context(), rootID, []string{"project:a.md#2"}); err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"m", "n"} {
		f, err := s.Load(rootID, m)
		if err != nil || len(f.Rows) != 1 || f.Rows[0].File != vectors.FileOf("project:b.md") {
			t.Errorf("%s: %+v %v", m, f, err)
		}
	}
	broken := filepath.Join(dir, rootID, "vectors-0011223344556677.bin")
	left := filepath.Join(dir, rootID, "vectors-0011223344556677.bin.123")
	for _, path := range []string{broken, left} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Forget(t.Context(), rootID, []string{"project:b.md"}); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, rootID, "vectors-*"))
	if err != nil || len(found) != 0 {
		t.Errorf("left: %v %v", found, err)
	}
}

// Files of models that are not in use any more do not gather, nor what killed
// processes leave.
func TestOldModelsArePruned(t *testing.T) {
	dir := t.TempDir()
	s := vectors.Open(dir)
	for i, m := range []string{"a", "b", "c", "d", "e"} {
		if err := s.Save(t.Context(), some(rootID, m, "project:a.md")); err != nil {
			t.Fatal(err)
		}
		found, _ := filepath.Glob(filepath.Join(dir, rootID, "vectors-*.bin"))
		for _, path := range found { // all older than what comes
			info, err := os.Stat(path)
			if err != nil || os.Chtimes(path, time.Time{}, info.ModTime().Add(-time.Hour)) != nil {
				t.Fatal(err)
			}
		}
		if len(found) != min(i+1, 3) {
			t.Errorf("after %s: %v", m, found)
		}
	}
	if _, err := s.Load(rootID, "e"); err != nil {
		t.Error(err)
	}
	if _, err := s.Load(rootID, "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Several writers leave one whole file.
func TestWritersAtOnce(t *testing.T) {
	s := vectors.Open(t.TempDir())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if err := s.Save(context.Background(), some(rootID, "m", "project:a.md")); err != nil {
					t.Error(err)
				}
				if _, err := s.Load(rootID, "m"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
