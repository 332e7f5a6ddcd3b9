package lsp

import (
	"context"
	"os"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// door is how background work asks the model in force, within the budget.
func (f *features) door() *recall.Door {
	d := &recall.Door{}
	m := f.models.current()
	if m == nil {
		return d
	}
	store, perDay := f.changer.Load().store, f.s.Settings().BackgroundTokensPerDay
	d.Model, d.Price = m, m.options.Price.price()
	d.Reserve = func(ctx context.Context, tokens int) (*memory.Reservation, error) {
		return store.Reserve(ctx, perDay, tokens)
	}
	return d
}

// price is what a model costs as it is configured.
func (p ModelPrice) price() memory.Price {
	return memory.Price{Input: p.Input, Output: p.Output, Currency: p.Currency}
}

// strain tells why the machine has no strength for what nobody waits for.
func (f *features) strain() *memory.Skipped { return memory.Strain(os.DirFS("/")) }
