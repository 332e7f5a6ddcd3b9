package lsp

import (
	"fmt"
	"strings"
	"time"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// markup is a text for a person, as Markdown or plain.
//
// Inv: what comes from a memory goes through text or code, which leave it no
// power over how the rest is shown.
type markup struct {
	strings.Builder
	rich bool
}

func newMarkup(rich bool) *markup { return &markup{rich: rich} }

// paragraph begins a paragraph.
func (m *markup) paragraph() {
	if m.Len() > 0 {
		m.WriteString("\n\n")
	}
}

// text adds one line of foreign text.
func (m *markup) text(s string) {
	if s = memory.CleanLine(s); m.rich {
		s = escapeMarkdown(s)
	}
	m.WriteString(s)
}

// bold adds one line of foreign text with emphasis.
func (m *markup) bold(s string) {
	if s = memory.CleanLine(s); s == "" {
		return
	}
	if !m.rich {
		m.WriteString(s)
		return
	}
	m.WriteString("**" + escapeMarkdown(s) + "**")
}

// own adds our own words, which may hold code in backticks.
func (m *markup) own(s string) {
	if !m.rich {
		s = strings.ReplaceAll(s, "`", "")
	}
	m.WriteString(s)
}

// code adds one line of foreign text in code font.
func (m *markup) code(s string) {
	if s = memory.CleanLine(s); !m.rich {
		m.WriteString(s)
		return
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	m.WriteString(fence + s + fence)
}

func (m *markup) content() *protocol.MarkupContent {
	kind := protocol.MarkupKindPlainText
	if m.rich {
		kind = protocol.MarkupKindMarkdown
	}
	return &protocol.MarkupContent{Kind: kind, Value: m.String()}
}

// escapeMarkdown keeps Markdown, and HTML inside it, from seeing anything in a
// line but text. It leaves alone what has no power there: clients that show the
// source should not show a backslash at every comma.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		first := strings.TrimLeft(s[:i], "0123456789") == ""
		if strings.IndexByte("\\`*_[]<&~|$!", c) >= 0 || first && strings.IndexByte("#>+-=.):", c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// card tells about a memory: what it is, what it says in a line, how old it is
// and when it was last of use.
func (f *features) card(m *markup, d *memory.Document) {
	now := f.opt.Now()
	m.bold(d.Title)
	if d.Description != "" {
		m.paragraph()
		m.text(d.Description)
	}
	m.paragraph()
	for i, part := range f.traits(d, now) {
		if i > 0 {
			m.WriteString(" · ")
		}
		m.text(part)
	}
	m.paragraph()
	m.code(d.Ref)
}

// traits are what else is to be said of a memory, in short.
func (f *features) traits(d *memory.Document, now time.Time) []string {
	out := []string{string(d.Root.Scope)}
	if d.Type != "" && d.Type != string(d.Root.Scope) {
		out = append(out, d.Type)
	}
	if d.Pinned {
		out = append(out, "pinned")
	}
	if s := (documents{now: now}).status(d); s != memory.StatusActive {
		out = append(out, s)
	}
	out = append(out, "updated "+daysAgo(recall.AgeDays(d, now)))
	if !d.ExpiresAt.IsZero() && now.Before(d.ExpiresAt) {
		out = append(out, "expires "+d.ExpiresAt.Add(-time.Nanosecond).UTC().Format(time.DateOnly))
	}
	if use := f.useOf(d, now); use != "" {
		out = append(out, use)
	}
	return out
}

// useOf tells how often and when a memory was last recalled; empty when that is
// not known.
func (f *features) useOf(d *memory.Document, now time.Time) string {
	count, last, known := f.usage()(d)
	switch {
	case !known:
		return ""
	case count == 0:
		return "never recalled"
	case count == 1:
		return "recalled once, " + daysAgo(int(now.Sub(last).Hours()/24))
	}
	return fmt.Sprintf("recalled %d times, last %s", count, daysAgo(int(now.Sub(last).Hours()/24)))
}

func daysAgo(days int) string {
	switch {
	case days <= 0:
		return "today"
	case days == 1:
		return "yesterday"
	}
	return fmt.Sprintf("%d days ago", days)
}
