package main

import (
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"golang.org/x/text/width"

	"github.com/memls/memls/memory"
)

// Widths of the text for a person, in columns: that of the terminal within
// these bounds, and maxColumns where there is none.
const (
	minColumns = 40
	maxColumns = 100
)

// safeLine makes one line of any text: memories, paths and errors may hold what
// a terminal would obey.
func safeLine(s string) string { return memory.CleanLine(s) }

// Escape sequences that every terminal of today knows.
const (
	styleReset = "\x1b[0m"
	styleBold  = "\x1b[1m"
	styleDim   = "\x1b[2m"
	styleMark  = "\x1b[1;33m"
)

// page lays text out for a person.
type page struct {
	b       strings.Builder
	color   bool
	columns int
}

// styled wraps s in a style when colours are on.
func (p *page) styled(style, s string) string {
	if !p.color || s == "" {
		return s
	}
	return style + s + styleReset
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

// hanging prints s in lines that fit the page, the first after a label and the
// others below its text.
func (p *page) hanging(label, s string) {
	p.lines(label, strings.Repeat(" ", cells(label)), s, nil)
}

// wrapped prints s in lines that fit the page, each after prefix. Bytes in the
// spans of marks, which are sorted and apart, are marked. What a terminal would
// obey is left out.
func (p *page) wrapped(prefix, s string, marks [][2]int) { p.lines(prefix, prefix, s, marks) }

// lines is wrapped with a prefix of its own before the first line. Inv: both
// are equally wide.
func (p *page) lines(prefix, further, s string, marks [][2]int) {
	limit := p.columns - cells(prefix)
	var line []glyph
	flush := func(gs []glyph) {
		p.b.WriteString(p.styled(styleDim, prefix))
		p.glyphs(trimEnd(gs))
		p.b.WriteByte('\n')
		prefix = further
	}
	used, space := 0, -1 // columns of line; the place after its last space
	for i, r := range s {
		for len(marks) > 0 && marks[0][1] <= i {
			marks = marks[1:]
		}
		g := glyph{r: r, marked: len(marks) > 0 && marks[0][0] <= i}
		if r == '\n' {
			flush(line)
			line, used, space = line[:0], 0, -1
			continue
		}
		if r == '\t' {
			g.r = ' '
		}
		if hidden(g.r) {
			continue
		}
		w := runeCells(g.r)
		if used+w > limit && w > 0 {
			cut := len(line)
			if space > 0 && g.r != ' ' {
				cut = space
			}
			flush(line[:cut])
			line = append(line[:0], line[cut:]...)
			used, space = glyphCells(line), -1
			if g.r == ' ' {
				continue
			}
		}
		line = append(line, g)
		used += w
		if g.r == ' ' {
			space = len(line)
		}
	}
	if len(line) > 0 || s == "" {
		flush(line)
	}
}

// glyph is a character with its style.
type glyph struct {
	r      rune
	marked bool
}

func (p *page) glyphs(gs []glyph) {
	on := false
	for _, g := range gs {
		if m := g.marked && p.color; m != on {
			if on = m; on {
				p.b.WriteString(styleMark)
			} else {
				p.b.WriteString(styleReset)
			}
		}
		p.b.WriteRune(g.r)
	}
	if on {
		p.b.WriteString(styleReset)
	}
}

func trimEnd(gs []glyph) []glyph {
	for len(gs) > 0 && gs[len(gs)-1].r == ' ' {
		gs = gs[:len(gs)-1]
	}
	return gs
}

func glyphCells(gs []glyph) int {
	n := 0
	for _, g := range gs {
		n += runeCells(g.r)
	}
	return n
}

func cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

// runeCells is how many columns a terminal gives a character.
func runeCells(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// hidden tells of characters that a terminal would obey instead of showing:
// controls, and those that turn the direction of what follows.
func hidden(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	switch {
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	case strings.HasSuffix(noun, "ch"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// ago words an age in days the way people speak of it.
func ago(days int) string {
	switch {
	case days <= 0:
		return "today"
	case days == 1:
		return "yesterday"
	case days < 60:
		return fmt.Sprintf("%d days ago", days)
	case days < 730:
		return fmt.Sprintf("%d months ago", days/30)
	}
	return fmt.Sprintf("%d years ago", days/365)
}

// milliseconds words a duration for a person.
func milliseconds(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms < 10:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f s", ms/1000)
}

// addColorFlag defines --color.
func addColorFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "color", "auto", "colours: `WHEN` is auto (on a terminal, unless NO_COLOR is set), always or never")
	complete(cmd, "color", "auto", "always", "never")
}

// newPage makes a page for standard output.
func (p *program) newPage(when string) (*page, error) {
	fd := int(p.stdout.Fd())
	terminal := term.IsTerminal(fd)
	out := &page{columns: maxColumns}
	if terminal {
		if columns, _, err := term.GetSize(fd); err == nil {
			out.columns = min(max(columns-1, minColumns), maxColumns)
		}
	}
	switch when {
	case "never":
	case "always":
		out.color = true
	case "auto":
		out.color = terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && showsColor(p.stdout)
	default:
		return nil, usagef("--color %q is none of auto, always, never", when)
	}
	return out, nil
}

// print writes what the page holds to standard output and clears it.
func (p *program) print(out *page) error {
	_, err := p.stdout.WriteString(out.b.String())
	out.b.Reset()
	if err != nil {
		return failure(fmt.Errorf("write to standard output: %w", err))
	}
	return nil
}

// printFound is print for a page with that many results on it. Without any it
// goes to standard error, so that standard output is empty when nothing was
// found.
func (p *program) printFound(out *page, results int) error {
	if results > 0 {
		return p.print(out)
	}
	fmt.Fprint(p.stderr, out.b.String())
	out.b.Reset()
	return nil
}
