package memory

import (
	"slices"
	"time"
)

// Action is what a change does to a file.
type Action string

// The actions of a [Change].
const (
	ActionCreate Action = "create"
	ActionUpdate Action = "update"
	ActionDelete Action = "delete"
)

// PlanKind names the operation that a plan or an [Operation] belongs to.
type PlanKind string

// The kinds of plans and operations.
const (
	KindRemember PlanKind = "remember"
	KindForget   PlanKind = "forget"
	KindExtract  PlanKind = "extract"
	KindDream    PlanKind = "dream"
	KindMove     PlanKind = "move"
	KindPin      PlanKind = "pin"
	KindIndex    PlanKind = "index"
	KindUndo     PlanKind = "undo"
)

// persists tells whether pending plans of this kind survive a restart: those
// that nobody is waiting for. The others belong to a conversation.
func (k PlanKind) persists() bool { return k == KindExtract || k == KindDream }

// Draft is what a plan maker wants changed, in terms of the documents that it
// read. [Store.Propose] turns it into a plan.
type Draft struct {
	Kind     PlanKind
	Edits    []Edit
	Warnings []string
	// Query says that the edits are candidates found by a query: of several, some
	// must be chosen.
	Query bool
	// Session is the conversation that the plan comes from, for the blocks and
	// cursors of its maker; it is stored with the plan.
	Session string
	// Expires is how long the plan can be applied; when zero 30 days for the
	// kinds that go to the inbox, an hour for the others.
	Expires time.Duration
	// UndoFor is how long what it did can be undone; 24 h when zero.
	UndoFor time.Duration
	// Usage is what models were asked for to make it.
	Usage Usage
	// Origin is the stretch of a conversation that it was made from.
	Origin origin
}

// Edit is one change of a draft.
type Edit struct {
	Action Action
	// Root and Rel name the file of a create. The name must be that of a memory;
	// [Store.FreeName] finds one that is not taken.
	Root *Root
	Rel  string
	// Doc is the document that an update or delete was computed from. The file
	// must still be the one that was parsed.
	Doc *Document
	// Text is the whole text of a create, or of an update without Replace.
	Text string
	// Replace are the ranges of Doc.Text that an update replaces; whatever lies
	// outside keeps its bytes.
	Replace []Replacement
	// Entry is the entry that an update removes, or nil. It only makes the
	// change's ref more telling.
	Entry *int
	// DropEmpty removes the file when no entry is left in it. A file that does
	// not parse stays.
	DropEmpty bool

	Reason   string
	Why      []Ground
	Score    float64
	Evidence []string

	// Carrier is the memory that carries on what a delete removes. It must do so
	// still when the change is made.
	Carrier *Document
	// Key names the edit within its draft, for the Needs of others; empty when
	// nothing rests on it.
	Key string
	// Needs are the keys of the edits that must be made with this one, or before it.
	Needs []string
}

// Ground is why a change was proposed: the term that met a field.
type Ground struct {
	Field string `json:"field"`
	Term  string `json:"term"`
	Match string `json:"match"`
}

// Change is one change of one file in a plan. Changes of one file share Base and
// compose.
type Change struct {
	ID     string `json:"id"`
	Action Action `json:"action"`
	// Ref names the file, with the entry when it is one that goes.
	Ref    string `json:"ref"`
	RootID string `json:"root"`
	Real   string `json:"real"` // directory of the root, without symlinks
	Rel    string `json:"rel"`
	// Base is the version of the file that the change was computed from; empty
	// for a create.
	Base string `json:"base,omitempty"`
	// Diff is the change as a unified diff, for people.
	Diff     string   `json:"diff"`
	Reason   string   `json:"reason,omitempty"`
	Why      []Ground `json:"why,omitempty"`
	Score    float64  `json:"score,omitempty"`
	Evidence []string `json:"evidence,omitempty"`

	Replace   []Replacement `json:"replace,omitempty"` // of an update, in the text of Base
	Text      []byte        `json:"text,omitempty"`    // of a create
	DropEmpty bool          `json:"dropEmpty,omitempty"`

	Carrier *Carrier `json:"carrier,omitempty"` // see [Edit]
	Needs   []string `json:"needs,omitempty"`   // ids of changes of the plan; see [Edit]
}

// Path is the name of the changed file in the file system.
func (c *Change) Path() string { return joinRel(c.Real, c.Rel) }

// Plan is a set of changes that has not been made. Inv: a plan that was handed
// out is not changed; the store keeps its own.
type Plan struct {
	ID        string        `json:"id"`
	Kind      PlanKind      `json:"kind"`
	CreatedAt time.Time     `json:"createdAt"`
	ExpiresAt time.Time     `json:"expiresAt"`
	Changes   []Change      `json:"changes"`
	Warnings  []string      `json:"warnings,omitempty"`
	Query     bool          `json:"query,omitempty"`
	Session   string        `json:"session,omitempty"`
	UndoFor   time.Duration `json:"undoFor"`
	// Usage is what models were asked for to make the plan.
	Usage Usage `json:"usage,omitzero"`
	// Origin is the stretch of a conversation that it was made from.
	Origin origin `json:"origin,omitzero"`
	// Home and HomeReal name the root in whose state the plan lies, when that is
	// not the root of the first change.
	Home     string `json:"home,omitempty"`
	HomeReal string `json:"homeReal,omitempty"`
}

// clone is a copy that shares nothing which anyone changes.
func (p *Plan) clone() *Plan {
	q := *p
	q.Changes = slices.Clone(p.Changes)
	q.Warnings = slices.Clone(p.Warnings)
	return &q
}

// Operation is a change that was made.
type Operation struct {
	ID      string    `json:"id"`
	Kind    PlanKind  `json:"kind"`
	At      time.Time `json:"at"`
	Changes []Applied `json:"changes"`
	// UndoUntil is when what it did can no longer be undone; zero when it cannot
	// be undone any more.
	UndoUntil time.Time `json:"undoUntil"`
	// Plan is the plan that was applied, Undoes the operation that was undone.
	Plan   string `json:"plan,omitempty"`
	Undoes string `json:"undoes,omitempty"`
	// Purged says that no trace of what it removed was kept.
	Purged bool `json:"purged,omitempty"`
	// Usage is what models were asked for on the way to it.
	Usage Usage `json:"usage,omitzero"`
	// Origin is the stretch of a conversation that it was made from.
	Origin   origin   `json:"origin,omitzero"`
	Warnings []string `json:"warnings,omitempty"`
}

// Applied is what an operation did to one file. From and To are versions, empty
// where there was no file.
type Applied struct {
	Ref    string `json:"ref"`
	Action Action `json:"action"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	// Purged says that the file was erased for good since; Ref does not name it
	// any more.
	Purged bool `json:"purged,omitempty"`
}

// ApplyOptions say how a plan is applied.
type ApplyOptions struct {
	// Only are the ids of the changes to make; empty means all.
	Only []string
	// Edits are whole texts of files in the place of what a change, by its id,
	// would have made.
	Edits map[string]string
	// Purge erases what is removed from everything that memls keeps.
	Purge bool
}
