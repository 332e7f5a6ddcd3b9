package recall_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
)

// TestSegmentsAreJoinedBeside changes a store while its segments are being joined:
// answers are those of an index that was built at once, before the join is taken up
// and after it, and what has gone in the meantime stays away.
func TestSegmentsAreJoinedBeside(t *testing.T) {
	docs := corpus(t, 1_500)
	in := recall.NewIndexer()
	var ix any
	for rest := docs; len(rest) > 0; rest = rest[250:] {
		ix = in.Update(ix, nil, rest[:250])
	}
	// A join of six segments is under way.
	ix = in.Update(ix, docs[:40], nil)
	ix = in.Update(ix, docs[700:720], nil)
	living := append(append([]*memory.Document{}, docs[40:700]...), docs[720:]...)
	var queries []string
	for i := range 20 {
		f := strings.Fields(docs[i*70].BodyText())
		queries = append(queries, fmt.Sprintf("%s %s record%d", f[1], f[9], i*70))
	}
	want := answers(t, build(living), queries)
	if got := answers(t, ix.(*recall.Index), queries); got != want {
		t.Errorf("while segments are joined:\n got %s\nwant %s", got, want)
	}
	<-in.Joined()
	ix = in.Update(ix, nil, nil)
	if got := answers(t, ix.(*recall.Index), queries); got != want {
		t.Errorf("afterwards:\n got %s\nwant %s", got, want)
	}
	if n := ix.(*recall.Index).Len(); n != len(living) {
		t.Errorf("%d documents of %d", n, len(living))
	}
	in.Wait()
}
