package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memls/memls/memory"
	"github.com/memls/memls/recall"
	"github.com/memls/memls/recall/eval"
)

const (
	benchQueries   = 300
	benchRescans   = 3
	benchUpdates   = 50
	maxSynthetic   = 1_000_000
	benchImageWait = 10 * time.Minute
)

type benchFlags struct {
	roots     rootFlags
	synthetic int
	rounds    int
	json      bool
}

func (p *program) benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast memls is on this machine, over your memories",
		Long: `bench reads the memories and measures, in this process and on this machine:

  fast      from a question to the fast result, for 300 questions made of the
            words of the memories, several rounds
  rescan    what a recall costs that reads and scores every file each time, as
            an agent without an index does; crossover is from how many memories
            on that takes longer than the fast result does here
  read      reading, parsing and indexing every file
  restart   the same start from an image of what was read before: until it
            answers, and until every file has been looked at
  update    taking up one changed memory, without reading the file
  memory    what a memory takes on the heap: its text, and the index

Nothing is changed: images go into a temporary directory. --synthetic makes
invented memories of about 2 KB instead. Other programs that run meanwhile show
in the figures; look at medians and ratios.

--json prints one object: memories, bytes, fast {queries, answered, p50Ms,
p95Ms, p99Ms, maxMs}, rescan {medianMs, ratio, crossover}, readMs, restart
{imageBytes, answersMs, sweptMs, ratio}, update {p50Ms, p99Ms}, heap
{documentBytes, indexBytes}, go, system, cpus.
` + rootHelp + exitHelp,
		Example: `  memls bench
  memls bench --root .memory --json
  memls bench --synthetic 10000`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return worked(p.bench(cmd.Context(), &f)) },
	}
	f.roots.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.synthetic, "synthetic", 0, fmt.Sprintf("measure over `N` invented memories, 1 to %d", maxSynthetic))
	flags.IntVar(&f.rounds, "rounds", 5, "ask every question `N` times")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("root", "synthetic")
	return cmd
}

// benchReport is what --json prints.
type benchReport struct {
	Memories int          `json:"memories"`
	Bytes    int64        `json:"bytes"` // of all texts
	Fast     benchFast    `json:"fast"`
	Rescan   benchRescan  `json:"rescan"`
	ReadMs   float64      `json:"readMs"`
	Restart  benchRestart `json:"restart"`
	Update   benchUpdate  `json:"update"`
	Heap     benchHeap    `json:"heap"`
	Go       string       `json:"go"`
	System   string       `json:"system"`
	CPUs     int          `json:"cpus"`
}

type benchFast struct {
	Queries  int     `json:"queries"`
	Answered int     `json:"answered"` // of them, with at least one memory
	P50      float64 `json:"p50Ms"`
	P95      float64 `json:"p95Ms"`
	P99      float64 `json:"p99Ms"`
	Max      float64 `json:"maxMs"`
}

type benchRescan struct {
	Median float64 `json:"medianMs"`
	Ratio  float64 `json:"ratio"` // to the median of the fast result
	// Crossover is the number of memories at which a rescan takes as long as the
	// fast result does now, when it takes the same time for each.
	Crossover int `json:"crossover"`
}

type benchRestart struct {
	ImageBytes int64   `json:"imageBytes"`
	Answers    float64 `json:"answersMs"`
	Swept      float64 `json:"sweptMs"`
	Ratio      float64 `json:"ratio"` // of a full read to it
}

type benchUpdate struct {
	P50 float64 `json:"p50Ms"`
	P99 float64 `json:"p99Ms"`
}

type benchHeap struct {
	DocumentBytes int `json:"documentBytes"` // a memory, each
	IndexBytes    int `json:"indexBytes"`
}

func (p *program) bench(ctx context.Context, f *benchFlags) (err error) {
	if f.synthetic < 0 || f.synthetic > maxSynthetic {
		return usagef("--synthetic %d is not within 1 to %d", f.synthetic, maxSynthetic)
	}
	if f.rounds < 1 || f.rounds > 1000 {
		return usagef("--rounds %d is not within 1 to 1000", f.rounds)
	}
	o, configs, err := p.benchRoots(ctx, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	state, remove, err := tempState()
	if err != nil {
		return err
	}
	o.ends = append(o.ends, remove)
	r := benchReport{Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU()}
	b := bench{configs: configs, state: state}
	if err := b.run(ctx, &r, f.rounds); err != nil {
		return err
	}
	if f.json {
		enc := json.NewEncoder(p.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	return p.print(r.page())
}

// benchRoots are the roots that are measured. They are opened once, so that what
// cannot be read is told as by any other command.
func (p *program) benchRoots(ctx context.Context, f *benchFlags) (*opened, []memory.RootConfig, error) {
	log := slog.New(slog.DiscardHandler)
	if f.synthetic > 0 {
		roots, remove, err := writeSynthetic(f.synthetic)
		if err != nil {
			return nil, nil, err
		}
		return &opened{ends: []func() error{remove}}, roots, nil
	}
	o, err := p.open(ctx, &f.roots, scanners(log), log)
	if err != nil {
		return nil, nil, err
	}
	if o.snap.Len() == 0 {
		return nil, nil, errors.Join(failure(errors.New("there is no memory to measure with; try --synthetic 1000")), o.close())
	}
	var configs []memory.RootConfig
	for _, r := range o.status {
		if !r.Root.Untrusted && r.Root.Refused == "" {
			configs = append(configs, memory.RootConfig{Scope: r.Root.Scope, Path: r.Root.Path})
		}
	}
	return o, configs, nil
}

// bench measures over some roots.
type bench struct {
	configs []memory.RootConfig
	state   string // a directory for images
}

func (b *bench) run(ctx context.Context, r *benchReport, rounds int) error {
	if err := b.first(ctx, r, rounds); err != nil {
		return err
	}
	runtime.GC() // a process that starts has no heap to look through
	again, took, err := b.start(ctx, memory.ImageOptions{State: b.state})
	if err != nil {
		return err
	}
	r.Restart.Answers, r.Restart.Swept = milli(took.answers), milli(took.swept)
	r.Restart.Ratio = r.ReadMs / max(r.Restart.Swept, 1e-6)
	r.Restart.ImageBytes, err = treeBytes(b.state)
	return errors.Join(err, again.stop())
}

// first reads everything, measures what needs no second start, and leaves images.
func (b *bench) first(ctx context.Context, r *benchReport, rounds int) (err error) {
	written := make(chan struct{}, len(b.configs))
	full, took, err := b.start(ctx, memory.ImageOptions{
		State: b.state, Write: true, Least: 1, Every: time.Hour, Quiet: time.Millisecond, Written: func(*memory.Root) { written <- struct{}{} },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, full.stop()) }()
	r.ReadMs = milli(took.swept)
	snap := full.catalog.Snapshot()
	docs := slices.SortedFunc(snap.All(), func(x, y *memory.Document) int { return strings.Compare(x.Ref, y.Ref) })
	r.Memories = len(docs)
	for _, d := range docs {
		r.Bytes += int64(len(d.Text))
	}
	queries := benchAsk(docs)
	if err := r.fast(ctx, recall.IndexOf(snap), queries, rounds); err != nil {
		return err
	}
	r.rescan(docs, queries)
	r.heap(docs)
	r.update(docs)
	for _, root := range snap.Roots() {
		if root.Catalogued == 0 {
			continue
		}
		select {
		case <-written:
		case <-time.After(benchImageWait):
			return errors.New("no image was written")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// benchStart is how long a start took until it could answer, and until every file had
// been looked at.
type benchStart struct{ answers, swept time.Duration }

type benchCatalog struct {
	catalog *memory.Catalog
	stop    func() error
}

func (b *bench) start(ctx context.Context, images memory.ImageOptions) (*benchCatalog, benchStart, error) {
	var took benchStart
	began := time.Now()
	log := slog.New(slog.DiscardHandler)
	c, err := memory.NewCatalog(memory.CatalogOptions{
		Roots: b.configs, Watch: scanners(log), Index: recall.NewIndexer(), Log: log, Images: images,
	})
	if err != nil {
		return nil, took, fmt.Errorf("open the memory: %w", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(running) }()
	out := &benchCatalog{c, func() error { cancel(); return <-ended }}
	for changed := c.Changed(); c.Snapshot().Len() == 0 && c.Snapshot().Loading(); changed = c.Changed() {
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, took, errors.Join(ctx.Err(), out.stop())
		}
	}
	if _, err := recall.IndexOf(c.Snapshot()).RankFast(ctx, recall.Query{Text: "memory", Now: began}); err != nil {
		return nil, took, errors.Join(err, out.stop())
	}
	took.answers = time.Since(began)
	if err := c.Ready(ctx); err != nil {
		return nil, took, errors.Join(err, out.stop())
	}
	took.swept = time.Since(began)
	return out, took, nil
}

// benchAsk makes questions of the words of memories, of common ones and of rare ones.
func benchAsk(docs []*memory.Document) []string {
	n := min(len(docs), benchQueries)
	queries := make([]string, 0, n)
	for i := range n {
		d := docs[i*len(docs)/n]
		words := strings.Fields(d.Title)
		words = words[:min(len(words), 3)]
		body := strings.Fields(d.BodyText())
		for _, at := range []int{0, 17, 40, 77} {
			if i%2 == 0 && at < len(body) {
				words = append(words, body[at])
			}
		}
		queries = append(queries, "how do we handle "+strings.Join(words, " "))
	}
	return queries
}

func (r *benchReport) fast(ctx context.Context, ix *recall.Index, queries []string, rounds int) error {
	r.Fast.Queries = len(queries)
	lat := make([]time.Duration, 0, rounds*len(queries))
	for round := range rounds + 1 {
		for _, q := range queries {
			began := time.Now()
			got, err := ix.RankFast(ctx, recall.Query{Text: q, Now: began})
			took := time.Since(began)
			switch {
			case err != nil:
				return err
			case round > 0:
				lat = append(lat, took)
			case len(got.Hits) > 0:
				r.Fast.Answered++
			}
		}
	}
	slices.Sort(lat)
	at := func(percent int) float64 { return milli(lat[min(len(lat)*percent/100, len(lat)-1)]) }
	r.Fast.P50, r.Fast.P95, r.Fast.P99, r.Fast.Max = at(50), at(95), at(99), at(100)
	return nil
}

// rescan reads and scores every file for each recall, with the frozen copy of the
// scorer that qwen-code ships.
func (r *benchReport) rescan(docs []*memory.Document, queries []string) {
	var took []time.Duration
	for i := range benchRescans {
		began := time.Now()
		list := make([]eval.Doc, 0, len(docs))
		for _, d := range docs {
			raw, err := os.ReadFile(filepath.Join(d.Root.Real, filepath.FromSlash(d.Rel)))
			if err != nil {
				continue // gone since
			}
			m := memory.Parse(raw)
			list = append(list, eval.Doc{ID: d.Ref, Title: m.Title, Description: m.Description, Type: m.Type, Body: m.BodyText()})
		}
		eval.NewQwenCode(list).Rank(queries[i%len(queries)], recall.MaxRelevantDocs)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	r.Rescan.Median = milli(took[len(took)/2])
	r.Rescan.Ratio = r.Rescan.Median / max(r.Fast.P50, 1e-6)
	r.Rescan.Crossover = max(1, int(r.Fast.P50/(r.Rescan.Median/float64(len(docs)))+0.5))
}

// heap weighs copies of the documents and an index of them.
func (r *benchReport) heap(docs []*memory.Document) {
	before := heapInUse()
	parsed := make([]*memory.Document, len(docs))
	for i, d := range docs {
		parsed[i] = memory.Parse([]byte(d.Text))
		parsed[i].Root, parsed[i].Rel, parsed[i].Ref, parsed[i].Version = d.Root, strings.Clone(d.Rel), strings.Clone(d.Ref), strings.Clone(d.Version)
	}
	documents := heapInUse()
	ix := recall.NewIndexer().Update(nil, nil, parsed)
	index := heapInUse()
	r.Heap.DocumentBytes = int((documents - before) / float64(len(docs)))
	r.Heap.IndexBytes = int((index - documents) / float64(len(docs)))
	runtime.KeepAlive(ix)
	runtime.KeepAlive(parsed)
}

func heapInUse() float64 {
	runtime.GC()
	runtime.GC() // what pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// update takes up one changed memory at a time, in an index of its own.
func (r *benchReport) update(docs []*memory.Document) {
	in := recall.NewIndexer()
	ix := in.Update(nil, nil, docs)
	var took []time.Duration
	for i := range benchUpdates {
		old := docs[i*len(docs)/benchUpdates]
		next := *old
		began := time.Now()
		ix = in.Update(ix, []*memory.Document{old}, []*memory.Document{&next})
		took = append(took, time.Since(began))
		docs[i*len(docs)/benchUpdates] = &next
	}
	in.Wait()
	slices.Sort(took)
	r.Update.P50, r.Update.P99 = milli(took[len(took)/2]), milli(took[len(took)*99/100])
}

func milli(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (r *benchReport) page() *page {
	out := &page{}
	out.printf("%s, %.1f MB of text; %s, %s, %d CPUs\n\n", count(r.Memories, "memory"), float64(r.Bytes)/1e6, r.Go, r.System, r.CPUs)
	f := &r.Fast
	out.printf("fast      %8.3f ms median, %.3f p95, %.3f p99, %.3f at most; %s, %d of them answered\n", f.P50, f.P95, f.P99, f.Max, count(f.Queries, "question"), f.Answered)
	out.printf("rescan    %8.1f ms median: %.0f times the fast result, and as much from %s on\n", r.Rescan.Median, r.Rescan.Ratio, count(r.Rescan.Crossover, "memory"))
	out.printf("read      %8.1f ms\n", r.ReadMs)
	out.printf("restart   %8.1f ms until it answers, %.1f until every file has been looked at: %.1f times faster; image %.1f MB\n",
		r.Restart.Answers, r.Restart.Swept, r.Restart.Ratio, float64(r.Restart.ImageBytes)/1e6)
	out.printf("update    %8.3f ms median, %.3f p99\n", r.Update.P50, r.Update.P99)
	out.printf("memory    %8d bytes a memory: %d text and fields, %d index\n", r.Heap.DocumentBytes+r.Heap.IndexBytes, r.Heap.DocumentBytes, r.Heap.IndexBytes)
	return out
}
