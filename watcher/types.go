package watcher

import (
	"io/fs"
	"log/slog"
	"time"
)

// Sig is what a stat says about a file. Two equal signatures mean "the same
// bytes as far as the file system can tell"; see [Batch.Changed] for the case
// in which it cannot tell yet.
type Sig struct {
	Size  int64 // bytes
	MTime int64 // last modification, nanoseconds since 1970 (UTC)
	// CTime is the last change of the inode, nanoseconds since 1970 (UTC). It
	// sees what a restored MTime hides. Windows has none without opening the
	// file; there it is the time of creation.
	CTime    int64
	Ino, Dev uint64 // identity of the file; 0 on Windows
}

// Mode says how the watcher learns that it should look.
type Mode string

const (
	// ModeEvents: the operating system announces changes; sweeps verify.
	ModeEvents Mode = "fsnotify"
	// ModePoll: sweeps only.
	ModePoll Mode = "poll"
)

// Skip is an entry under the root that is not delivered, and why.
type Skip struct {
	Path   string // relative to the root, slash-separated; "." is the root itself
	Reason string // "symlink", "not a regular file (fifo)", "permission denied", "too deep", ...
}

// Batch is what changed since the batch before. Paths are relative to the root
// and slash-separated; no path is in both Changed and Removed. The receiver owns
// the maps; Skipped is shared and must not be modified.
type Batch struct {
	// Changed holds files that are new or whose signature changed. A file whose
	// time stamp was too fresh to prove anything (see RacyWindow) is listed once
	// more when the stamp has aged, so a receiver compares digests.
	Changed map[string]Sig
	Removed map[string]struct{}
	// Skipped is the complete present list of skipped entries, sorted by path;
	// valid when SkipsKnown.
	Skipped    []Skip
	SkipsKnown bool
	// Full says that a complete walk of the root stands behind this batch. The
	// first batch of a root that exists is Full, also when it is empty.
	Full bool
	// Missing says that there is no directory at the root, and has been none for
	// the grace time (or since the start). Removed then holds everything that
	// was delivered before.
	Missing bool
	Gen     uint64 // counts batches, from 1
}

// Status is a snapshot of the watcher's condition.
type Status struct {
	Mode Mode
	// Reason says why the mode is not ModeEvents, and what is wrong with the
	// root; empty when there is nothing to explain.
	Reason    string
	Since     time.Time // when the mode was entered
	LastEvent time.Time // last event that concerned the root; zero before the first
	LastSweep time.Time // end of the last complete look at the root; zero before the first
	Missing   bool      // the last look found no directory at the root
	Dirs      int       // directories known, the root included
	Files     int       // files known
	Overflows int64     // event queues that ran over
	Sweeps    int64     // complete looks at the root
	Events    int64     // events that concerned the root
}

// Defaults of Options. Quiet and MaxWait keep the time from a write to its batch
// well under 50 ms at the median while an editor's burst of ten events, or a
// checkout, still makes few batches. Sweep is short enough that a lost event is
// an annoyance and long enough to cost nothing (about 5 ms for 1,000 files).
// Grace covers a directory replaced by two renames or by a delete and a copy.
const (
	DefaultQuiet    = 15 * time.Millisecond
	DefaultMaxWait  = 100 * time.Millisecond
	DefaultSweep    = 30 * time.Second
	DefaultGrace    = 2 * time.Second
	DefaultMaxDepth = 128
	DefaultMaxFiles = 2_000_000
)

// RacyWindow is how old a time stamp must be, relative to the stat that read it,
// before an equal signature proves equal bytes: the coarsest granularity of the
// file systems in use (FAT, 2 s).
const RacyWindow = 2 * time.Second

// Options tunes a Watcher. The zero value means the defaults above, events, and
// every name that JudgeName does not ignore.
type Options struct {
	Poll    bool          // force ModePoll
	Quiet   time.Duration // silence that ends a burst of events
	MaxWait time.Duration // longest wait for that silence
	Sweep   time.Duration // time between complete walks in ModeEvents; longer for trees that take long to walk
	Grace   time.Duration // how long the root may be absent before its files count as removed
	// Keep says whether a file (or, dir being true, a directory and what is
	// under it) is wanted; nil keeps all. It sees no name that JudgeName ignores.
	// It is called by one goroutine and must answer the same for the same
	// arguments at any time.
	Keep     func(rel string, dir bool) bool
	MaxDepth int          // directories below one another; deeper ones are skipped and reported
	MaxFiles int          // files, and directories, that are tracked; the rest is skipped and reported
	Log      *slog.Logger // nil discards

	// Seams: what the operating system is asked for.
	open       func() (eventSource, error)
	list       func(dir string) ([]fs.DirEntry, error)
	fsKind     func(dir string) (kind string, silent bool)
	pollMin    time.Duration
	pollMax    time.Duration
	eventFiles int  // files above which events cost too much; 0 = no limit
	blindCTime bool // Sig.CTime does not follow content
}

func (o Options) withDefaults() Options {
	orDuration(&o.Quiet, DefaultQuiet)
	orDuration(&o.MaxWait, DefaultMaxWait)
	orDuration(&o.Sweep, DefaultSweep)
	orDuration(&o.Grace, DefaultGrace)
	orDuration(&o.pollMin, pollBusy)
	orDuration(&o.pollMax, pollIdle)
	if o.MaxDepth <= 0 {
		o.MaxDepth = DefaultMaxDepth
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = DefaultMaxFiles
	}
	if o.eventFiles == 0 {
		o.eventFiles = platformEventFiles
	}
	if o.Keep == nil {
		o.Keep = func(string, bool) bool { return true }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.open == nil {
		o.open = openFsnotify
	}
	if o.list == nil {
		o.list = listDir
	}
	if o.fsKind == nil {
		o.fsKind = fsKind
	}
	o.blindCTime = o.blindCTime || platformBlindCTime
	return o
}

func orDuration(d *time.Duration, def time.Duration) {
	if *d <= 0 {
		*d = def
	}
}
