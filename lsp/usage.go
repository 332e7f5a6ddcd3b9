package lsp

import (
	"strings"
	"sync"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/memory/activity"
)

// usages are the deliveries of memories by any process, as the activity log has
// them.
type usages struct {
	mu sync.Mutex
	of map[string]*activity.Uses // by the id of a root
}

// usage answers a function that tells how often a memory was recalled and when
// last, at this moment. known is false where nobody counts, since the person
// keeps no activity.
func (f *features) usage() func(*memory.Document) (count int, last time.Time, known bool) {
	now := map[string]*activity.Uses{}
	return func(d *memory.Document) (int, time.Time, bool) {
		if !f.activity.on() {
			return 0, time.Time{}, false
		}
		uses, read := now[d.Root.ID]
		if !read {
			uses = f.usesOf(d.Root)
			now[d.Root.ID] = uses
		}
		if uses == nil {
			return 0, time.Time{}, false
		}
		_, path, _ := strings.Cut(d.Ref, ":")
		use := uses.ByPath[path]
		return use.Count, use.Last, true
	}
}

// usesOf are the deliveries of a root's memories; nil when the log cannot be read.
func (f *features) usesOf(root *memory.Root) *activity.Uses {
	f.uses.mu.Lock()
	defer f.uses.mu.Unlock()
	uses, err := f.activity.store.Uses(root.ID, f.uses.of[root.ID])
	if err != nil {
		f.s.Log().Warn("activity not read", "root", root.ID, "err", err)
		return nil
	}
	if f.uses.of == nil {
		f.uses.of = map[string]*activity.Uses{}
	}
	f.uses.of[root.ID] = uses
	return uses
}
