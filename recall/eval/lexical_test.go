package eval_test

import (
	"testing"

	"github.com/memls/memls/recall/eval"
)

func TestSharesWord(t *testing.T) {
	set := &eval.Set{Docs: []eval.Doc{
		{ID: "en", Title: "Release train", Body: "Deployments wait for the kestrel check."},
		{ID: "zh", Title: "数据库迁移", Body: "先备份，再迁移。"},
		{ID: "el", Body: "Ο έλεγχος της κρυφής μνήμης", Keywords: []string{"cache"}},
	}}
	for _, c := range []struct {
		query, doc string
		want       bool
	}{
		{"when does the deployment run", "en", true}, // another inflection
		{"what is the thing for it", "en", false},    // words about nothing
		{"who ships to customers", "en", false},      // other words for it
		{"迁移之前要做什么", "zh", true},                     // a pair of characters
		{"数字签名在哪里", "zh", false},                     // one character only
		{"καθαρισμός ΜΝΉΜΗΣ", "el", true},            // capitals and accents
		{"cache size", "el", true},                   // a keyword
		{"release train", "zh", false},               // in a document that is not relevant
		{"release", "", false},                       // unanswerable
	} {
		var relevant []string
		if c.doc != "" {
			relevant = []string{c.doc}
		}
		if got := set.SharesWord(&eval.Case{Query: c.query, Relevant: relevant}); got != c.want {
			t.Errorf("%q and %q: %v", c.query, c.doc, got)
		}
	}
}

func TestSyntheticIsReproducible(t *testing.T) {
	a, b := eval.Synthetic(250, 1), eval.Synthetic(250, 1)
	if len(a.Docs) != 250 || len(a.Cases) != 100 {
		t.Fatalf("%d documents, %d cases", len(a.Docs), len(a.Cases))
	}
	for i := range a.Docs {
		if a.Docs[i].Body != b.Docs[i].Body {
			t.Fatalf("document %d differs", i)
		}
	}
	if a.Docs[3].Body == eval.Synthetic(250, 2).Docs[3].Body {
		t.Error("the seed changes nothing")
	}
	for i := range a.Cases {
		if !a.SharesWord(&a.Cases[i]) {
			t.Errorf("case %q shares no word with its document", a.Cases[i].Query)
		}
	}
}
