package lsp

import "time"

// The wire types of protocol version 1. Rules that hold for all of them:
//
//   - Structs are plain, with named fields. A struct of the protocol package
//     embedded in one would lend it its codec and hide every other field.
//   - A list in a result is [] when it is empty, unless it is optional.
//   - omitzero marks what may be absent. A pointer in params tells "absent"
//     from a zero value.
//   - Times are UTC, durations are whole milliseconds in fields named …Ms,
//     "characters" are code points.

// ProtocolVersion is the version in capabilities.experimental.memory.
const ProtocolVersion = 1

// Position is a place in a text document, counted in the negotiated encoding.
type Position struct {
	Line      uint32 `json:"line"`      // from 0
	Character uint32 `json:"character"` // from 0, in code units of the encoding
}

// Range is a stretch of a text document; End is outside it.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// MemoryCapability is capabilities.experimental.memory of the initialize result.
type MemoryCapability struct {
	Version       int      `json:"version"`
	Methods       []string `json:"methods"`       // requests and notifications that the server takes
	Notifications []string `json:"notifications"` // notifications that it sends
}

// InitializationOptions are initializationOptions of initialize, and the
// object under memls in workspace/didChangeConfiguration. All are optional;
// [InitializationOptions.Settings] holds the defaults.
type InitializationOptions struct {
	Roots                  []RootOption  `json:"roots,omitzero"`   // replaces discovery
	Profile                string        `json:"profile,omitzero"` // auto, qwen, claude, plain
	Trusted                bool          `json:"trusted,omitzero"` // the editor trusts this workspace
	Recall                 SwitchOption  `json:"recall,omitzero"`
	Extract                SwitchOption  `json:"extract,omitzero"`
	Dream                  SwitchOption  `json:"dream,omitzero"`
	WritePolicy            string        `json:"writePolicy,omitzero"` // off, review, auto
	Model                  *ModelOptions `json:"model,omitzero"`
	BackgroundTokensPerDay *int          `json:"backgroundTokensPerDay,omitzero"`
	Watcher                string        `json:"watcher,omitzero"`   // auto, poll
	Worktrees              string        `json:"worktrees,omitzero"` // isolate, share
	Activity               bool          `json:"activity,omitzero"`
	Telemetry              bool          `json:"telemetry,omitzero"`
}

// RootOption is one folder of memory files.
type RootOption struct {
	Scope    string `json:"scope"` // project, user, team
	Path     string `json:"path"`
	ReadOnly bool   `json:"readOnly,omitzero"`
}

// SwitchOption turns one kind of work on or off.
type SwitchOption struct {
	Enabled *bool `json:"enabled,omitzero"`
}

// ModelOptions name an OpenAI-compatible endpoint. The key is never among
// them, because traces print them.
type ModelOptions struct {
	BaseURL       string `json:"baseURL"`
	Name          string `json:"name,omitzero"`      // of the model that chooses; absent: none does
	APIKeyEnv     string `json:"apiKeyEnv,omitzero"` // the environment variable that holds the key
	EmbeddingName string `json:"embeddingName,omitzero"`
	// Where the embedding model is served, when that is elsewhere.
	EmbeddingBaseURL   string `json:"embeddingBaseURL,omitzero"`
	EmbeddingAPIKeyEnv string `json:"embeddingApiKeyEnv,omitzero"`
	RequestTimeoutMs   int    `json:"requestTimeoutMs,omitzero"` // for recall it can only lower the 30 s ceiling
	// Price lets runs of background work say what they cost. Inv: options are
	// compared with ==.
	Price ModelPrice `json:"price,omitzero"`
}

// ModelPrice is what a model costs, for a million tokens.
type ModelPrice struct {
	Input    float64 `json:"input"`
	Output   float64 `json:"output"`
	Currency string  `json:"currency,omitzero"`
}

// VersionedRef names a memory as it stood when the caller saw it.
type VersionedRef struct {
	Ref     string `json:"ref"`
	Version string `json:"version"` // "sha256:" and the hex digest of the file's bytes
}

// RecallParams are the params of memory/recall.
type RecallParams struct {
	Token       string         `json:"token"`             // chosen by the client, unique within the session
	Session     string         `json:"session"`           // delivery is exactly-once per session
	Query       string         `json:"query"`             // the user's own words
	Turn        string         `json:"turn,omitzero"`     // user (default), retry, continue, restore, runtime
	Delivery    string         `json:"delivery,omitzero"` // push (default), pull
	RecentTools []string       `json:"recentTools,omitzero"`
	Exclude     []string       `json:"exclude,omitzero"`   // refs not to return
	Delivered   []VersionedRef `json:"delivered,omitzero"` // what the session's context already holds
	Scopes      []string       `json:"scopes,omitzero"`
	Types       []string       `json:"types,omitzero"`
	Folder      string         `json:"folder,omitzero"` // a workspace-folder URI
	Limit       *int           `json:"limit,omitzero"`  // 1 to 5, default 5
	Trace       bool           `json:"trace,omitzero"`
}

// RecallResponse is the response of memory/recall. Fast and Refined are absent
// when the recall was not started.
type RecallResponse struct {
	Token   string          `json:"token"`
	Outcome string          `json:"outcome"`         // settled, cancelled, not_started
	Reason  string          `json:"reason,omitzero"` // why it was cancelled or not started
	Detail  string          `json:"detail,omitzero"` // which roots there are, with the reason no_roots
	Fast    *FastSummary    `json:"fast,omitzero"`
	Refined *RefinedSummary `json:"refined,omitzero"`
}

// FastSummary sums up the fast result.
type FastSummary struct {
	Refs      []string `json:"refs"`
	Strategy  string   `json:"strategy"`
	LatencyMs int64    `json:"latencyMs"`
}

// RefinedSummary sums up the settled result.
type RefinedSummary struct {
	Refs      []string `json:"refs"`
	Status    string   `json:"status"`
	Strategy  string   `json:"strategy"`
	Retract   []string `json:"retract"`
	LatencyMs int64    `json:"latencyMs"`
}

// RecallResult is the payload of memory/recallFast and memory/recallRefined,
// and the result of memory/consume.
type RecallResult struct {
	Token            string            `json:"token"`
	Session          string            `json:"session"`
	Phase            string            `json:"phase"`           // fast, refined
	Strategy         string            `json:"strategy"`        // none, heuristic, hybrid, model
	Status           string            `json:"status,omitzero"` // refined only
	Reason           string            `json:"reason,omitzero"` // with status cancelled
	Documents        []RecallDocument  `json:"documents"`
	Prompt           string            `json:"prompt"` // the documents as one fenced, escaped text block
	AlreadyDelivered []string          `json:"alreadyDelivered"`
	Retract          []string          `json:"retract,omitzero"` // refined, push
	Degraded         []DegradedReason  `json:"degraded"`
	LatencyMs        int64             `json:"latencyMs"`
	CatalogRevision  uint64            `json:"catalogRevision"`
	Trace            *RecallTraceTable `json:"trace,omitzero"` // only when it was asked for
}

// RecallDocument is one memory in a result of recall or search.
type RecallDocument struct {
	Ref         string      `json:"ref"`
	URI         string      `json:"uri"`
	Range       Range       `json:"range"` // the place of Body in the file
	Version     string      `json:"version"`
	Scope       string      `json:"scope"`
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Body        string      `json:"body"`      // the matching passage, at most 1,200 characters
	Truncated   bool        `json:"truncated"` // Body is not the whole body
	UpdatedAt   time.Time   `json:"updatedAt"`
	AgeDays     int         `json:"ageDays"`
	Stale       *StaleNote  `json:"stale,omitzero"`
	Pinned      bool        `json:"pinned"`
	Status      string      `json:"status"`         // active, superseded, expired
	State       string      `json:"state,omitzero"` // recall only: new, updated, more
	Why         []WhyReason `json:"why"`
}

// StaleNote says why a memory should be checked before it is trusted.
type StaleNote struct {
	Reason string `json:"reason"` // age, anchor
	Detail string `json:"detail"`
}

// WhyReason is one reason why a document was chosen.
type WhyReason struct {
	Field string `json:"field"`
	Term  string `json:"term"`
	Match string `json:"match"` // exact, prefix, part, gram, fold, concept, semantic
}

// DegradedReason says what a result had to do without.
type DegradedReason struct {
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// RecallTraceTable is the decision trace of a recall or search. It holds
// nothing that the caller may not see.
type RecallTraceTable struct {
	Terms      []TraceTerm      `json:"terms"`      // what the query was taken for
	Considered int              `json:"considered"` // documents that match, after every filter
	Candidates []TraceCandidate `json:"candidates"` // best first
	Truncated  bool             `json:"truncated,omitzero"`
}

// TraceCandidate is one candidate with what decided about it.
type TraceCandidate struct {
	Ref     string        `json:"ref"`
	Title   string        `json:"title"`
	Rank    int           `json:"rank"` // from 1; 0 when the ranking does not have it
	Score   float64       `json:"score"`
	Share   float64       `json:"share"`  // of the query's weight that it meets
	Needed  float64       `json:"needed"` // the share that the gate asked for
	Signals []TraceSignal `json:"signals"`
	Why     []WhyReason   `json:"why"`
	Verdict string        `json:"verdict"` // returned, or the rule that left it out
	Detail  string        `json:"detail,omitzero"`
	// Feedback is what the verdicts of people on it come to.
	Feedback int `json:"feedback,omitzero"`
}

// TraceTerm is one word of a query as it was understood.
type TraceTerm struct {
	Term      string  `json:"term"`
	Weight    float64 `json:"weight"`
	Documents int     `json:"documents"` // that meet it
	Evidence  bool    `json:"evidence"`  // may make a memory a candidate
}

// TraceSignal is one list in which a candidate was ranked.
type TraceSignal struct {
	Name  string  `json:"name"` // lexical, vector
	Rank  int     `json:"rank"` // from 1
	Score float64 `json:"score"`
}

// ConsumeParams are the params of memory/consume, whose result is a
// [RecallResult] or null.
type ConsumeParams struct {
	Session string `json:"session"`
	Token   string `json:"token"`
	Point   string `json:"point"` // initial, tool_result
}

// FinishParams are the params of memory/finish.
type FinishParams struct {
	Session      string         `json:"session"`
	Token        string         `json:"token,omitzero"`
	Turn         string         `json:"turn,omitzero"` // default: that of the token's recall
	Outcome      string         `json:"outcome"`       // end_turn, cancelled, error, loop_protection, limit
	Messages     []TurnMessage  `json:"messages,omitzero"`
	MessagesFrom *MessageCursor `json:"messagesFrom,omitzero"` // Messages are the tail from here
}

// TurnMessage is one message of a conversation.
type TurnMessage struct {
	Role string `json:"role"`
	Text string `json:"text"`
	ID   string `json:"id,omitzero"` // default m0, m1, …
	// Wrote are the files, as absolute paths, that a tool call of it changed.
	Wrote []string `json:"wrote,omitzero"`
}

// MessageCursor is a place in a history, with the digest of what lies before it.
type MessageCursor struct {
	Offset int    `json:"offset"`
	Digest string `json:"digest"`
}

// FinishResult is the result of memory/finish.
type FinishResult struct {
	Recall  FinishedRecall `json:"recall"`
	Extract ScheduledWork  `json:"extract"`
	Dream   ScheduledWork  `json:"dream"`
}

// FinishedRecall says how the turn's recall ended.
type FinishedRecall struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitzero"`
}

// ScheduledWork says whether background work was scheduled.
type ScheduledWork struct {
	State  string `json:"state"` // scheduled, skipped
	Reason string `json:"reason,omitzero"`
}

// TelemetryEvent is the params of telemetry/event. It holds counts, durations and
// the values of enumerations: nothing that was asked, said, written or named.
type TelemetryEvent struct {
	Type string `json:"type"` // memory.recall, memory.recall.delivery, memory.extract, memory.apply
	// How a selection was made.
	Strategy string `json:"strategy,omitzero"`
	Status   string `json:"status,omitzero"`   // of a memory.recall; of a memory.extract: done, failed, or why it was skipped
	Delivery string `json:"delivery,omitzero"` // of a memory.recall: push, pull
	// What was delivered of it, or why nothing was.
	Phase         string `json:"phase,omitzero"`
	DeliveryPoint string `json:"deliveryPoint,omitzero"` // initial, tool_result, push, discarded
	DiscardReason string `json:"discardReason,omitzero"`
	Documents     int    `json:"documents"`           // selected, or delivered; proposed or changed
	Candidates    int    `json:"candidates,omitzero"` // memories that match, of a memory.recall
	LatencyMs     int64  `json:"latencyMs"`           // since the request
	Trigger       string `json:"trigger,omitzero"`    // of a memory.extract: manual, auto
	Kind          string `json:"kind,omitzero"`       // of a memory.apply: that of the operation
	Tokens        int    `json:"tokens,omitzero"`     // that models took
}

// ToolUsedParams are the params of the notification memory/toolUsed.
type ToolUsedParams struct {
	Session string `json:"session"`
	Tool    string `json:"tool"`
	Status  string `json:"status"` // ok, error, cancelled
}

// ResetSessionParams are the params of memory/resetSession.
type ResetSessionParams struct {
	Session string   `json:"session"`
	Reason  string   `json:"reason,omitzero"` // reset, compacted; needed without refs
	Refs    []string `json:"refs,omitzero"`   // only these; absent means all
}

// ResetSessionResult is the result of memory/resetSession: an empty object.
type ResetSessionResult struct{}

// SearchParams are the params of memory/search.
type SearchParams struct {
	Query    string   `json:"query"`
	Limit    *int     `json:"limit,omitzero"` // 1 to 100, default 20
	Scopes   []string `json:"scopes,omitzero"`
	Types    []string `json:"types,omitzero"`
	Folder   string   `json:"folder,omitzero"`
	Inactive bool     `json:"inactive,omitzero"` // also superseded and expired
	Trace    bool     `json:"trace,omitzero"`
}

// SearchResult is the result of memory/search.
type SearchResult struct {
	Documents []RecallDocument  `json:"documents"`
	Total     int               `json:"total"` // before the limit
	Trace     *RecallTraceTable `json:"trace,omitzero"`
}

// ExplainParams are the params of memory/explain.
type ExplainParams struct {
	Query       string   `json:"query"`
	Ref         string   `json:"ref,omitzero"`     // absent: the best candidates alone
	Session     string   `json:"session,omitzero"` // as a recall of this session would see it
	RecentTools []string `json:"recentTools,omitzero"`
	Exclude     []string `json:"exclude,omitzero"`
	Scopes      []string `json:"scopes,omitzero"`
	Types       []string `json:"types,omitzero"`
	Folder      string   `json:"folder,omitzero"`
	Limit       *int     `json:"limit,omitzero"` // 1 to 5, default 5
}

// ExplainResult is the result of memory/explain.
type ExplainResult struct {
	Query     string           `json:"query"`
	Revision  uint64           `json:"revision"` // of the catalog that was looked at
	Candidate *TraceCandidate  `json:"candidate,omitzero"`
	Trace     RecallTraceTable `json:"trace"`
	Degraded  []DegradedReason `json:"degraded"`
}

// ListParams are the params of memory/list.
type ListParams struct {
	Scopes   []string `json:"scopes,omitzero"`
	Types    []string `json:"types,omitzero"`
	Folder   string   `json:"folder,omitzero"`
	Inactive *bool    `json:"inactive,omitzero"` // default true
	Cursor   string   `json:"cursor,omitzero"`   // from the previous result
	Limit    *int     `json:"limit,omitzero"`
}

// ListResult is the result of memory/list, in a stable order.
type ListResult struct {
	Documents []ListedDocument `json:"documents"`
	Cursor    string           `json:"cursor,omitzero"` // present when there are more
}

// ListedDocument is one memory without its body.
type ListedDocument struct {
	Ref            string          `json:"ref"`
	URI            string          `json:"uri"`
	Version        string          `json:"version"`
	Scope          string          `json:"scope"`
	Type           string          `json:"type"`
	Title          string          `json:"title"`
	Description    string          `json:"description"`
	Pinned         bool            `json:"pinned"`
	Status         string          `json:"status"` // active, superseded, expired
	Keywords       []string        `json:"keywords"`
	UpdatedAt      time.Time       `json:"updatedAt"`
	LastRecalledAt time.Time       `json:"lastRecalledAt,omitzero"`
	RecallCount    int             `json:"recallCount"`
	Feedback       *FeedbackCounts `json:"feedback,omitzero"`
	Diagnostics    int             `json:"diagnostics"` // how many
}

// FeedbackCounts are the verdicts that a person gave about a memory.
type FeedbackCounts struct {
	Useful   int `json:"useful"`
	Wrong    int `json:"wrong"`
	Outdated int `json:"outdated"`
}

// GetParams are the params of memory/get.
type GetParams struct {
	Ref     string `json:"ref"`              // may end in #<n>
	Version string `json:"version,omitzero"` // a mismatch is a conflict
}

// GetResult is the result of memory/get.
type GetResult struct {
	Ref         string             `json:"ref"`
	URI         string             `json:"uri"`
	Range       Range              `json:"range"` // the place of Body in the file
	Version     string             `json:"version"`
	Scope       string             `json:"scope"`
	Type        string             `json:"type"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Body        string             `json:"body"`      // whole
	Truncated   bool               `json:"truncated"` // the file is over the size that is read
	UpdatedAt   time.Time          `json:"updatedAt"`
	AgeDays     int                `json:"ageDays"`
	Stale       *StaleNote         `json:"stale,omitzero"`
	Pinned      bool               `json:"pinned"`
	Status      string             `json:"status"`
	Keywords    []string           `json:"keywords"`
	Entries     []DocumentEntry    `json:"entries"`
	Links       []DocumentLink     `json:"links"`
	Backlinks   []string           `json:"backlinks"` // refs of memories that link here
	Provenance  DocumentProvenance `json:"provenance"`
	Diagnostics []DocumentProblem  `json:"diagnostics"`
	Cut         []string           `json:"cut,omitzero"` // which of entries, links and backlinks are not complete
}

// ShowParams are the params of memory/show.
type ShowParams struct {
	Ref string `json:"ref"` // may end in #<n>
}

// ShowResult is the result of memory/show.
type ShowResult struct {
	URI   string `json:"uri"`
	Shown bool   `json:"shown"` // the client says that it shows it
}

// DocumentEntry is one entry of a file that holds several.
type DocumentEntry struct {
	Ref     string `json:"ref"` // ends in #<n>
	Summary string `json:"summary"`
	Range   Range  `json:"range"`
}

// DocumentLink is one link in a body.
type DocumentLink struct {
	Target string `json:"target"`       // as it is written
	Ref    string `json:"ref,omitzero"` // the memory it leads to; absent when it is broken
	Range  Range  `json:"range"`
}

// DocumentProvenance says where a memory comes from, as its header has it.
type DocumentProvenance struct {
	CreatedAt      time.Time `json:"createdAt,omitzero"`
	ExpiresAt      time.Time `json:"expiresAt,omitzero"`
	LastVerifiedAt time.Time `json:"lastVerifiedAt,omitzero"`
	Category       string    `json:"category,omitzero"`
	Supersedes     []string  `json:"supersedes,omitzero"`
}

// DocumentProblem is one thing wrong with a file.
type DocumentProblem struct {
	Range    Range  `json:"range"`
	Severity int    `json:"severity"` // LSP's: 1 error, 2 warning, 3 information, 4 hint
	Code     string `json:"code"`
	Message  string `json:"message"`
}

// StatusParams are the params of memory/status.
type StatusParams struct{}

// StatusResult is the result of memory/status.
type StatusResult struct {
	Roots []RootStatus `json:"roots"`
	// Discovered are the places in which memories were looked for; none when the
	// roots were named.
	Discovered []DiscoveredPlace `json:"discovered"`
	Notes      []string          `json:"notes"` // what was set and could not be followed
	Model      ModelStatus       `json:"model"`
	Embeddings EmbeddingStatus   `json:"embeddings"`
	Plans      int               `json:"plans"` // pending ones
	Tasks      int               `json:"tasks"` // running and queued ones
	Process    ProcessStatus     `json:"process"`
}

// RootStatus is the truth about one root.
type RootStatus struct {
	ID           string        `json:"id"` // the first 8 hex digits of sha256 of the resolved path
	Scope        string        `json:"scope"`
	Path         string        `json:"path"`
	ReadOnly     bool          `json:"readOnly,omitzero"`
	Profile      string        `json:"profile,omitzero"` // qwen, claude, plain: the layout that it was found by
	Folders      []string      `json:"folders"`          // paths of the workspace folders that it belongs to; none: any
	State        string        `json:"state"`            // loading, ready, degraded, missing, untrusted, error
	Reason       string        `json:"reason,omitzero"`
	OnDisk       int           `json:"onDisk"`     // memory files, without MEMORY.md
	Catalogued   int           `json:"catalogued"` // the same, as recall sees them
	Skipped      []SkippedFile `json:"skipped"`
	SkippedTotal int           `json:"skippedTotal"`   // more than len(skipped) when the list was cut
	Index        *IndexStatus  `json:"index,omitzero"` // of its MEMORY.md
	Watch        WatchStatus   `json:"watch"`
	LastEventAt  time.Time     `json:"lastEventAt,omitzero"`
	Revision     uint64        `json:"revision"`
}

// IndexStatus says how the MEMORY.md of a root and the files beside it agree.
type IndexStatus struct {
	Listed        int           `json:"listed"` // memories that it names
	Missing       []IndexedName `json:"missing"`
	MissingTotal  int           `json:"missingTotal"`
	Unlisted      []string      `json:"unlisted"` // refs of memories that it does not name
	UnlistedTotal int           `json:"unlistedTotal"`
	Repeated      int           `json:"repeated"` // further entries about files that have one
	Lines         int           `json:"lines"`
	Bytes         int           `json:"bytes"`
	TooLarge      bool          `json:"tooLarge,omitzero"` // programs cut it off
}

// IndexedName is a name of a memory that is not there.
type IndexedName struct {
	Target string `json:"target"`
	Line   int    `json:"line"` // from 0
}

// DiscoveredPlace is a directory in which memories were looked for.
type DiscoveredPlace struct {
	Profile string `json:"profile"` // qwen, claude, plain
	Scope   string `json:"scope"`
	Path    string `json:"path"`
	Folder  string `json:"folder,omitzero"` // path of the workspace folder that led there
	State   string `json:"state"`           // served, new, absent, untrusted, refused, off
	Reason  string `json:"reason,omitzero"`
}

// SkippedFile is an entry of a root that is not read.
type SkippedFile struct {
	Path   string `json:"path"` // relative to the root, with slashes
	Reason string `json:"reason"`
}

// WatchStatus says how a root is watched.
type WatchStatus struct {
	Mode   string    `json:"mode"` // fsnotify, poll
	Reason string    `json:"reason,omitzero"`
	Since  time.Time `json:"since,omitzero"`
}

// ModelStatus says whether a model is in use and works.
type ModelStatus struct {
	State  string `json:"state"` // none, configured, ready, failing
	Name   string `json:"name,omitzero"`
	Detail string `json:"detail,omitzero"`
}

// EmbeddingStatus says how far the search by meaning is.
type EmbeddingStatus struct {
	State     string  `json:"state"` // none, configured, indexing, ready, failing
	Name      string  `json:"name,omitzero"`
	Detail    string  `json:"detail,omitzero"`
	Vectors   int     `json:"vectors,omitzero"`  // made, of passages of memories
	Total     int     `json:"total,omitzero"`    // passages of all memories
	Withheld  int     `json:"withheld,omitzero"` // that hold a credential and are not sent away
	Refused   int     `json:"refused,omitzero"`  // that the model takes not
	Dimension int     `json:"dimension,omitzero"`
	Bytes     int64   `json:"bytes,omitzero"` // that the vectors take in memory
	Floor     float64 `json:"floor,omitzero"` // the least cosine that counts as near
}

// ProcessStatus describes the server itself.
type ProcessStatus struct {
	PID       int       `json:"pid"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"startedAt"`
	UptimeMs  int64     `json:"uptimeMs"`
	HeapBytes uint64    `json:"heapBytes"`
	// Goroutines is how much goes on at once; it grows without end only when
	// something leaks.
	Goroutines int `json:"goroutines"`
}

// ChangedParams are the params of the notification memory/changed, sent at
// most ten times a second.
type ChangedParams struct {
	Revision  uint64   `json:"revision"`
	Added     []string `json:"added"`
	Updated   []string `json:"updated"`
	Removed   []string `json:"removed"`
	Truncated bool     `json:"truncated,omitzero"` // more than 200 refs changed
}

// StatusChangedParams are the params of the notification
// memory/statusChanged: the state of every served root.
type StatusChangedParams struct {
	Roots []RootState `json:"roots"`
}

// RootState is the state of one root.
type RootState struct {
	ID     string `json:"id"`
	Scope  string `json:"scope"`
	Path   string `json:"path"`
	State  string `json:"state"` // as in memory/status
	Reason string `json:"reason,omitzero"`
}

// ActivityParams are the params of the notification memory/activity: what some
// memls on this machine delivered.
type ActivityParams struct {
	Host     string    `json:"host"`  // a label of the program that was given the memories
	Phase    string    `json:"phase"` // fast, refined
	Strategy string    `json:"strategy"`
	Refs     []string  `json:"refs"`
	Status   string    `json:"status"` // delivered
	At       time.Time `json:"at"`
	Own      bool      `json:"own,omitzero"` // by this connection
}

// StatsParams are the params of memory/stats.
type StatsParams struct {
	Days *int `json:"days,omitzero"` // 1 to 400, default 30
}

// StatsResult is the result of memory/stats: what was counted on this machine.
type StatsResult struct {
	Enabled bool       `json:"enabled"` // whether this connection counts
	Days    []StatsDay `json:"days"`    // the oldest first; days without a recall are left out
}

// StatsDay is one day of UTC.
type StatsDay struct {
	Date      string         `json:"date"` // 2006-01-02
	Recalled  int            `json:"recalled"`
	Delivered int            `json:"delivered"`
	Documents int            `json:"documents"`
	Discarded []DiscardCount `json:"discarded"`
}

// DiscardCount counts selections that nobody got for one reason.
type DiscardCount struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// SecretParams are the params of memory/secret, which the server asks the client.
type SecretParams struct {
	Name string `json:"name"` // the name of the environment variable that was empty
}

// SecretResult is the client's answer to memory/secret. It is never logged.
type SecretResult struct {
	Value string `json:"value"`
}

// ParamErrorData is the data of error -32602.
type ParamErrorData struct {
	Field string `json:"field"` // dotted path, such as roots[1].scope; "params" for the whole
}

// FailureData is the data of error -32803.
type FailureData struct {
	Kind   Kind     `json:"kind"`
	Detail string   `json:"detail"`
	Refs   []string `json:"refs,omitzero"`
}
