package memory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/memls/memls/memory"
)

// fingerprint is all that a reader can see of a snapshot.
func fingerprint(s *memory.Snapshot) map[string]string {
	all := map[string]string{}
	for d := range s.All() {
		all[d.Ref] = d.Version + d.Title + d.Text + d.Root.Prefix + fmt.Sprint(d.Keywords)
	}
	all["#"] = fmt.Sprint(s.Revision, s.Len(), s.Loading(), s.Roots(), s.Index())
	return all
}

// Whatever happens on disk, a snapshot that somebody holds never changes, every
// snapshot agrees with its index, and after a Sync the catalog is the disk.
func TestSnapshotsAreImmutable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := tempDir(t)
		b := open(t, dir, nil)
		var readers sync.WaitGroup
		stop := make(chan struct{})
		for range 2 {
			readers.Go(func() {
				for {
					changed, s := b.Changed(), b.Snapshot()
					first := fingerprint(s)
					select {
					case <-changed:
					case <-stop:
						return
					}
					checkSnapshot(t, s)
					if again := fingerprint(s); fmt.Sprint(first) != fmt.Sprint(again) {
						t.Errorf("a snapshot changed:\n%v\n%v", first, again)
					}
				}
			})
		}
		disk := map[string]string{}
		name := rapid.Custom(func(rt *rapid.T) string {
			return fmt.Sprintf("%d/%d.md", rapid.IntRange(0, 2).Draw(rt, "folder"), rapid.IntRange(0, 9).Draw(rt, "file"))
		})
		for range rapid.IntRange(1, 12).Draw(rt, "rounds") {
			for range rapid.IntRange(1, 8).Draw(rt, "operations") {
				operate(rt, t, dir, name, disk)
			}
			checkDisk(t, b.sync(), disk)
		}
		close(stop)
		readers.Wait()
	})
}

func operate(rt *rapid.T, t *testing.T, dir string, name *rapid.Generator[string], disk map[string]string) {
	rel := name.Draw(rt, "name")
	switch rapid.IntRange(0, 3).Draw(rt, "operation") {
	case 0:
		disk[rel] = ""
		write(t, dir, rel, "")
	case 1:
		if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(rel))); err != nil {
			t.Fatal(err)
		}
		delete(disk, rel)
	case 2:
		to := name.Draw(rt, "to")
		if text, ok := disk[rel]; ok && to != rel {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o755); err != nil {
				t.Fatal(err)
			}
			rename(t, filepath.Join(dir, rel), filepath.Join(dir, to))
			delete(disk, rel)
			disk[to] = text
		}
	default:
		disk[rel] = "---\nname: " + rapid.StringMatching(`[a-z: #]{0,12}`).Draw(rt, "title") + "\n---\nbody\n"
		write(t, dir, rel, disk[rel])
	}
}

func checkDisk(t *testing.T, s *memory.Snapshot, disk map[string]string) {
	t.Helper()
	if s.Len() != len(disk) {
		t.Errorf("%d documents for %d files", s.Len(), len(disk))
	}
	for rel, text := range disk {
		if d, ok := s.Get("project:" + rel); !ok || d.Text != text {
			t.Errorf("%s: %+v, want %q", rel, d, text)
		}
	}
	if r := s.Roots()[0]; r.OnDisk != len(disk) {
		t.Errorf("on disk %d, is %d", r.OnDisk, len(disk))
	}
}
