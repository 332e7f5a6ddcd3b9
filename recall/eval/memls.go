package eval

import (
	"context"
	"fmt"
	"time"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// MemlsName is the name of our own ranker in reports.
const MemlsName = "memls"

// memlsRanker ranks with our own index over documents parsed from their Markdown.
type memlsRanker struct {
	index  *recall.Index
	params recall.Params
	ids    map[*memory.Document]string
}

// Memls answers a factory of our own deterministic ranker with the given constants.
func Memls(p recall.Params) Factory {
	return func(docs []Doc) Ranker { return newMemlsRanker(docs, p) }
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
	r, err := m.index.RankWith(context.Background(), recall.Query{Text: query, Limit: k, Now: time.Now()}, m.params)
	if err != nil {
		return nil
	}
	out := make([]string, len(r.Hits))
	for i, h := range r.Hits {
		out[i] = m.ids[h.Doc]
	}
	return out
}
