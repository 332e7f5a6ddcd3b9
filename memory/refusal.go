package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// RefusalKind says, for a program, why a change of memory was refused.
type RefusalKind string

// The kinds of [Refusal]. Their values are those of the wire contract.
const (
	RefusedNotFound  RefusalKind = "not_found"
	RefusedConflict  RefusalKind = "conflict"
	RefusedStale     RefusalKind = "stale_plan"
	RefusedLocked    RefusalKind = "locked"
	RefusedReadOnly  RefusalKind = "read_only"
	RefusedUntrusted RefusalKind = "untrusted"
	RefusedEscape    RefusalKind = "path_escape"
	RefusedTooLarge  RefusalKind = "too_large"
	RefusedSecret    RefusalKind = "secret_found"
	RefusedBudget    RefusalKind = "budget_exhausted"
	RefusedInput     RefusalKind = "invalid" // the request contradicts itself; Field says where
	RefusedByIO      RefusalKind = "io"
)

// Refusal is a change that was not made. Inv: whoever gets one can rely on
// every file being as it was, unless Detail says that recovery is left to the
// next start.
type Refusal struct {
	Kind   RefusalKind
	Detail string   // one sentence for a person; never a secret, never the text of a memory
	Field  string   // of RefusedInput: the parameter at fault
	Refs   []string // the memories concerned
	Holder *Holder  // of RefusedLocked: who has the lock, as far as known
	Err    error    // what lies behind it
}

// Error implements error.
func (r *Refusal) Error() string { return string(r.Kind) + ": " + r.Detail }

// Unwrap gives access to the error behind the refusal.
func (r *Refusal) Unwrap() error { return r.Err }

// refuse makes a Refusal. An argument formatted with %w becomes its Err.
func refuse(kind RefusalKind, refs []string, format string, args ...any) *Refusal {
	err := fmt.Errorf(format, args...)
	return &Refusal{Kind: kind, Detail: err.Error(), Refs: refs, Err: errors.Unwrap(err)}
}

// refuseIO gives an error of the file system the kind that a client can act on.
func refuseIO(err error, refs []string, doing string) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	kind := RefusedByIO
	var irregular notRegularError
	switch {
	case errors.Is(err, errSymlink), errors.Is(err, errMoved), errors.As(err, &irregular):
		kind = RefusedEscape
	case errors.Is(err, errSwapped): // an editor saved it at this moment
		kind = RefusedConflict
	case errors.Is(err, fs.ErrPermission), isReadOnlyFS(err):
		kind = RefusedReadOnly
	}
	return &Refusal{Kind: kind, Detail: doing + ": " + placed(kind, err), Refs: refs, Err: err}
}

// placed words an error of the file system with where it happened, and for what
// may not be written what can be done about it.
func placed(kind RefusalKind, err error) string {
	why := reason(err)
	at, ok := errors.AsType[*fs.PathError](err)
	if !ok || !filepath.IsAbs(at.Path) {
		return why
	}
	place := at.Path
	if isTempName(filepath.Base(place)) {
		place = filepath.Dir(place)
	}
	switch {
	case kind != RefusedReadOnly:
		return place + ": " + why
	case isReadOnlyFS(err):
		return place + " is on a read-only file system"
	}
	return place + ": " + why + "; you need the right to write there"
}
