package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// apply fills the document from the keys of its header. A key of the metadata
// map stands in for one that is missing at the top.
func (p *parser) apply(h header) {
	d := p.doc
	d.Title = p.text(h, "name", maxTitleRunes)
	if d.Title == "" {
		d.Title = p.text(h, "title", maxTitleRunes)
	}
	d.Description = p.text(h, "description", maxDescriptionRunes)
	d.Keywords = p.list(h, "keywords", ",;，；、\n")
	d.Scenarios = p.list(h, "usage_scenarios", ";；\n")
	d.Supersedes = p.list(h, "supersedes", ",\n")
	d.Category = p.word(h, "category")
	d.ID = p.word(h, "id")
	d.OriginSession = p.word(h, "originsessionid")
	d.CreatedAt, _ = p.date(h, "created_at")
	d.LastVerifiedAt, _ = p.date(h, "last_verified_at")
	if d.UpdatedAt, _ = p.date(h, "updated_at"); d.UpdatedAt.IsZero() {
		d.UpdatedAt, _ = p.date(h, "modified")
	}
	var day bool
	if d.ExpiresAt, day = p.date(h, "expires_at"); day {
		d.ExpiresAt = d.ExpiresAt.AddDate(0, 0, 1)
	}
	p.typeOf(h)
	p.statusOf(h)
	p.pinnedOf(h)
	p.misspelt(h)
}

func (h header) get(key string) (field, bool) {
	f, ok := h[key]
	if !ok {
		f, ok = h[metadataKey+"."+key]
	}
	return f, ok
}

// text is a value as one bounded line.
func (p *parser) text(h header, key string, runes int) string {
	f, ok := h.get(key)
	if !ok {
		return ""
	}
	s := f.text
	if f.shape != shapeText {
		p.problem(f.span, ProblemShape, SeverityInfo, key+" should be a text")
		// "[draft] notes" in brackets is meant as written; a list below its key
		// is meant as its items.
		if !strings.HasPrefix(s, "[") && !strings.HasPrefix(s, "{") {
			s = strings.Join(f.list, "; ")
		}
	}
	return p.clip(s, runes, key, f.span)
}

// word is a value of which a comment is no part.
func (p *parser) word(h header, key string) string {
	f, ok := h.get(key)
	if !ok {
		return ""
	}
	return p.clip(f.word(), maxItemRunes, key, f.span)
}

func (f field) word() string {
	s := f.text
	if f.shape == shapeList && len(f.list) > 0 {
		s = f.list[0]
	}
	s = strings.TrimSpace(s)
	if i := strings.Index(s, " #"); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	return unquote(s)
}

// list is a value of several items, given as a list or parted by any of the
// separators, without repeated ones.
func (p *parser) list(h header, key, separators string) []string {
	f, ok := h.get(key)
	if !ok {
		return nil
	}
	items := f.list
	if f.shape != shapeList {
		items = splitItems(f.text, separators)
	}
	var out []string
	for _, item := range items {
		item = p.clip(item, maxItemRunes, key, f.span)
		if item == "" || slices.Contains(out, item) {
			continue
		}
		if len(out) == maxListItems {
			break
		}
		out = append(out, item)
	}
	if len(items) > maxListItems {
		p.problem(f.span, ProblemLong, SeverityWarning, fmt.Sprintf("%s is cut after %d items", key, maxListItems))
	}
	return out
}

// date is zero when the key is absent, and when it is unreadable, which is a
// problem.
func (p *parser) date(h header, key string) (t time.Time, day bool) {
	f, ok := h.get(key)
	s := f.word()
	if !ok || s == "" || strings.EqualFold(s, "null") || s == "~" {
		return time.Time{}, false
	}
	t, day, ok = parseDate(s)
	if !ok {
		p.problem(f.span, ProblemDate, SeverityWarning, key+" is not a date that can be read; write it as 2006-01-02 or 2006-01-02T15:04:05Z")
	}
	return t, day
}

func (p *parser) typeOf(h header) {
	word := p.word(h, "type")
	if word == "" {
		return
	}
	p.doc.TypeGiven = true
	if t := knownType(word); t != "" {
		p.doc.Type = t
		return
	}
	p.doc.Type = word
	f, _ := h.get("type")
	p.problem(f.span, ProblemType, SeverityInfo, "type is none of user, feedback, project, reference")
}

// knownType is one of the four types, however it is capitalised, or empty.
func knownType(word string) string {
	switch t := strings.ToLower(word); t {
	case TypeUser, TypeFeedback, TypeProject, TypeReference:
		return t
	}
	return ""
}

func (p *parser) statusOf(h header) {
	word := p.word(h, "status")
	switch s := strings.ToLower(word); s {
	case "":
	case StatusActive, StatusSuperseded, StatusExpired:
		p.doc.Status = s
	default:
		f, _ := h.get("status")
		p.problem(f.span, ProblemStatus, SeverityInfo, "status is none of active, superseded, expired; taken as active")
	}
}

func (p *parser) pinnedOf(h header) {
	f, ok := h.get("pinned")
	if !ok {
		return
	}
	switch strings.ToLower(f.word()) {
	case "true", "yes", "on", "1":
		p.doc.Pinned = true
	case "false", "no", "off", "0", "", "null", "~":
	default:
		p.problem(f.span, ProblemBool, SeverityInfo, "pinned is neither true nor false; taken as false")
	}
}
