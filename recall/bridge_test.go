package recall_test

import (
	"slices"
	"testing"

	"github.com/memls/memls/recall"
)

// birds keeps words rare.
func birds(notes ...note) []note {
	for _, w := range []string{"granite", "heron", "juniper", "kestrel", "larch", "magpie", "nettle", "osprey", "plover", "quartz", "raven", "sorrel"} {
		notes = append(notes, note{name: "About the " + w, desc: w, body: "The " + w + " stands by the river."})
	}
	return notes
}

func withoutConcepts() recall.Params {
	p := recall.DefaultParams()
	p.Without |= recall.SignalConcepts
	return p
}

func TestOtherWordsForTheSame(t *testing.T) {
	ix := indexOf(t, birds(
		note{name: "Rolling out to production", desc: "How a deployment is done", body: "Wait for the kite."},
		note{name: "Datenbank sichern", desc: "Sicherung jede Nacht", body: "Um drei."},
	)...)
	for query, want := range map[string]string{
		"部署到生产环境":          "Rolling out to production", // two concepts
		"деплой в прод":    "Rolling out to production",
		"database backups": "Datenbank sichern",
		"النسخ الاحتياطي":  "Datenbank sichern", // one, which is rare
		"base de données":  "Datenbank sichern", // a term of several words
	} {
		r := rank(t, ix, query)
		wantNames(t, query, names(r), want)
		if len(r.Hits) > 0 && !slices.ContainsFunc(r.Hits[0].Why, func(w recall.Why) bool { return w.Match == recall.MatchConcept }) {
			t.Errorf("%q: no reason says that it was met in other words: %v", query, r.Hits[0].Why)
		}
	}
}

// What shares a word stands first, however well another memory says the same in
// other words.
func TestOtherWordsStandBelow(t *testing.T) {
	ix := indexOf(t, birds(
		note{name: "Database backup and restore", desc: "backup of the database", body: "database backup"},
		note{name: "Sicherung", desc: "Sicherung und Wiederherstellung der Datenbank", body: "Datenbank", days: -1},
	)...)
	wantNames(t, "direct first", ask(t, ix, "database backup restore"), "Database backup and restore", "Sicherung")
}

func TestOtherWordsAreNoExcuse(t *testing.T) {
	ix := indexOf(t, birds(
		note{name: "Rolling out", desc: "A deployment a day", body: "Slowly. The price is a discount."},
		note{name: "Kitchen", desc: "the kettle", body: "Coffee at nine."},
	)...)
	for _, query := range []string{
		"部署的时候如果遇到汽轮机的涡轮机入口温度太高应该找谁来处理",                  // one known word in a long sentence
		"discount for the annual marathon of sandpipers", // in passing, in a body
		"weather in Lisbon",
	} {
		if got := ask(t, ix, query); len(got) > 0 {
			t.Errorf("%q: %q", query, got)
		}
	}
}

// Filters hold for what is met in other words, and a search without the lexicon
// answers nothing there.
func TestOtherWordsAndFilters(t *testing.T) {
	ix := indexOf(t, birds(note{name: "Rolling out to production", desc: "How a deployment is done", body: "Wait."})...)
	const query = "部署到生产环境"
	excluded := func(q *recall.Query) { q.Exclude = map[string]bool{"project:Rolling-out-to-production.md": true} }
	if got := ask(t, ix, query, excluded); len(got) > 0 {
		t.Errorf("excluded, and returned: %q", got)
	}
	r, err := ix.RankWith(t.Context(), recall.Query{Text: query, Now: now}, withoutConcepts())
	if err != nil || len(r.Hits) > 0 {
		t.Errorf("%v, %q", err, names(r))
	}
}
