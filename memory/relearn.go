package memory

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Forgotten things are not to be learnt again by a program that goes through the
// same conversation once more. What is kept for that are keyed digests, from
// which no text can be read: of a statement's words, without order, and of what
// is left of them without each one, so that a statement which differs by a word
// is known, too.

const (
	stateForgotten = "forgotten"
	digestsFile    = "digests.json"

	// maxDigests bounds the digests of a root; the oldest go.
	maxDigests = 50_000
	// A statement of fewer words is kept as it is, one of more has no variants.
	minVariedWords, maxVariedWords = 4, 40
)

// forgottenDigests are the digests of one root.
type forgottenDigests struct {
	Key     []byte           `json:"key"`
	Digests map[string]int64 `json:"digests"` // hex to when, in seconds
}

// of are the digests of a text: of all of it and of each of its sentences.
func (f *forgottenDigests) of(text string) []string {
	statements := []string{text}
	for line := range strings.Lines(text) {
		for s := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(".!?;。！？；", r) }) {
			if len(words(s)) >= minSaid {
				statements = append(statements, s)
			}
		}
	}
	var out []string
	for _, s := range statements {
		ws := words(s)
		slices.Sort(ws)
		ws = slices.Compact(ws)
		if len(ws) == 0 {
			continue
		}
		out = append(out, f.digest(ws))
		for i := 0; i < len(ws) && len(ws) >= minVariedWords && len(ws) <= maxVariedWords; i++ {
			out = append(out, f.digest(slices.Delete(slices.Clone(ws), i, i+1)))
		}
	}
	return out
}

func (f *forgottenDigests) digest(ws []string) string {
	mac := hmac.New(sha256.New, f.Key)
	mac.Write([]byte(strings.Join(ws, "\x00")))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// Block keeps texts of a root that were forgotten from being learnt again.
func (s *Store) Block(ctx context.Context, root *Root, texts []string) error {
	return s.changeDigests(ctx, root, func(f *forgottenDigests) {
		now := s.opt.Now().Unix()
		for _, t := range texts {
			for _, d := range f.of(t) {
				f.Digests[d] = now
			}
		}
		if n := len(f.Digests) - maxDigests; n > 0 {
			s.opt.Log.Warn("the oldest of what was forgotten may be learnt again", "root", root.Real, "digests", n)
			oldest := slices.SortedFunc(maps.Keys(f.Digests), func(a, b string) int {
				return cmp.Or(cmp.Compare(f.Digests[a], f.Digests[b]), strings.Compare(a, b))
			})
			for _, d := range oldest[:n] {
				delete(f.Digests, d)
			}
		}
	})
}

// Unblock lets texts be learnt again: somebody asked to remember them.
func (s *Store) Unblock(ctx context.Context, root *Root, texts []string) error {
	known := false
	for _, t := range texts {
		blocked, err := s.Blocked(root, t)
		if err != nil {
			return err
		}
		known = known || blocked
	}
	if !known {
		return nil
	}
	return s.changeDigests(ctx, root, func(f *forgottenDigests) {
		for _, t := range texts {
			for _, d := range f.of(t) {
				delete(f.Digests, d)
			}
		}
	})
}

// Blocked tells whether a text says what was forgotten in a root, in the same
// words or with one more, fewer or other.
func (s *Store) Blocked(root *Root, text string) (bool, error) {
	state, err := s.openState(root)
	if err != nil || state == nil {
		return false, err
	}
	defer state.close()
	f, err := readDigests(func(part, name string) ([]byte, error) { return getState(state, part, name) })
	if err != nil {
		return false, fmt.Errorf("reading what was forgotten: %w", err)
	}
	return slices.ContainsFunc(f.of(text), func(d string) bool { _, ok := f.Digests[d]; return ok }), nil
}

func (s *Store) changeDigests(ctx context.Context, root *Root, change func(*forgottenDigests)) error {
	l, err := s.lock(ctx, []*Root{root})
	if err != nil {
		return err
	}
	defer l.unlock()
	state := l.states[0]
	f, err := readDigests(state.get)
	if err != nil {
		if err := s.quarantine(state, stateForgotten, digestsFile, err); err != nil {
			return err
		}
		f = &forgottenDigests{Digests: map[string]int64{}}
	}
	if f.Key == nil {
		f.Key = make([]byte, 32)
		if _, err := rand.Read(f.Key); err != nil {
			return refuseIO(err, nil, "making a key")
		}
	}
	change(f)
	raw, err := json.Marshal(f)
	if err == nil {
		err = state.put(stateForgotten, digestsFile, raw)
	}
	if err != nil {
		return refuseIO(err, nil, "keeping what was forgotten")
	}
	return nil
}

func readDigests(get func(part, name string) ([]byte, error)) (*forgottenDigests, error) {
	f := &forgottenDigests{Digests: map[string]int64{}}
	raw, err := get(stateForgotten, digestsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, f)
	}
	if err == nil && (len(f.Key) == 0 || f.Digests == nil) {
		err = errors.New("no digests")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", digestsFile, err)
	}
	return f, nil
}
