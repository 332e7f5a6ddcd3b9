package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"
)

const (
	stateBudget = "budget"
	budgetFile  = "tokens.json"
	// maxBudgetDays is how many days the account remembers, the latest: when a
	// clock is set back, the day that it shows again goes on with what it had.
	maxBudgetDays = 64
)

// account is what background work spent of its tokens.
type account struct {
	Days map[string]int `json:"days"` // by day of UTC, as 2006-01-02
}

// Reservation are tokens that were set aside for one question to a model.
type Reservation struct {
	store  *Store
	day    string
	tokens int
}

// Reserve sets tokens aside out of a day's budget, for a question that may take so
// many. What a process takes along when it dies counts as spent. The error is a
// [*Skipped] with the reason budget_exhausted when the day has not so many left.
//
// Inv: of all processes that share the state, no two are given the same tokens.
func (s *Store) Reserve(ctx context.Context, perDay, tokens int) (*Reservation, error) {
	r := &Reservation{store: s, day: s.today(), tokens: tokens}
	err := s.changeAccount(ctx, func(a *account) error {
		if spent := a.Days[r.day]; spent+tokens > perDay {
			return &Skipped{Reason: SkipBudgetExhausted, Retry: s.untilTomorrow(), Detail: fmt.Sprintf(
				"%d of %d tokens of today are spent and the next question may take %d; it goes on tomorrow (UTC), or with a larger backgroundTokensPerDay",
				spent, perDay, tokens)}
		}
		a.Days[r.day] += tokens
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Settle replaces what was set aside by what was used, which may be more.
func (r *Reservation) Settle(ctx context.Context, used int) error {
	return r.store.changeAccount(ctx, func(a *account) error {
		a.Days[r.day] = max(0, a.Days[r.day]+used-r.tokens)
		return nil
	})
}

// SpentToday is how many tokens background work has taken today, by UTC.
func (s *Store) SpentToday() (int, error) {
	in, err := s.openBackground(false)
	if err != nil || in == nil {
		return 0, err
	}
	defer in.close()
	a, err := readAccount(func(part, name string) ([]byte, error) { return getState(in, part, name) })
	if err != nil {
		return 0, err
	}
	return a.Days[s.today()], nil
}

func (s *Store) today() string { return s.opt.Now().UTC().Format(time.DateOnly) }

func (s *Store) untilTomorrow() time.Duration {
	now := s.opt.Now().UTC()
	return now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
}

func (s *Store) changeAccount(ctx context.Context, change func(*account) error) error {
	held, err := s.holdBackground(ctx)
	if err != nil {
		return err
	}
	defer held.release()
	a, err := readAccount(held.get)
	if err != nil {
		// Inv: an account that cannot be read is begun anew rather than stop
		// background work for ever; what is lost is one day's count.
		if qerr := s.quarantine(held, stateBudget, budgetFile, err); qerr != nil {
			return refuseIO(qerr, nil, "setting the budget aside")
		}
		a = &account{Days: map[string]int{}}
	}
	if err := change(a); err != nil {
		return err
	}
	days := slices.Sorted(maps.Keys(a.Days))
	for _, day := range days[:max(0, len(days)-maxBudgetDays)] {
		if day != s.today() {
			delete(a.Days, day)
		}
	}
	raw, err := json.Marshal(a)
	if err == nil {
		err = held.put(stateBudget, budgetFile, raw)
	}
	if err != nil {
		return refuseIO(err, nil, "writing the budget of background work")
	}
	return nil
}

func readAccount(get func(part, name string) ([]byte, error)) (*account, error) {
	a := &account{}
	raw, err := get(stateBudget, budgetFile)
	if err == nil {
		err = json.Unmarshal(raw, a)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", budgetFile, err)
	}
	if a.Days == nil {
		a.Days = map[string]int{}
	}
	return a, nil
}
