package meaning

import (
	"context"
	"errors"

	"github.com/memls/memls/memory"
)

// Reserve sets tokens aside for a request that nobody waits for, and answers how to
// settle what it took. Its error is a [*memory.Skipped] when the day's budget has not
// so many left.
type Reserve func(ctx context.Context, tokens int) (settle func(ctx context.Context, used int) error, err error)

// estimated is about how many tokens texts are, for an endpoint that does not say; not
// fewer than they mostly are.
func estimated(texts []string) int {
	n := 0
	for _, t := range texts {
		n += (len(t)+2)/3 + 2
	}
	return n
}

// budgetSpent tells whether an error says that the day's budget is spent.
func budgetSpent(err error) bool {
	var s *memory.Skipped
	return errors.As(err, &s) && s.Reason == memory.SkipBudgetExhausted
}

// ReserveOf reserves out of the account that a store keeps of all background work.
func ReserveOf(store *memory.Store, perDay int) Reserve {
	return func(ctx context.Context, tokens int) (func(context.Context, int) error, error) {
		r, err := store.Reserve(ctx, perDay, tokens)
		if err != nil {
			return nil, err
		}
		return r.Settle, nil
	}
}
