package memory

import (
	"strconv"
	"strings"
	"time"
)

// instantForms are the spellings of a moment that headers use. Those without a
// zone are read as UTC.
var instantForms = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04:05.999999999Z0700",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999 Z07:00",
	"2006-01-02 15:04:05.999999999 Z0700",
	"2006-01-02 15:04:05.999999999 MST",
	"2006-01-02 15:04:05.999999999 Z0700 MST",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04",
	"20060102T150405Z0700",
	"20060102T150405",
	"2006/01/02 15:04:05",
	"2006/01/02 15:04",
	time.RFC1123Z,
	time.RFC1123,
	time.ANSIC,
	time.UnixDate,
	"Mon Jan _2 2006 15:04:05 GMT-0700",
}

// dayForms are the spellings of a day. Numbers parted by slashes with the year
// at the end are left out: they mean two days.
var dayForms = []string{
	"2006-01-02",
	"2006/01/02",
	"2006.01.02",
	"20060102",
	"2006-1-2",
	"2006/1/2",
	"2.1.2006",
	"2 Jan 2006",
	"2 January 2006",
	"Jan 2, 2006",
	"January 2, 2006",
	"Jan 2 2006",
	"Mon Jan _2 2006",
	"2006年1月2日",
}

// parseDate reads a date in any usual form. day tells that it names a whole
// day, which then begins at midnight UTC. ok is false for anything else and for
// years outside 1 to 9999, which RFC 3339 cannot spell.
func parseDate(s string) (t time.Time, day, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) > 128 {
		return time.Time{}, false, false
	}
	// JavaScript appends the name of the zone: "… GMT+0200 (Central European …)".
	if i := strings.Index(s, " ("); i > 0 && strings.HasSuffix(s, ")") {
		s = s[:i]
	}
	for _, form := range dayForms {
		if t, err := time.Parse(form, s); err == nil {
			return bounded(t, true)
		}
	}
	for _, form := range instantForms {
		if t, err := time.Parse(form, s); err == nil {
			return bounded(t.UTC(), false)
		}
	}
	return parseEpoch(s)
}

// parseEpoch reads seconds (10 digits) or milliseconds (13 digits) since 1970.
func parseEpoch(s string) (time.Time, bool, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil || s[0] == '+':
		return time.Time{}, false, false
	case len(s) == 10:
		return bounded(time.Unix(n, 0).UTC(), false)
	case len(s) == 13:
		return bounded(time.UnixMilli(n).UTC(), false)
	}
	return time.Time{}, false, false
}

func bounded(t time.Time, day bool) (time.Time, bool, bool) {
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, false, false
	}
	return t, day, true
}
