package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

const (
	stateCursors = "cursors"
	// maxMarks is how many messages are remembered to have been gone through, the
	// latest, to find one's place in a history that was compacted or edited.
	maxMarks = 200
	// maxCursors bounds the conversations of a root, cursorLife how long one is
	// remembered after it was last gone through.
	maxCursors = 500
	cursorLife = 90 * 24 * time.Hour
	// A conversation that a model fails at is left alone for a while that doubles,
	// from the first to the longest.
	firstRest   = time.Minute
	longestRest = time.Hour
)

// cursorRecord is a cursor as it is kept, one file a conversation.
type cursorRecord struct {
	Cursor
	Marks []string  `json:"marks,omitempty"` // the latest last
	At    time.Time `json:"at"`
	// Fails counts the runs that failed here, one after the other, and Rest is when
	// it is worth another try.
	Fails int       `json:"fails,omitempty"`
	Rest  time.Time `json:"rest,omitzero"`
}

// cursorName is the file of a conversation. Inv: the name of a session, which is
// the host's, is in no path.
func cursorName(session string) string {
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:16])
}

// holdConversation keeps others from learning from the same conversation, until
// the file is closed.
func (s *Store) holdConversation(root *Root, session string) (*os.File, error) {
	return s.holdPart(root, stateCursors, cursorName(session)+taskLock, "a conversation",
		&Skipped{Reason: SkipAlreadyRunning, Detail: "another process is learning from this conversation"})
}

// cursor is how far a conversation was gone through. One that cannot be read is
// begun anew: what is found twice is known then.
func (s *Store) cursor(root *Root, session string) (*cursorRecord, error) {
	return readRecord(s, root, stateCursors, cursorName(session)+recordSuffix, "a cursor", "the conversation is gone through again",
		func(c *cursorRecord) bool { return c.Offset >= 0 })
}

// setCursor keeps how far a conversation was gone through.
func (s *Store) setCursor(ctx context.Context, root *Root, session string, c *cursorRecord) error {
	c.At = s.opt.Now().UTC()
	c.Marks = c.Marks[max(0, len(c.Marks)-maxMarks):]
	return s.writeRecord(ctx, root, stateCursors, cursorName(session)+recordSuffix, "a cursor", c, func(state *rootState) {
		if err := s.expireCursors(state); err != nil {
			s.opt.Log.Warn("old cursors stay", "root", root.Real, "error", err)
		}
	})
}

// expireCursors forgets conversations that nobody has gone on with for long.
func (s *Store) expireCursors(state *rootState) error {
	ids, err := listState(state.folder, stateCursors, recordSuffix)
	if err != nil || len(ids) <= maxCursors/2 {
		return err
	}
	type aged struct {
		id string
		at time.Time
	}
	var all []aged
	for _, id := range ids {
		raw, err := state.get(stateCursors, id+recordSuffix)
		if err != nil {
			return err
		}
		var c cursorRecord
		_ = json.Unmarshal(raw, &c) // one that cannot be read is the oldest
		all = append(all, aged{id, c.At})
	}
	slices.SortFunc(all, func(a, b aged) int { return b.at.Compare(a.at) })
	for i, c := range all {
		if i < maxCursors && s.opt.Now().Sub(c.at) < cursorLife {
			continue
		}
		for _, suffix := range []string{recordSuffix, taskLock} {
			if err := state.drop(stateCursors, c.id+suffix); err != nil {
				return err
			}
		}
	}
	return nil
}

// failed is the record after a run that failed, with when to try again.
func (c *cursorRecord) failed(now time.Time, asked time.Duration) *cursorRecord {
	next := *c
	rest := min(longestRest, firstRest<<min(c.Fails, 10))
	next.Fails, next.Rest = c.Fails+1, now.Add(max(rest, min(asked, 24*time.Hour))).UTC()
	return &next
}

// resting tells how long a conversation is still to be left alone. A clock that
// was set back does not make that longer than it can have been meant.
func (c *cursorRecord) resting(now time.Time) time.Duration {
	left := c.Rest.Sub(now)
	if c.Rest.IsZero() || left <= 0 || left > 24*time.Hour {
		return 0
	}
	return left
}

// slice is what of a history is still to be gone through.
type slice struct {
	messages []Message
	at       int    // offset of the first in the whole history
	digest   string // of what lies before
	before   *Message
	resumed  string // how the place was found when the history is another one
}

// place finds where to go on. from says that messages are a history's tail, and
// is nil when they are all of it.
func (c *cursorRecord) place(messages []Message, from *Cursor) (*slice, error) {
	s := &slice{messages: messages}
	if from != nil {
		s.at, s.digest = from.Offset, from.Digest
	}
	first, marks := 0, make([]string, len(messages))
	digests := make([]string, len(messages)+1)
	digests[0] = s.digest
	var before *Message
	for i := range messages {
		m := &messages[i]
		digests[i+1] = chain(digests[i], m)
		marks[i] = mark(before, m)
		before = m
	}
	skip := c.Offset - s.at
	switch {
	case skip >= 0 && skip <= len(messages) && digests[skip] == c.Digest:
		first = skip
	default:
		last := -1
		for i, m := range marks {
			if slices.Contains(c.Marks, m) {
				last = i
			}
		}
		switch {
		case last >= 0:
			first, s.resumed = last+1, "the history is another one than before; it goes on after the last message that was gone through"
		case from != nil && (c.Offset > 0 || from.Offset > 0):
			return nil, &Skipped{Reason: SkipHistoryGap, Detail: fmt.Sprintf(
				"messages are missing: %d were gone through, and the tail begins at %d with another history; send the whole history", c.Offset, from.Offset)}
		case c.Offset > 0:
			s.resumed = "the history is another one than before; it is gone through from its beginning"
		}
	}
	if first > 0 {
		s.before = &messages[first-1]
	}
	s.messages, s.at, s.digest = messages[first:], s.at+first, digests[first]
	return s, nil
}

// after is the record once the first n messages of a slice were gone through.
func (c *cursorRecord) after(s *slice, n int) *cursorRecord {
	next := &cursorRecord{Cursor: Cursor{s.at, s.digest}, Marks: slices.Clone(c.Marks)}
	before := s.before
	for i := range s.messages[:n] {
		m := &s.messages[i]
		next.Digest = chain(next.Digest, m)
		next.Marks = append(next.Marks, mark(before, m))
		before = m
	}
	next.Offset += n
	return next
}

// origin names what a plan was made from: a stretch of a conversation. A run that
// died between writing its plan and moving its cursor is known again by it.
type origin struct {
	Session string `json:"session"` // as cursorName
	From    Cursor `json:"from"`
	To      Cursor `json:"to"`
}
