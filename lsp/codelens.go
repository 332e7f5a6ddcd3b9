package lsp

import (
	"context"
	"fmt"
	"slices"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// maxDuplicates bounds the near-duplicates that are named above a memory; the
// lens says how many there are.
const maxDuplicates = 3

// codeLenses serves textDocument/codeLens: above a memory, how often it was
// recalled, how many links lead to it, and what says nearly the same.
func (f *features) codeLenses(ctx context.Context, p *page, _ *documentParams) (any, error) {
	out := []protocol.CodeLens{}
	if p.Index || p.saved == nil {
		return out, nil
	}
	add := func(title, ref string) error {
		argument, err := encode(ShowParams{Ref: ref})
		if err != nil {
			return err
		}
		out = append(out, protocol.CodeLens{
			Range:   p.rangeOf(memory.Span{}),
			Command: protocol.Command{Title: title, Command: commandPrefix + "show", Arguments: []protocol.LSPAny{protocol.LSPAny(argument)}},
		})
		return nil
	}
	if use := f.useOf(p.saved, f.opt.Now()); use != "" {
		if err := add(use, p.saved.Ref); err != nil {
			return nil, err
		}
	}
	if n := len(p.snap.Incoming(p.saved)); n > 0 {
		if err := add(linkCount(n), p.saved.Ref); err != nil {
			return nil, err
		}
	}
	twins := f.duplicates(p)
	for i, d := range twins {
		title := "nearly the same: " + clip(d.Title, maxSymbolRunes)
		if i == maxDuplicates {
			title = fmt.Sprintf("and %d more", len(twins)-i)
		}
		if err := add(title, d.Ref); err != nil {
			return nil, err
		}
		if i == maxDuplicates {
			break
		}
	}
	return out, ctx.Err()
}

func linkCount(n int) string {
	if n == 1 {
		return "1 link leads here"
	}
	return fmt.Sprintf("%d links lead here", n)
}

// duplicates are the active memories that say nearly the same as a page's, as far
// as whoever edits the page may see them.
func (f *features) duplicates(p *page) []*memory.Document {
	if p.saved == nil {
		return nil
	}
	now := f.opt.Now()
	return slices.DeleteFunc(recall.IndexOf(p.snap).Alike(p.saved), func(d *memory.Document) bool {
		return !seesFrom(p.Root, d.Root) || !d.ActiveAt(now)
	})
}
