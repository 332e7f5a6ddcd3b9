package memory_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/memls/memls/memory"
)

// The first change of a root is made, though another process tidies its state
// directory up at this very moment.
func TestStateIsMadeWhileAnotherProcessTidiesUp(t *testing.T) {
	s := openStore(t, nil)
	swept := 0
	store := s.again(func(o *memory.StoreOptions) {
		o.Fault = func(c memory.Call) error {
			if c.Op != "rename" || filepath.Base(c.Path) != "root.json" || swept == 3 {
				return nil
			}
			swept++
			temps, err := filepath.Glob(filepath.Join(filepath.Dir(c.Path), ".memls-*"))
			for _, temp := range temps {
				if err := os.Remove(temp); err != nil {
					t.Error(err)
				}
			}
			return err
		}
	})
	if _, err := store.Do(t.Context(), s.create(0, "a.md", "a\n")); err != nil || swept != 3 {
		t.Errorf("%v, after %d sweeps", err, swept)
	}
	if got := s.read(0, "a.md"); got != "a\n" {
		t.Errorf("%q", got)
	}
}
