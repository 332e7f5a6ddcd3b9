package memory

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrRef is what every refused ref wraps.
var ErrRef = errors.New("not a memory ref")

// Scope says whose memory a root holds.
type Scope string

// The scopes, in the order that ties are decided in.
const (
	ScopeProject Scope = "project"
	ScopeUser    Scope = "user"
	ScopeTeam    Scope = "team"
)

// Valid tells whether s is one of the three scopes.
func (s Scope) Valid() bool {
	return s == ScopeProject || s == ScopeUser || s == ScopeTeam
}

// NoEntry is Ref.Entry when a ref names the file as a whole.
const NoEntry = -1

const (
	maxRelBytes     = 4096 // PATH_MAX of the systems that have one
	maxSegmentBytes = 255  // NAME_MAX
	maxEntryDigits  = 7    // a file of MaxFileBytes has fewer entries
	rootIDLen       = 8    // hex digits of Root.ID
)

// Ref is a parsed ref: <scope>[@<root id>]:<relative path>[#<entry>].
type Ref struct {
	Scope  Scope
	RootID string // empty for the first root of its scope
	Rel    string // decoded, slash-separated, below its root
	Entry  int    // 0-based, or NoEntry
}

// Prefix is the part before the colon: what Root.Prefix holds.
func (r Ref) Prefix() string {
	if r.RootID == "" {
		return string(r.Scope)
	}
	return string(r.Scope) + "@" + r.RootID
}

// File is the ref of the file as a whole: what Document.Ref holds.
func (r Ref) File() string { return encodeRef(r.Prefix(), r.Rel) }

// String is the ref with its entry. It and [ParseRef] are each other's inverse.
func (r Ref) String() string {
	if r.Entry < 0 {
		return r.File()
	}
	return r.File() + "#" + strconv.Itoa(r.Entry)
}

// ParseRef reads a ref that came from outside. It accepts only what String
// writes, so that one file has one name, and only paths that stay below their
// root on this system. The path is still only a name: reading it goes through
// os.Root. Errors wrap [ErrRef].
func ParseRef(s string) (Ref, error) {
	if len(s) > 3*maxRelBytes+64 {
		return Ref{}, fmt.Errorf("%w: longer than any path", ErrRef)
	}
	prefix, rest, ok := strings.Cut(s, ":")
	if !ok {
		return Ref{}, fmt.Errorf("%w: %.80q has no scope", ErrRef, s)
	}
	r := Ref{Entry: NoEntry}
	scope, id, hasID := strings.Cut(prefix, "@")
	r.Scope, r.RootID = Scope(scope), id
	if !r.Scope.Valid() {
		return Ref{}, fmt.Errorf("%w: unknown scope in %.80q", ErrRef, s)
	}
	if hasID && !validRootID(id) {
		return Ref{}, fmt.Errorf("%w: malformed root id in %.80q", ErrRef, s)
	}
	path, entry, hasEntry := strings.Cut(rest, "#")
	if hasEntry {
		n, err := parseEntry(entry)
		if err != nil {
			return Ref{}, fmt.Errorf("%w: malformed entry in %.80q", ErrRef, s)
		}
		r.Entry = n
	}
	rel, err := decodeRel(path)
	if err != nil {
		return Ref{}, fmt.Errorf("%w: %.80q: %w", ErrRef, s, err)
	}
	r.Rel = rel
	return r, nil
}

func validRootID(id string) bool {
	if len(id) != rootIDLen {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func parseEntry(s string) (int, error) {
	if s == "" || len(s) > maxEntryDigits || len(s) > 1 && s[0] == '0' || s[0] < '0' || s[0] > '9' {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(s)
}

// CheckRel tells whether rel can name a file below a root: relative, clean,
// without dot segments, NUL or backslash (which is a separator elsewhere), in
// bounds, and local on this system.
func CheckRel(rel string) error {
	switch {
	case len(rel) > maxRelBytes:
		return errors.New("path too long")
	case strings.ContainsAny(rel, "\x00\\"):
		return errors.New("path with NUL or a backslash")
	}
	if rel == "" {
		return errors.New("empty path")
	}
	for seg := range strings.SplitSeq(rel, "/") {
		switch {
		case seg == "" || seg == "." || seg == "..":
			return errors.New("path is not clean and relative")
		case len(seg) > maxSegmentBytes:
			return errors.New("name too long")
		}
	}
	// Windows has further names that lead elsewhere: drives, streams, devices.
	if !filepath.IsLocal(filepath.FromSlash(rel)) {
		return errors.New("path is not local")
	}
	return nil
}

func decodeRel(path string) (string, error) {
	var b strings.Builder
	b.Grow(len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case c == '/' || unreserved(c):
			b.WriteByte(c)
		case c == '%' && i+2 < len(path):
			hi, lo := upperHex(path[i+1]), upperHex(path[i+2])
			if hi < 0 || lo < 0 {
				return "", errors.New("malformed escape")
			}
			v := byte(hi<<4 | lo)
			// One file has one name: what needs no escape may have none, and a
			// slash is always a separator.
			if unreserved(v) || v == '/' {
				return "", errors.New("escape of a character that is written plainly")
			}
			b.WriteByte(v)
			i += 2
		default:
			return "", errors.New("character that must be escaped")
		}
	}
	rel := b.String()
	return rel, CheckRel(rel)
}

// encodeRef is the ref of the file rel below the root with the given prefix.
func encodeRef(prefix, rel string) string {
	const hex = "0123456789ABCDEF"
	n := len(prefix) + 1 + len(rel)
	for i := range len(rel) {
		if c := rel[i]; c != '/' && !unreserved(c) {
			n += 2
		}
	}
	b := make([]byte, 0, n)
	b = append(b, prefix...)
	b = append(b, ':')
	for i := range len(rel) {
		if c := rel[i]; c == '/' || unreserved(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '-' || c == '.' || c == '_' || c == '~'
}

func upperHex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
