package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"
)

// Opinion is what a person says of a memory that was shown.
type Opinion string

// The verdicts.
const (
	VoteUseful   Opinion = "useful"
	VoteWrong    Opinion = "wrong"
	VoteOutdated Opinion = "outdated"
)

// Valid tells whether v is one of the three verdicts.
func (v Opinion) Valid() bool { return v == VoteUseful || v == VoteWrong || v == VoteOutdated }

// Votes counts the verdicts on one memory.
type Votes struct {
	Useful   int       `json:"useful,omitempty"`
	Wrong    int       `json:"wrong,omitempty"`
	Outdated int       `json:"outdated,omitempty"`
	At       time.Time `json:"at"` // of the last one
}

// Net is what the verdicts come to: how many more are for the memory than
// against it.
func (v Votes) Net() int { return v.Useful - v.Wrong - v.Outdated }

// Feedback are the verdicts on all memories, by ref. Inv: immutable.
type Feedback map[string]Votes

const (
	stateFeedback = "feedback"
	votesFile     = "votes.json"
	// maxVoted bounds the memories of a root that have verdicts.
	maxVoted = 100_000
)

// Feedback is what is known of the verdicts on memories, without looking at a
// file: as of the last [Store.LoadFeedback], and what this store was told since.
func (s *Store) Feedback() Feedback {
	if f := s.feedback.Load(); f != nil {
		return *f
	}
	return nil
}

// LoadFeedback reads the verdicts on the memories of all served roots.
func (s *Store) LoadFeedback() error {
	all := Feedback{}
	var errs []error
	for _, r := range s.opt.Roots() {
		if r.Untrusted {
			continue
		}
		votes, err := s.votes(r)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for rel, v := range votes {
			all[encodeRef(r.Prefix, rel)] = v
		}
	}
	s.feedback.Store(&all)
	return errors.Join(errs...)
}

func (s *Store) votes(r *Root) (map[string]Votes, error) {
	state, err := s.openState(r)
	if err != nil || state == nil {
		return nil, err
	}
	defer state.close()
	return readVotes(func(part, name string) ([]byte, error) { return getState(state, part, name) })
}

func readVotes(get func(part, name string) ([]byte, error)) (map[string]Votes, error) {
	votes := map[string]Votes{}
	raw, err := get(stateFeedback, votesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return votes, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &votes)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", votesFile, err)
	}
	return votes, nil
}

// Vote adds a verdict on a memory. It is kept beside the files, never in them.
func (s *Store) Vote(ctx context.Context, d *Document, v Opinion) (Votes, error) {
	var now Votes
	err := s.changeVotes(ctx, d.Root, func(votes map[string]Votes) error {
		now = votes[d.Rel]
		if _, known := votes[d.Rel]; !known && len(votes) >= maxVoted {
			return refuse(RefusedBudget, []string{d.Ref}, "%d memories of this root have verdicts already", maxVoted)
		}
		switch v {
		case VoteUseful:
			now.Useful++
		case VoteWrong:
			now.Wrong++
		case VoteOutdated:
			now.Outdated++
		default:
			return &Refusal{Kind: RefusedInput, Field: "verdict", Detail: fmt.Sprintf("%.40q is none of useful, wrong, outdated", string(v))}
		}
		now.At = s.opt.Now().UTC()
		votes[d.Rel] = now
		return nil
	})
	return now, err
}

// dropVotes forgets the verdicts on memories that are gone for good.
func (s *Store) dropVotes(ctx context.Context, root *Root, rels []string) error {
	votes, err := s.votes(root)
	if err != nil {
		return err
	}
	before := len(votes)
	for _, rel := range rels {
		delete(votes, rel)
	}
	if len(votes) == before {
		return nil
	}
	return s.changeVotes(ctx, root, func(votes map[string]Votes) error {
		for _, rel := range rels {
			delete(votes, rel)
		}
		return nil
	})
}

func (s *Store) changeVotes(ctx context.Context, root *Root, change func(map[string]Votes) error) error {
	if root.Untrusted {
		return writable(root, nil)
	}
	l, err := s.lock(ctx, []*Root{root})
	if err != nil {
		return err
	}
	defer l.unlock()
	state := l.states[0]
	votes, err := readVotes(state.get)
	if err != nil {
		if err := s.quarantine(state, stateFeedback, votesFile, err); err != nil {
			return err
		}
		votes = map[string]Votes{}
	}
	if err := change(votes); err != nil {
		return err
	}
	raw, err := json.Marshal(votes)
	if err == nil {
		err = state.put(stateFeedback, votesFile, raw)
	}
	if err != nil {
		return refuseIO(err, nil, "keeping the verdict")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.Feedback())
	if all == nil {
		all = Feedback{}
	}
	for ref := range all {
		if r, err := ParseRef(ref); err == nil && r.Prefix() == root.Prefix {
			delete(all, ref)
		}
	}
	for rel, v := range votes {
		all[encodeRef(root.Prefix, rel)] = v
	}
	s.feedback.Store(&all)
	return nil
}
