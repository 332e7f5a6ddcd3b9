package memory

import (
	"iter"
	"slices"
	"time"
)

// RootState is how far a root can be relied on.
type RootState string

// The states of a root.
const (
	StateLoading   RootState = "loading"   // its first scan has not been applied
	StateReady     RootState = "ready"     // current
	StateDegraded  RootState = "degraded"  // served, but changes may be seen late
	StateMissing   RootState = "missing"   // does not exist (yet, or any more)
	StateUntrusted RootState = "untrusted" // not opened
	StateError     RootState = "error"     // cannot be served, for Reason
)

// Skip is an entry of a root that is not catalogued, and why.
type Skip struct{ Path, Reason string } // Path is slash-separated, below the root

// WatchStatus is what a watcher says of itself.
type WatchStatus struct {
	Mode string // "fsnotify" or "poll"
	// Reason is what is worse than was asked for; empty when nothing is, also when
	// polling was asked for. With it a ready root counts as degraded.
	Reason    string
	Since     time.Time // when the mode began
	LastEvent time.Time
	LastSweep time.Time
}

// RootStatus is one root in a snapshot.
//
// Catalogued counts its documents. OnDisk counts the Markdown files that are
// there to be catalogued: every name that ends in .md, is neither the index nor
// hidden nor an editor's temporary copy, and lies in no folder that is itself a
// root, whether it became a document or a Skip. So OnDisk is Catalogued plus the
// skipped .md names, once everything that was noticed has been read; while files
// are still to be read it is ahead. What lies inside a skipped folder is unknown
// and not counted.
type RootStatus struct {
	Root       *Root
	State      RootState
	Reason     string
	OnDisk     int
	Catalogued int
	Skipped    []Skip     // by path; not to be changed
	HasIndex   bool       // a MEMORY.md lies directly in the root
	Index      *IndexFile // what is in it; nil while it cannot be read, which is then a Skip
	// Watch and LastEventAt are those of the moment at which the snapshot was
	// published; [Catalog.Status] has those of now.
	Watch       WatchStatus
	LastEventAt time.Time
	Revision    uint64 // the catalog's revision when a document of this root last changed
}

// Snapshot is the catalog at one moment. Inv: immutable; a reader may keep it
// for as long as it likes.
type Snapshot struct {
	// Revision grows whenever a document or the set of roots changes, and only
	// then.
	Revision uint64

	docs  docSet
	roots []RootStatus
	index any
	names *names // shared by the snapshots of one revision; nil in an empty one
}

// Get finds a document by its ref, which names a file and no entry.
func (s *Snapshot) Get(ref string) (*Document, bool) { return s.docs.get(ref) }

// All yields every document, in an order that depends on the set alone and means
// nothing.
func (s *Snapshot) All() iter.Seq[*Document] { return s.docs.all() }

// Len is the number of documents.
func (s *Snapshot) Len() int { return s.docs.len }

// Roots are the roots in configured order.
func (s *Snapshot) Roots() []RootStatus { return slices.Clone(s.roots) }

// Index is what the Indexer answered for exactly these documents; nil without an
// Indexer.
func (s *Snapshot) Index() any { return s.index }

// Loading tells whether some root has not finished its first scan.
func (s *Snapshot) Loading() bool {
	return slices.ContainsFunc(s.roots, func(r RootStatus) bool { return r.State == StateLoading })
}

// same tells whether two statuses differ in more than time stamps.
func (r RootStatus) same(o RootStatus) bool {
	return r.sameState(o) && r.OnDisk == o.OnDisk && r.Catalogued == o.Catalogued &&
		r.HasIndex == o.HasIndex && r.Index == o.Index && slices.Equal(r.Skipped, o.Skipped)
}

// sameState tells whether a person would call the state of the root unchanged.
func (r RootStatus) sameState(o RootStatus) bool {
	return r.Root == o.Root && r.State == o.State && r.Reason == o.Reason &&
		r.Watch.Mode == o.Watch.Mode && r.Watch.Reason == o.Watch.Reason
}

// watched puts what a watcher says now into a status.
func (r RootStatus) watched(w WatchStatus) RootStatus {
	r.Watch, r.LastEventAt = w, w.LastEvent
	if r.State == StateReady && w.Reason != "" {
		r.State, r.Reason = StateDegraded, w.Reason
	}
	return r
}
