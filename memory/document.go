// Package memory turns directories of Markdown files into an immutable, always
// current catalog of memories: it parses what people and programs write, reads
// files without ever leaving a root, names them by refs, and publishes
// snapshots that any number of readers share with its one writer.
//
// It knows nothing of ranking, of the protocol, or of how changes are noticed:
// an [Indexer] and a [Watcher] are handed in by the caller.
package memory

import (
	"time"
	"unicode/utf8"
)

// The types of memory that every profile knows. Any other value is kept as it
// stands and flagged.
const (
	TypeUser      = "user"
	TypeFeedback  = "feedback"
	TypeProject   = "project"
	TypeReference = "reference"
)

// The values of Document.Status.
const (
	StatusActive     = "active"
	StatusSuperseded = "superseded"
	StatusExpired    = "expired"
)

// MaxFileBytes is how much of a file is read (1 MiB). Real memories measured
// over 975 files end at 226 KB; what is larger is catalogued by its head.
const MaxFileBytes = 1 << 20

// MaxSearchedBytes is how much of a body is searched (64 KiB), from its start.
const MaxSearchedBytes = 64 << 10

// Bounds of header values. The longest description among 975 real files has
// 740 characters; the bounds only keep hostile headers small. What they cut is
// reported as a problem, and stays in Document.Text.
const (
	maxTitleRunes       = 512
	maxDescriptionRunes = 4096
	maxListItems        = 128
	maxItemRunes        = 256
	maxProblems         = 32
)

// Span is a range of byte offsets in Document.Text, end exclusive.
type Span struct{ Start, End int }

// Len is the number of bytes in the span.
func (s Span) Len() int { return s.End - s.Start }

// Severity orders problems; its values are those of LSP diagnostics.
type Severity int

// The severities of a Problem.
const (
	SeverityError   Severity = 1
	SeverityWarning Severity = 2
	SeverityInfo    Severity = 3
)

// The codes of a Problem. They are stable: clients may match them.
const (
	ProblemEncoding     = "encoding"           // bytes that are not text in the file's encoding
	ProblemTruncated    = "truncated"          // more than MaxFileBytes or MaxSearchedBytes: the rest is not read or not searched
	ProblemUnmarked     = "encoding-unmarked"  // UTF-16 without a byte order mark
	ProblemUnclosed     = "frontmatter-open"   // an opening fence without a closing one
	ProblemSyntax       = "frontmatter-syntax" // the header is not valid YAML and was read line by line
	ProblemTooComplex   = "frontmatter-bounds" // the header is too large or too nested for a YAML parser
	ProblemCut          = "yaml-comment"       // other readers end the value at " #"
	ProblemType         = "type-unknown"       // a type outside the four
	ProblemStatus       = "status-unknown"     // a status outside the three
	ProblemDate         = "date-unreadable"    // a date in no known form
	ProblemLong         = "value-too-long"     // a title, description or list beyond its bound
	ProblemShape        = "value-shape"        // a list or a map where a text belongs, or the like
	ProblemMoreProblems = "more-problems"      // further problems of the same file were left out
	ProblemKey          = "key-misspelt"       // an unknown key that looks like a misspelling of a known one
	ProblemBool         = "pinned-unreadable"  // pinned is neither true nor false

	ProblemRepeated  = "key-repeated"       // a key that stands there twice: the first counts
	ProblemControl   = "control-characters" // characters that terminals act on
	ProblemInvisible = "invisible-text"     // characters that nobody sees
	ProblemBidi      = "text-direction"     // marks that make a line read otherwise than it is
	ProblemDamaged   = "text-damaged"       // U+FFFD that stands in the file
	ProblemConflict  = "merge-conflict"     // conflict markers
)

// Problem is something in a file that its author would want to know. A problem
// never hides a file.
type Problem struct {
	Span     Span // in Document.Text
	Code     string
	Message  string
	Severity Severity
}

// Encoding is how the bytes of a file spell its text.
type Encoding string

// The encodings that files are read in.
const (
	UTF8    Encoding = "utf-8"
	UTF16LE Encoding = "utf-16le"
	UTF16BE Encoding = "utf-16be"
)

// Document is one memory file. Inv: it is immutable once a snapshot holds it,
// and every string in it is its own (none refers to a read buffer).
type Document struct {
	// Ref names the document to clients: "<prefix>:<percent-encoded path>".
	Ref  string
	Root *Root
	// Rel is the path below the root, slash-separated, in the raw bytes of the
	// file system (not necessarily UTF-8).
	Rel string
	// Version is "sha256:" and the hex digest of the file's bytes. For a
	// Truncated document it covers the head that was read, the size and the
	// modification time.
	Version string

	Title       string // name, else title, else the first heading, else the file name; one line, never with control characters
	Description string // one line
	Type        string // one of the four when recognised; else as written; else that of the folder; else empty
	TypeGiven   bool   // a type stood in the file
	Keywords    []string
	Scenarios   []string
	Category    string
	Status      string // StatusActive unless the file says otherwise
	Pinned      bool
	Supersedes  []string
	ID          string // the id key, as written
	// OriginSession is the session that a memory was extracted from.
	OriginSession string

	// Times are zero when absent. ModTime is the file's, the others are keys of
	// its header. An ExpiresAt given as a day lasts until the end of that day.
	ModTime, CreatedAt, UpdatedAt, ExpiresAt, LastVerifiedAt time.Time

	// Text is the decoded file: valid UTF-8, no byte order mark, line ends as in
	// the file.
	Text     string
	Encoding Encoding
	BOM      bool // the file begins with a byte order mark, which Text lacks
	Lossy    bool // Text differs from the bytes: undecodable ones were replaced
	// Header is the frontmatter with both fences and their line ends; empty when
	// there is none. Body is the rest without blank edges.
	Header, Body Span
	Size         int64 // bytes of the file
	Truncated    bool  // only the first MaxFileBytes were read
	Problems     []Problem

	stamp       stamp     // what a stat said of the file when it was read
	placeholder bool      // the body says only that nothing is known yet
	found       *findings // nil unless it was parsed
	// keys is where the header's keys stand, between the fences, and form how they
	// were read.
	keys Span
	form headerForm
}

// BodyText is the text of the body, without blank edges.
func (d *Document) BodyText() string { return d.Text[d.Body.Start:d.Body.End] }

// SearchedBody is the part of the body that is searched.
func (d *Document) SearchedBody() Span {
	sp := d.Body
	if sp.Len() <= MaxSearchedBytes {
		return sp
	}
	for sp.End = sp.Start + MaxSearchedBytes; !utf8.RuneStart(d.Text[sp.End]); {
		sp.End--
	}
	return sp
}

// Empty tells whether the document remembers nothing: no body and no
// description, or a body that is only the "no entries yet" placeholder. An empty
// document is catalogued and listed, never recalled.
func (d *Document) Empty() bool {
	return d.placeholder || d.Body.Len() == 0 && d.Description == ""
}

// Fact is the recency of what the memory says: UpdatedAt, else ModTime.
func (d *Document) Fact() time.Time {
	if !d.UpdatedAt.IsZero() {
		return d.UpdatedAt
	}
	return d.ModTime
}

// ActiveAt tells whether the memory holds at the given time: neither superseded
// nor expired, by its status or by its date.
func (d *Document) ActiveAt(now time.Time) bool {
	return d.Status == StatusActive && (d.ExpiresAt.IsZero() || now.Before(d.ExpiresAt))
}
