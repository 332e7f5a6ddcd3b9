package memory

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// indexEdit is what an operation did to the index of a root, told backwards: how
// to have the former one again.
type indexEdit struct {
	Root string `json:"root"` // id
	// Was and Is are the versions before and after it; empty when there was, or is,
	// no index.
	Was   string      `json:"was,omitempty"`
	Is    string      `json:"is,omitempty"`
	Hunks []indexHunk `json:"hunks,omitempty"`
}

// indexHunk is a run of lines: Is stands there since the operation, at a byte of
// the index and a line of it, both from 0; Was stood there before. Lead and Trail
// are the versions of the lines around it.
type indexHunk struct {
	At    int    `json:"at"`
	Line  int    `json:"line"`
	Is    []byte `json:"is,omitempty"`
	Was   []byte `json:"was,omitempty"`
	Lead  string `json:"lead,omitempty"`
	Trail string `json:"trail,omitempty"`
}

// newIndexEdit compares an index before and after an operation; nil stands for
// none.
func newIndexEdit(root string, before, after []byte) indexEdit {
	e := indexEdit{Root: root}
	if before != nil {
		e.Was = digest(before)
	}
	if after != nil {
		e.Is = digest(after)
	}
	for _, c := range udiff.Lines(string(after), string(before)) {
		lines := byteLines(after[:c.Start])
		h := indexHunk{At: c.Start, Line: len(lines), Is: after[c.Start:c.End], Was: []byte(c.New)}
		if len(lines) > 0 {
			h.Lead = digest(lines[len(lines)-1])
		}
		if rest := byteLines(after[c.End:]); len(rest) > 0 {
			h.Trail = digest(rest[0])
		}
		e.Hunks = append(e.Hunks, h)
	}
	return e
}

// byteLines are the lines of a file with their ends.
func byteLines(raw []byte) [][]byte {
	lines := bytes.SplitAfter(raw, []byte("\n"))
	if last := len(lines) - 1; len(lines[last]) == 0 {
		lines = lines[:last]
	}
	return lines
}

// errNotReversed is an index that is no longer what the operation left.
var errNotReversed = errors.New("the index has changed since")

// exact is the former index, nil when there was none, byte for byte: only from the
// one that the operation left, nil when it left none.
func (e *indexEdit) exact(raw []byte) ([]byte, error) {
	if raw == nil && e.Is != "" || raw != nil && digest(raw) != e.Is {
		return nil, errNotReversed
	}
	if e.Was == "" {
		return nil, nil
	}
	out := []byte{}
	done := 0
	for _, h := range e.Hunks {
		if h.At < done || h.At+len(h.Is) > len(raw) {
			return nil, errNotReversed
		}
		out = append(append(out, raw[done:h.At]...), h.Was...)
		done = h.At + len(h.Is)
	}
	out = append(out, raw[done:]...)
	if digest(out) != e.Was {
		return nil, errNotReversed
	}
	return out, nil
}

// merged is an index that somebody else has changed since, with as much of the
// former one as there is still a place for: nil when that is nothing. What
// somebody has changed stays as they left it.
func (e *indexEdit) merged(raw []byte) []byte {
	if raw == nil || e.Was == "" || e.Is == "" || decode(raw, false).encoding != UTF8 {
		return nil
	}
	x, lines := ParseIndex(raw), byteLines(raw)
	for _, h := range slices.Backward(e.Hunks) {
		is := byteLines(h.Is)
		at := h.place(lines, is)
		if at < 0 {
			continue
		}
		was := slices.DeleteFunc(byteLines(h.Was), func(line []byte) bool {
			return !containsLine(is, line) && x.says(line, lines)
		})
		lines = slices.Replace(lines, at, at+len(is), was...)
	}
	eol := []byte(LineEnd(x.Doc.Text))
	var out []byte
	for i, line := range lines {
		out = append(out, line...)
		if i < len(lines)-1 && !bytes.HasSuffix(line, []byte("\n")) {
			out = append(out, eol...)
		}
	}
	if bytes.Equal(out, raw) {
		return nil
	}
	return out
}

// place is the line at which a hunk stands now, or belongs; negative when there is
// none: of several the one with the same neighbours, then the nearest.
func (h *indexHunk) place(lines, is [][]byte) int {
	best, score := -1, 0
	for i := 0; i+len(is) <= len(lines); i++ {
		if !slices.EqualFunc(lines[i:i+len(is)], is, bytes.Equal) {
			continue
		}
		near := 0
		if i > 0 && h.Lead == digest(lines[i-1]) || i == 0 && h.Lead == "" {
			near++
		}
		if end := i + len(is); end < len(lines) && h.Trail == digest(lines[end]) || end == len(lines) && h.Trail == "" {
			near++
		}
		if near == 0 && blank(string(h.Is)) {
			continue // nothing tells this place from others
		}
		if s := near*(1<<30) - distance(i, h.Line); best < 0 || s > score {
			best, score = i, s
		}
	}
	if best < 0 && len(is) == 0 {
		return min(h.Line, len(lines))
	}
	return best
}

func distance(a, b int) int { return max(a, b) - min(a, b) }

func containsLine(lines [][]byte, line []byte) bool {
	return slices.ContainsFunc(lines, func(l []byte) bool { return bytes.Equal(l, line) })
}

// says tells whether an index, whose lines these are, has a line already, or
// another entry about the file that it is about.
func (x *IndexFile) says(line []byte, lines [][]byte) bool {
	if blank(string(line)) {
		return false
	}
	if slices.ContainsFunc(lines, func(l []byte) bool { return strings.TrimSpace(string(l)) == strings.TrimSpace(string(line)) }) {
		return true
	}
	for _, l := range ParseIndex(line).Lines {
		if l.Kind != IndexEntry {
			continue
		}
		for _, rel := range targetPaths(l.Targets[0].Target) {
			if x.EntryOf(rel) != nil {
				return true
			}
		}
	}
	return false
}
