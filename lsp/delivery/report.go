package delivery

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what a host would have had.
type Report struct {
	Cases int   `json:"cases"`
	Rows  []Row `json:"rows"`
	// Waits are how long the start of a turn with pull delivery was kept waiting.
	Waits []Wait `json:"waits"`
	// Baseline is the share of the answerable cases of which the fast path of the
	// design that memls starts from, in a frozen copy, has a right memory at once.
	Baseline float64 `json:"baseline"`
	// Missed are the ids of the lexically answerable cases whose fast result
	// held no right memory, or came too late, at any latency.
	Missed []string `json:"missed"`
}

// miss notes which lexically answerable cases the fast results left without an answer.
func (r *Report) miss(opt *Options, seen []observation) {
	for i, c := range opt.Cases {
		initial, _ := requests(&seen[i], opt.InitialWait, true, false)
		if c.Lexical && overlap(initial, c.Relevant) == 0 && !slices.Contains(r.Missed, c.ID) {
			r.Missed = append(r.Missed, c.ID)
		}
	}
}

// Row is one selector latency, one way to deliver and one kind of turn. Shares
// are 0 to 1.
type Row struct {
	LatencyMs int64  `json:"latencyMs"`
	Mode      string `json:"mode"` // push: results as notifications; pull: the host takes them
	Path      string `json:"path"` // "fast": the fast result, then the refined; "single": the refined one only, as a host without fast results has it
	Tools     bool   `json:"tools"`

	FirstTurn  float64 `json:"firstTurn"`  // of the lexically answerable cases: a right memory was in the first request
	Any        float64 `json:"any"`        // of all answerable cases: a right memory was in some request of the turn
	Duplicates int     `json:"duplicates"` // memories delivered twice in a turn
	Overlap    int     `json:"overlap"`    // documents that stand in both the fast and the refined result of a recall
	Silent     float64 `json:"silent"`     // of the unanswerable cases: no request carried a memory

	FastP50Ms float64 `json:"fastP50Ms"` // request to fast notification; 0 with pull
	FastP99Ms float64 `json:"fastP99Ms"`
}

// The modes and paths of rows.
const (
	ModePush   = "push"
	ModePull   = "pull"
	PathFast   = "fast"
	PathSingle = "single"
)

// reckon derives the four rows of a latency. A turn without tools has one
// request, sent when the fast result is there or the wait is over. A turn with
// tools has further ones, and one of them comes after the refined result.
func reckon(opt *Options, seen []observation, latency time.Duration) []Row {
	var rows []Row
	for _, path := range []string{PathSingle, PathFast} {
		for _, tools := range []bool{false, true} {
			rows = append(rows, row(opt, seen, latency, path == PathFast, tools))
		}
	}
	return rows
}

func row(opt *Options, seen []observation, latency time.Duration, fast, tools bool) Row {
	r := Row{LatencyMs: latency.Milliseconds(), Mode: ModePush, Path: PathSingle, Tools: tools}
	if fast {
		r.Path = PathFast
	}
	r.fill(opt, func(i int) (initial, later []string) { return requests(&seen[i], opt.InitialWait, fast, tools) })
	for i := range seen {
		r.Overlap += overlap(seen[i].fast, seen[i].refined)
	}
	r.FastP50Ms, r.FastP99Ms = fastPercentiles(seen)
	return r
}

// fill reckons a row from what the first request of each case's turn and its
// later ones carried.
func (r *Row) fill(opt *Options, requests func(i int) (initial, later []string)) {
	var lexical, first, answerable, reached, unanswerable, silent int
	for i, c := range opt.Cases {
		initial, later := requests(i)
		r.Duplicates += repeats(append(slices.Clone(initial), later...))
		switch {
		case len(c.Relevant) == 0:
			unanswerable++
			if len(initial)+len(later) == 0 {
				silent++
			}
			continue
		case c.Lexical:
			lexical++
			if overlap(initial, c.Relevant) > 0 {
				first++
			}
		}
		answerable++
		if overlap(initial, c.Relevant)+overlap(later, c.Relevant) > 0 {
			reached++
		}
	}
	r.FirstTurn, r.Any, r.Silent = share(first, lexical), share(reached, answerable), share(silent, unanswerable)
}

// baseline is the share of the answerable cases that the baseline answers at once.
func baseline(opt *Options) float64 {
	var answerable, first int
	for _, c := range opt.Cases {
		if len(c.Relevant) == 0 {
			continue
		}
		answerable++
		if overlap(c.Baseline, c.Relevant) > 0 {
			first++
		}
	}
	return share(first, answerable)
}

// requests tells what the first request carried and what later ones did. A host
// sends its first request as soon as it has a fast result with a memory, and
// waits for the refined one no longer than wait. On the single path the
// refined result is all there is: what the server sent early stands in it too,
// as far as it was not retracted.
func requests(o *observation, wait time.Duration, fast, tools bool) (initial, later []string) {
	settled := o.refined
	if !fast {
		settled = slices.DeleteFunc(slices.Clone(o.fast), func(ref string) bool { return slices.Contains(o.retracted, ref) })
		settled = append(settled, o.refined...)
	}
	if fast && len(o.fast) > 0 && o.fastAt <= wait {
		initial = o.fast
	}
	switch {
	case len(initial) == 0 && o.refinedAt <= wait:
		initial = settled
	case tools:
		later = settled
	}
	return initial, later
}

func repeats(refs []string) int {
	slices.Sort(refs)
	return len(refs) - len(slices.Compact(refs))
}

func overlap(a, b []string) int {
	n := 0
	for _, x := range a {
		if slices.Contains(b, x) {
			n++
		}
	}
	return n
}

// share is part of whole; of nothing, all is right.
func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

func fastPercentiles(seen []observation) (p50, p99 float64) {
	times := make([]time.Duration, len(seen))
	for i := range seen {
		times[i] = seen[i].fastAt
	}
	if len(times) == 0 {
		return 0, 0
	}
	slices.Sort(times)
	return milliseconds(times[len(times)/2]), milliseconds(times[len(times)*99/100])
}

// WriteText prints the report as a table.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "delivery: %d cases; the selector is right, and slow\n\n", r.Cases)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "selector\tmode\tresults\ttools\tin first request\tin any request\ttwice\toverlap\tsilent\tfast p50 ms\tp99 ms\t")
	for _, row := range r.Rows {
		tools := "no"
		if row.Tools {
			tools = "yes"
		}
		times := "\t\t"
		if row.Mode == ModePush {
			times = fmt.Sprintf("%.1f\t%.1f\t", row.FastP50Ms, row.FastP99Ms)
		}
		fmt.Fprintf(t, "%d ms\t%s\t%s\t%s\t%.1f %%\t%.1f %%\t%d\t%d\t%.1f %%\t%s\n", row.LatencyMs, row.Mode, row.Path, tools,
			100*row.FirstTurn, 100*row.Any, row.Duplicates, row.Overlap, 100*row.Silent, times)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the delivery report: %w", err)
	}
	b.WriteString("\n\"fast\" hands over the fast result and then the refined one; \"single\" has the refined one only. In first request: of the\nqueries that share a word with their answer. In any request: of all that have an answer. Silent: of those that have none.\n")
	fmt.Fprintf(&b, "The fast path of qwen-code 0.24.4, in a frozen copy, has a right memory at once for %.1f %% of all that have an answer.\n", 100*r.Baseline)
	if err := r.writeWaits(&b); err != nil {
		return err
	}
	if len(r.Missed) > 0 {
		fmt.Fprintf(&b, "\nNot in the first request although they share a word: %s.\n", strings.Join(r.Missed, ", "))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print the delivery report: %w", err)
	}
	return nil
}

// writeWaits prints how long turns with pull delivery waited at their start.
func (r *Report) writeWaits(b *strings.Builder) error {
	b.WriteString("\nHow long memory/consume kept the start of a turn waiting:\n\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "selector\tfast result\tturns\tp50 ms\tp99 ms\tmost ms\t")
	for _, w := range r.Waits {
		fast := "none"
		if w.Fast {
			fast = "yes"
		}
		fmt.Fprintf(t, "%d ms\t%s\t%d\t%.1f\t%.1f\t%.1f\t\n", w.LatencyMs, fast, w.Turns, w.P50Ms, w.P99Ms, w.MaxMs)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the delivery report: %w", err)
	}
	return nil
}
