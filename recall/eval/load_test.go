package eval_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memls/memls/recall/eval"
)

// folder writes files (name, text, name, text, …) into a new folder.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sample")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoadOwnFormat(t *testing.T) {
	set, err := eval.Load(folder(t,
		"corpus.jsonl", "\ufeff"+`{"id":"a","title":"T","description":"D","type":"user","body":"B","keywords":["k1","k2"],"status":"superseded","updated_at":"2026-05-04T03:02:01Z"}`+"\r\n\r\n"+
			`{"id":"b","body":"only a body","updated_at":"2026-05-04"}`,
		"cases.jsonl", `{"id":"1","query":"what?","relevant":["b","a"],"lang":"en","slice":"body","top":"b"}`+"\n"+
			`{"id":"2","query":"nothing","relevant":[],"lang":"de","slice":"silence"}`+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if set.Name != "sample" || len(set.Docs) != 2 || len(set.Cases) != 2 {
		t.Fatalf("got %+v", set)
	}
	a := set.Docs[0]
	if a.ID != "a" || a.Title != "T" || a.Description != "D" || a.Type != "user" || a.Body != "B" || a.Active() ||
		!slices.Equal(a.Keywords, []string{"k1", "k2"}) || !a.UpdatedAt.Equal(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)) {
		t.Errorf("document a: %+v", a)
	}
	if b := set.Docs[1]; !b.Active() || !b.UpdatedAt.Equal(time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("document b: %+v", b)
	}
	c := set.Cases[0]
	if c.Query != "what?" || !slices.Equal(c.Relevant, []string{"b", "a"}) || c.Lang != "en" || c.Slice != "body" || c.Top != "b" {
		t.Errorf("case 1: %+v", c)
	}
	if set.Cases[1].Answerable() {
		t.Error("case 2 is unanswerable")
	}
}

func TestLoadGeneralFormat(t *testing.T) {
	set, err := eval.Load(folder(t,
		"corpus.jsonl", `{"id":"a","text":"one","scope":"s1","extra":1}`+"\n"+`{"id":"b","text":"two","title":"T","scope":"s2"}`,
		"queries.jsonl", `{"id":"1","text":"q","relevant":["a"],"lang":"en","scope":"s1","note":"x"}`+"\n"+`{"id":"2","text":"q","relevant":["b"],"lang":"en"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Pool("s1"); len(got) != 1 || got[0].ID != "a" || got[0].Body != "one" {
		t.Errorf("pool of s1: %+v", got)
	}
	if got := set.Pool(""); len(got) != 2 {
		t.Errorf("pool of no scope: %+v", got)
	}
}

func TestLoadFaults(t *testing.T) {
	const doc = `{"id":"a","body":"x"}` + "\n"
	const query = `{"id":"1","query":"q","relevant":["a"],"lang":"en"}` + "\n"
	tests := []struct {
		name  string
		files []string
		want  []string
	}{
		{"no set", nil, []string{"not a labelled set", "cases.jsonl", "queries.jsonl"}},
		{"both formats", []string{"cases.jsonl", query, "queries.jsonl", query}, []string{"both cases.jsonl and queries.jsonl"}},
		{"no corpus", []string{"cases.jsonl", query}, []string{"corpus.jsonl"}},
		{"no documents", []string{"corpus.jsonl", "\n", "cases.jsonl", `{"id":"1","query":"q","relevant":[]}`}, []string{"has no documents"}},
		{"no cases", []string{"corpus.jsonl", doc, "cases.jsonl", ""}, []string{"has no cases"}},
		{"broken JSON", []string{"corpus.jsonl", doc + "\n{\"id\":", "cases.jsonl", query}, []string{"corpus.jsonl:3: document: "}},
		{"two objects in a line", []string{"corpus.jsonl", `{"id":"a","body":"x"} {}`, "cases.jsonl", query}, []string{"corpus.jsonl:1:", "one object a line"}},
		{"wrong type", []string{"corpus.jsonl", `{"id":7,"body":"x"}`, "cases.jsonl", query}, []string{"corpus.jsonl:1:"}},
		{"document without id", []string{"corpus.jsonl", doc + `{"body":"x"}`, "cases.jsonl", query}, []string{"corpus.jsonl:2: document without an id"}},
		{"document twice", []string{"corpus.jsonl", doc + doc, "cases.jsonl", query}, []string{`corpus.jsonl:2: document "a" stands already in line 1`}},
		{"empty document", []string{"corpus.jsonl", doc + `{"id":"b","body":" \n"}`, "cases.jsonl", query}, []string{`corpus.jsonl:2: document "b" is empty`}},
		{"status", []string{"corpus.jsonl", `{"id":"a","body":"x","status":"old"}`, "cases.jsonl", query}, []string{`corpus.jsonl:1: document "a": status "old"`}},
		{"time", []string{"corpus.jsonl", `{"id":"a","body":"x","updated_at":"yesterday"}`, "cases.jsonl", query}, []string{`corpus.jsonl:1: document "a": updated_at: "yesterday"`}},
		{"unknown key", []string{"corpus.jsonl", doc, "cases.jsonl", `{"id":"1","query":"q","answers":["a"]}`}, []string{"cases.jsonl:1: case: ", "answers"}},
		{"no relevant", []string{"corpus.jsonl", doc, "cases.jsonl", `{"id":"1","query":"q"}`}, []string{`cases.jsonl:1: case "1": no "relevant"`}},
		{"no query", []string{"corpus.jsonl", doc, "cases.jsonl", `{"id":"1","query":" ","relevant":[]}`}, []string{`cases.jsonl:1: case "1": no query`}},
		{"no text", []string{"corpus.jsonl", `{"id":"a","text":"x"}`, "queries.jsonl", `{"id":"1","relevant":[]}`}, []string{`queries.jsonl:1: query "1": no text`}},
		{"case without id", []string{"corpus.jsonl", doc, "cases.jsonl", query + `{"query":"q","relevant":[]}`}, []string{"cases.jsonl:2: case without an id"}},
		{"case twice", []string{"corpus.jsonl", doc, "cases.jsonl", query + query}, []string{`cases.jsonl:2: case "1" stands already in line 1`}},
		{"unknown relevant", []string{"corpus.jsonl", doc, "cases.jsonl", query + `{"id":"2","query":"q","relevant":["z"]}`}, []string{`cases.jsonl:2: case "2": relevant document "z" is not in corpus.jsonl`}},
		{"relevant twice", []string{"corpus.jsonl", doc, "cases.jsonl", `{"id":"1","query":"q","relevant":["a","a"]}`}, []string{`cases.jsonl:1:`, "listed twice"}},
		{"top elsewhere", []string{"corpus.jsonl", doc + `{"id":"b","body":"x"}`, "cases.jsonl", `{"id":"1","query":"q","relevant":["a"],"top":"b"}`}, []string{`cases.jsonl:1:`, `top document "b"`}},
		{"unknown scope", []string{"corpus.jsonl", `{"id":"a","text":"x"}`, "queries.jsonl", `{"id":"1","text":"q","relevant":[],"scope":"s"}`}, []string{`queries.jsonl:1: case "1": no document has the scope "s"`}},
		{
			"relevant of another scope",
			[]string{"corpus.jsonl", `{"id":"a","text":"x","scope":"s1"}` + "\n" + `{"id":"b","text":"x","scope":"s2"}`, "queries.jsonl", `{"id":"1","text":"q","relevant":["a"],"scope":"s2"}`},
			[]string{`queries.jsonl:1:`, `is of scope "s1", the case of "s2"`},
		},
		{
			"faults of both files at once", []string{"corpus.jsonl", "{", "cases.jsonl", "{"},
			[]string{"corpus.jsonl:1:", "cases.jsonl:1:"},
		},
		{
			"many faults", []string{"corpus.jsonl", strings.Repeat("{\n", 25), "cases.jsonl", query},
			[]string{"corpus.jsonl:20:", "and 5 more faults"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := eval.Load(folder(t, tt.files...))
			if err == nil {
				t.Fatal("loaded")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q:\n%v", want, err)
				}
			}
		})
	}
	if _, err := eval.Load(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("an absent folder was loaded")
	}
	dir := folder(t, "corpus.jsonl", doc)
	if err := os.Mkdir(filepath.Join(dir, "cases.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := eval.Load(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder named cases.jsonl: %v", err)
	}
}
