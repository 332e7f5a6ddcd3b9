package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// StoreOptions is what a store needs. State and Roots are required.
type StoreOptions struct {
	// State is the directory below which each root has its own for journal, plans
	// and operations; see [StateHome]. It is made when it is needed.
	State string
	// Roots are the roots that are served now.
	Roots func() []*Root
	// Snapshot gives the documents of a root when its index is regenerated; when
	// nil, or while the root is loading, the files are read instead.
	Snapshot func() *Snapshot
	// Index makes the new MEMORY.md of a root; KeepIndex(Now) when nil.
	Index IndexFunc
	// Unsaved tells whether an editor holds changes of a file that it has not
	// saved; such a file is not touched.
	Unsaved func(root *Root, rel string) bool
	// Secrets names the rules that a text breaks by holding a secret that it did
	// not hold before.
	Secrets func(before, after string) []string
	// Purge erases what others keep of texts that were forgotten for good: caches,
	// logs, embeddings. It is called before a purge is reported as done.
	Purge func(ctx context.Context, f Forgotten) error
	// Applied is called after every operation, without any lock held.
	Applied func(*Operation)
	// PlansChanged is called when the pending plans of the inbox may be others.
	PlansChanged func()
	// TaskChanged is called when a task of this process began, went on or ended.
	TaskChanged func(Task)

	// LockWait is how long a root that somebody else writes to is waited for; 2 s
	// when zero.
	LockWait time.Duration
	Now      func() time.Time
	Log      *slog.Logger
	// Fault is asked before every call to the file system, and has it fail by
	// answering an error. For tests.
	Fault func(Call) error
}

// Store is the one door through which memory files change: plans are made, kept,
// applied and undone here. For concurrent use, also by several processes.
type Store struct {
	opt  StoreOptions
	disk *disk

	mu    sync.Mutex
	plans map[string]*Plan // those that do not persist
	// expired is when the state of a root was last looked through.
	expired map[string]time.Time
	lastID  int64           // the time in the last id, in nanoseconds
	runs    map[string]*Run // by id: the tasks of this process
	// feedback is what was last read of the verdicts on memories.
	feedback atomic.Pointer[Feedback]
}

// NewStore makes a store. It touches no file.
func NewStore(opt StoreOptions) (*Store, error) {
	if opt.State == "" || opt.Roots == nil {
		return nil, errors.New("a store needs a state directory and roots")
	}
	abs, err := filepath.Abs(opt.State)
	if err != nil {
		return nil, fmt.Errorf("state directory %q: %w", opt.State, err)
	}
	if opt.State, err = resolvePath(abs); err != nil {
		return nil, fmt.Errorf("state directory %q: %w", abs, err)
	}
	if opt.LockWait <= 0 {
		opt.LockWait = defaultLockWait
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Index == nil {
		opt.Index = KeepIndex(opt.Now)
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Store{opt: opt, disk: &disk{fault: opt.Fault}, plans: map[string]*Plan{}, expired: map[string]time.Time{}, runs: map[string]*Run{}}, nil
}

// StateHome is the directory in which memls keeps its state:
// $XDG_STATE_HOME/memls, or the place that stands for it on this system.
func StateHome() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "memls"), nil
	}
	if dir := os.Getenv("LOCALAPPDATA"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, "memls", "state"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding a directory for state: %w", err)
	}
	return filepath.Join(home, ".local", "state", "memls"), nil
}

// ResolveRoots makes roots of their configuration, as a catalog does.
func ResolveRoots(configs []RootConfig) ([]*Root, error) {
	resolved, err := resolveRoots(configs)
	if err != nil {
		return nil, err
	}
	roots := make([]*Root, len(resolved))
	for i, r := range resolved {
		roots[i] = r.Root
	}
	return roots, nil
}

// root finds a served root.
func (s *Store) root(id, real string) *Root {
	for _, r := range s.opt.Roots() {
		if r.ID == id && r.Real == real {
			return r
		}
	}
	return nil
}

// writable tells why a root cannot be written to, if it cannot.
func writable(r *Root, refs []string) error {
	switch {
	case r.Untrusted:
		return refuse(RefusedUntrusted, refs, "the %s root is not trusted", r.Prefix)
	case r.Refused != "":
		return refuse(RefusedConflict, refs, "the %s root is not served: %s", r.Prefix, r.Refused)
	case r.ReadOnly:
		return refuse(RefusedReadOnly, refs, "the %s root is read-only", r.Prefix)
	}
	return nil
}

// memoryName tells why a file of a root cannot be a memory that is written, if
// it cannot.
func (s *Store) memoryName(root *Root, rel string) error {
	if err := CheckRel(rel); err != nil {
		return refuse(RefusedEscape, nil, "no name of a memory: %w", err)
	}
	owner := resolvedRoot{Root: root}
	for _, other := range s.opt.Roots() {
		if in, ok := below(root.Real, other.Real); ok {
			owner.inner = append(owner.inner, innerRoot{in, other.Prefix})
		}
	}
	if !owner.owns(rel) || isIndex(rel) {
		return refuse(RefusedEscape, []string{encodeRef(root.Prefix, rel)},
			"no name of a memory: hidden, temporary, an index, not Markdown, or in a folder that is a root itself")
	}
	return nil
}

// The parts of a root's state.
const (
	stateRootFile   = "root.json"
	stateJournal    = "journal"
	stateOperations = "operations"
	statePlans      = "plans"
	stateRescued    = "rescued"
	stateCorrupt    = "corrupt" // what could not be read, kept to be looked at
)

// stateFolder opens the state directory of a root, which is made when needed.
// Inv: it belongs to this root; an id is a digest cut short and could be another
// root's.
func (s *Store) stateFolder(r *Root) (*folder, error) {
	base, err := s.disk.openBase(s.opt.State, true)
	if err != nil {
		return nil, err
	}
	defer base.close()
	in, _, err := base.enter(r.ID, true)
	if err != nil {
		return nil, err
	}
	if err := s.claim(in, r, true); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

type rootClaim struct {
	Path string `json:"path"`
}

// claim checks that a state directory is that of a root. With write, one that
// says nothing readable is marked so.
func (s *Store) claim(in *folder, r *Root, write bool) error {
	// Nobody has the lock yet: who tidies up under it takes the file in the making
	// for something that a crash left. Then the mark is there, or is made again.
	const tries = 20
	for range tries {
		if err := s.claimOnce(in, r, write); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.claimOnce(in, r, write)
}

func (s *Store) claimOnce(in *folder, r *Root, write bool) error {
	raw, err := in.readState(stateRootFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var c rootClaim
	if err != nil || json.Unmarshal(raw, &c) != nil {
		if err == nil {
			s.opt.Log.Error("the mark of a state directory cannot be read", "state", in.path, "root", r.Real)
		}
		if !write {
			return nil
		}
		raw, err = json.Marshal(rootClaim{Path: r.Real})
		if err == nil {
			err = in.replace(stateRootFile, raw)
		}
		return err
	}
	if c.Path != r.Real {
		return refuse(RefusedByIO, nil, "the state directory %s belongs to another root, %s", in.path, c.Path)
	}
	return nil
}

// joinRel is a file below a directory, as the file system spells it.
func joinRel(real, rel string) string { return filepath.Join(real, filepath.FromSlash(rel)) }

// refsOf are the distinct refs of changes, in order.
func refsOf(changes []Change) []string {
	var refs []string
	for _, c := range changes {
		if !slices.Contains(refs, c.Ref) {
			refs = append(refs, c.Ref)
		}
	}
	return refs
}
