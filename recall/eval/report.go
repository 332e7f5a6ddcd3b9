package eval

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// metric is one figure of a summary under the name that people know it by.
type metric struct {
	name, short string
	of          func(*Summary) Figure
}

var allMetrics = []metric{
	{"Recall@2", "R@2", func(s *Summary) Figure { return s.Recall2 }},
	{"Recall@5", "R@5", func(s *Summary) Figure { return s.Recall5 }},
	{"top-1", "top-1", func(s *Summary) Figure { return s.Top1 }},
	{"MRR", "MRR", func(s *Summary) Figure { return s.MRR }},
	{"nDCG@5", "nDCG@5", func(s *Summary) Figure { return s.NDCG5 }},
	{"no-result precision", "quiet-P", func(s *Summary) Figure { return s.NoResultPrecision }},
	{"no-result recall", "quiet-R", func(s *Summary) Figure { return s.NoResultRecall }},
}

// briefMetrics are those of the side-by-side table of slices: what an agent gets, and what it is spared. More would not fit a
// terminal.
var briefMetrics = []metric{allMetrics[1], allMetrics[6]}

// WriteJSON writes the whole report, every answer included, as one indented JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// WriteText writes the report as a person reads it, in percent: all metrics overall, then Recall@5 and no-result recall
// by slice and by language, the rankers side by side. With full, every metric of every slice and language follows.
func (r *Report) WriteText(w io.Writer, full bool) error {
	var b strings.Builder
	r.writeHead(&b)
	r.writeOverall(&b)
	r.writeDifferences(&b)
	r.writeGroups(&b, "slice", func(rr *RankerReport) []Group { return rr.Slices }, full)
	r.writeGroups(&b, "language", func(rr *RankerReport) []Group { return rr.Languages }, full)
	b.WriteString(legend)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

const legend = `
All figures in percent; n/a where there is no case to measure. "random" is what shuffling would
score on average; "qwen-code" is a frozen copy of the scorer that qwen-code 0.24.4 ships. No-result
recall (quiet-R): of the queries that nothing answers, the share answered with nothing; no-result
precision (quiet-P): of the queries answered with nothing, the share that nothing answers.
`

func (r *Report) writeHead(b *strings.Builder) {
	s := &r.Rankers[0].Overall
	fmt.Fprintf(b, "%s: %d documents, %d cases (%d answerable, %d not)\n",
		r.Set, r.Documents, r.Cases, s.Answerable, s.Unanswerable)
}

func (r *Report) writeOverall(b *strings.Builder) {
	t := table{header: []string{"overall"}}
	for i := range r.Rankers {
		t.header = append(t.header, r.Rankers[i].Name)
	}
	for _, m := range allMetrics {
		row := []string{m.name}
		for i := range r.Rankers {
			row = append(row, m.of(&r.Rankers[i].Overall).String())
		}
		t.rows = append(t.rows, row)
	}
	t.write(b)
}

func (r *Report) writeDifferences(b *strings.Builder) {
	if len(r.Differences) == 0 {
		return
	}
	b.WriteByte('\n')
	names := map[string]string{"recall5": "Recall@5", "ndcg5": "nDCG@5"}
	for _, d := range r.Differences {
		if d.Mean.Known() {
			fmt.Fprintf(b, "%s over %s, %s: %s points (95 %% of resampled sets: %s to %s)\n",
				d.Ranker, d.Against, names[d.Metric], signed(d.Mean), signed(d.Low), signed(d.High))
		}
	}
}

func signed(f Figure) string {
	s := f.String()
	switch {
	case s == "-0.0":
		return "0.0"
	case f > 0 && s != "0.0":
		return "+" + s
	}
	return s
}

func (r *Report) writeGroups(b *strings.Builder, kind string, of func(*RankerReport) []Group, full bool) {
	if len(of(&r.Rankers[0])) < 2 { // a lone group repeats the overall table
		return
	}
	r.briefTable(kind, of).write(b)
	if full {
		r.fullTable(kind, of).write(b)
	}
}

// briefTable has one row a group and, for each brief metric, one column a ranker.
func (r *Report) briefTable(kind string, of func(*RankerReport) []Group) *table {
	t := &table{band: []string{"", ""}, header: []string{"by " + kind, "cases"}}
	for _, m := range briefMetrics {
		for i := range r.Rankers {
			title := ""
			if i == 0 {
				title = m.name
			}
			t.band = append(t.band, title)
			t.header = append(t.header, r.Rankers[i].Name)
		}
	}
	for g, group := range of(&r.Rankers[0]) {
		row := []string{group.Name, fmt.Sprint(group.Cases)}
		for _, m := range briefMetrics {
			for i := range r.Rankers {
				row = append(row, m.of(&of(&r.Rankers[i])[g].Summary).String())
			}
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// fullTable has one row a group and ranker and one column a metric.
func (r *Report) fullTable(kind string, of func(*RankerReport) []Group) *table {
	t := &table{header: []string{"by " + kind + ", all", "ranker"}, left: 2}
	for _, m := range allMetrics {
		t.header = append(t.header, m.short)
	}
	for g := range of(&r.Rankers[0]) {
		for i := range r.Rankers {
			group := &of(&r.Rankers[i])[g]
			name := ""
			if i == 0 {
				name = group.Name
			}
			row := []string{name, r.Rankers[i].Name}
			for _, m := range allMetrics {
				row = append(row, m.of(&group.Summary).String())
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}

// WriteMisses lists the cases that the ranker got wrong, for whoever wants to mend it: answerable ones of which a relevant
// document is missing from the first five, and unanswerable ones that were not met with silence.
func (r *RankerReport) WriteMisses(w io.Writer) error {
	var b strings.Builder
	for i := range r.Answers {
		a := &r.Answers[i]
		switch {
		case len(a.Relevant) == 0 && a.Score.Silent == 0:
			fmt.Fprintf(&b, "%s [%s %s]: answered %s, should be silent\n", a.Case, a.Slice, a.Lang, listed(a.Ranked))
		case len(a.Relevant) > 0 && a.Score.Recall5 < 1:
			fmt.Fprintf(&b, "%s [%s %s]: wanted %s, got %s\n", a.Case, a.Slice, a.Lang, listed(a.Relevant), listed(a.Ranked))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write misses: %w", err)
	}
	return nil
}

func listed(ids []string) string {
	if len(ids) == 0 {
		return "nothing"
	}
	return strings.Join(ids, ", ")
}

// table lays out cells in columns: the first `left` ones (at least one) flush left, the others flush right. A band is a row
// above the header whose titles may run over the empty cells to their right.
type table struct {
	band, header []string
	rows         [][]string
	left         int
}

func (t *table) write(b *strings.Builder) {
	width := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	b.WriteByte('\n')
	if t.band != nil {
		t.writeBand(b, width)
	}
	for _, row := range append([][]string{t.header}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if i < max(t.left, 1) {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func (t *table) writeBand(b *strings.Builder, width []int) {
	var line strings.Builder
	at := 0
	for i, title := range t.band {
		if title != "" {
			line.WriteString(strings.Repeat(" ", max(at-line.Len(), 0)) + title)
		}
		at += width[i] + 2
	}
	b.WriteString(line.String() + "\n")
}
