package eval

import (
	"context"
	"fmt"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// The names of our own ranker in reports: as a recall ranks, and as a search by a person does.
const (
	MemlsName       = "memls"
	MemlsSearchName = "memls-search"
)

// memlsRanker ranks with our own index over documents parsed from their Markdown.
type memlsRanker struct {
	index  *recall.Index
	params recall.Params
	search bool
	ids    map[*memory.Document]string
}

// Memls answers a factory of our own deterministic ranker with the given constants.
func Memls(p recall.Params) Factory {
	return func(docs []Doc) Ranker { return newMemlsRanker(docs, p) }
}

// MemlsSearch answers a factory of the same ranker as a search uses it: every document that one content word meets is listed,
// and the last word of the query may be unfinished.
func MemlsSearch(p recall.Params) Factory {
	return func(docs []Doc) Ranker {
		m := newMemlsRanker(docs, p)
		m.search = true
		return m
	}
}

func newMemlsRanker(docs []Doc, p recall.Params) *memlsRanker {
	m := &memlsRanker{params: p, ids: make(map[*memory.Document]string, len(docs))}
	root := &memory.Root{ID: "eval", Scope: memory.ScopeProject, Prefix: "project"}
	parsed := make([]*memory.Document, 0, len(docs))
	for i := range docs {
		text, err := docs[i].Markdown()
		if err != nil {
			// Inv: Load refuses documents that cannot be written as Markdown.
			panic(fmt.Sprintf("document %q: %v", docs[i].ID, err))
		}
		d := memory.Parse(text)
		d.Root, d.Rel, d.Ref = root, docs[i].ID+".md", "project:"+docs[i].ID+".md"
		parsed = append(parsed, d)
		m.ids[d] = docs[i].ID
	}
	m.index, _ = recall.NewIndexer().Update(nil, nil, parsed).(*recall.Index)
	return m
}

// Rank implements [Ranker].
func (m *memlsRanker) Rank(query string, k int) []string {
	r, err := m.index.RankWith(context.Background(), recall.Query{
		Text: query, Limit: k, Now: time.Now(), Loose: m.search, Prefix: m.search,
	}, m.params)
	if err != nil {
		return nil
	}
	out := make([]string, len(r.Hits))
	for i, h := range r.Hits {
		out[i] = m.ids[h.Doc]
	}
	return out
}
