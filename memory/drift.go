package memory

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of an index: programs load that much of it into every prompt and cut the
// rest off, whatever is in it.
const (
	MaxIndexLines = 200
	MaxIndexBytes = 25_000
)

// Drift is where an index and the files beside it say different things.
type Drift struct {
	// Listed is the number of documents that the index names.
	Listed int
	// Missing are the names of memories that are not there, Repeated the further
	// entries about a file that has one.
	Missing, Repeated []DriftLine
	// Unlisted are the memories that the index does not name, by path. Superseded,
	// expired and empty ones are none of them.
	Unlisted []*Document
	// Bytes and Lines are those of the index, TooLarge that programs cut it off.
	Bytes, Lines int
	TooLarge     bool
}

// DriftLine is a place in an index.
type DriftLine struct {
	Line   int // in IndexFile.Lines
	Target IndexTarget
	Doc    *Document // nil for what is missing
}

// None tells whether the index and the files agree.
func (d Drift) None() bool {
	return len(d.Missing) == 0 && len(d.Repeated) == 0 && len(d.Unlisted) == 0 && !d.TooLarge
}

// DriftOf compares the index of a root with its documents at one moment. ok is
// false when the root has no index that can be read. Its cost is linear in both.
func (s *Snapshot) DriftOf(root *Root, active func(*Document) bool) (drift Drift, ok bool) {
	i := slices.IndexFunc(s.roots, func(r RootStatus) bool { return r.Root == root })
	if i < 0 || s.roots[i].Index == nil {
		return Drift{}, false
	}
	return s.roots[i].Index.Drift(s.Of(root), active), true
}

// Of are the documents of a root, by path.
func (s *Snapshot) Of(root *Root) []*Document {
	var docs []*Document
	for d := range s.All() {
		if d.Root == root {
			docs = append(docs, d)
		}
	}
	slices.SortFunc(docs, func(a, b *Document) int { return strings.Compare(a.Rel, b.Rel) })
	return docs
}

// Drift compares an index with the documents of its root. active tells which of
// them an index should name; nil is all that are not empty and whose status says
// so.
func (x *IndexFile) Drift(docs []*Document, active func(*Document) bool) Drift {
	if active == nil {
		active = func(d *Document) bool { return !d.Empty() && d.Status == StatusActive }
	}
	drift := Drift{Bytes: int(x.Doc.Size), Lines: x.lineCount()}
	drift.TooLarge = drift.Bytes > MaxIndexBytes || drift.Lines > MaxIndexLines
	names := newIndexNames(docs)
	listed, about := map[string]bool{}, map[string]bool{}
	for i, line := range x.Lines {
		for j, t := range line.Targets {
			d, place := names.find(t)
			switch place {
			case placeOther:
			case placeMissing:
				drift.Missing = append(drift.Missing, DriftLine{i, t, nil})
			case placeDocument:
				listed[d.Rel] = true
				if j == 0 && line.Kind == IndexEntry {
					if about[d.Rel] {
						drift.Repeated = append(drift.Repeated, DriftLine{i, t, d})
					}
					about[d.Rel] = true
				}
			}
		}
		// The index of a team names further files in words.
		for _, rel := range alsoNamed(x.Doc.Text, line) {
			if names.rels[rel] != nil {
				listed[rel] = true
			}
		}
	}
	drift.Listed = len(listed)
	for _, d := range docs {
		if !listed[d.Rel] && active(d) {
			drift.Unlisted = append(drift.Unlisted, d)
		}
	}
	return drift
}

// lineCount is the number of lines of the text as programs count them.
func (x *IndexFile) lineCount() int {
	n := 0
	for pos := 0; pos < len(x.Doc.Text); n++ {
		_, pos = lineAt(x.Doc.Text, pos)
	}
	return n
}

// The codes of the problems of an index.
const (
	ProblemIndexMissing  = "index-missing"   // it names a memory that is not there
	ProblemIndexRepeated = "index-repeated"  // a second entry about one file
	ProblemIndexUnlisted = "index-unlisted"  // memories that it does not name
	ProblemIndexTooLarge = "index-too-large" // programs cut it off
)

// maxNamed bounds the files that a message names.
const maxNamed = 5

// Problems words a drift as problems in the text of the index.
func (x *IndexFile) Problems(drift Drift) []Problem {
	var out []Problem
	for _, m := range drift.Missing {
		out = append(out, Problem{m.Target.NameSpan, ProblemIndexMissing, "there is no memory " + CleanLine(m.Target.Target), SeverityWarning})
	}
	for _, r := range drift.Repeated {
		out = append(out, Problem{r.Target.NameSpan, ProblemIndexRepeated, CleanLine(r.Doc.Rel) + " has an entry above", SeverityInfo})
	}
	if n := len(drift.Unlisted); n > 0 {
		var names []string
		for _, d := range drift.Unlisted[:min(n, maxNamed)] {
			names = append(names, CleanLine(strings.ToValidUTF8(d.Rel, "\uFFFD")))
		}
		more := ""
		if n > maxNamed {
			more = fmt.Sprintf(" and %d more", n-maxNamed)
		}
		first, _ := lineAt(x.Doc.Text, 0)
		out = append(out, Problem{first, ProblemIndexUnlisted, "not listed here: " + strings.Join(names, ", ") + more, SeverityInfo})
	}
	if drift.TooLarge {
		out = append(out, Problem{x.beyond(), ProblemIndexTooLarge, fmt.Sprintf(
			"programs load %d lines or %d bytes of this file and cut off the rest; it has %d lines and %d bytes",
			MaxIndexLines, MaxIndexBytes, drift.Lines, drift.Bytes), SeverityWarning})
	}
	return out
}

// beyond is the first line that programs cut off.
func (x *IndexFile) beyond() Span {
	text := x.Doc.Text
	for pos, n := 0, 1; pos < len(text); n++ {
		line, next := lineAt(text, pos)
		if n > MaxIndexLines || line.End > MaxIndexBytes {
			return line
		}
		pos = next
	}
	return Span{len(text), len(text)}
}
