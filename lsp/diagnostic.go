package lsp

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// diagnosticSource is what the client shows beside a diagnostic.
const diagnosticSource = "memls"

// maxDiagnostics bounds what is said of one file: who has that many reads no
// more of them.
const maxDiagnostics = 200

// The codes of diagnostics that are not [memory.Problem]s: what a file lacks or
// names, beside what is wrong with it. Like those they are stable.
const (
	codeNoDescription = "description-missing" // a header without a description
	codeNoType        = "type-missing"        // a header without a type, in a folder that implies none
	codeSecret        = "secret-in-memory"    // what looks like a credential
	codeBrokenLink    = "link-broken"         // a link to a memory that there is not
	codeNotRead       = "not-read"            // the file is on disk and not catalogued
)

// diagnostic is LSP's Diagnostic, as far as memls fills it.
type diagnostic struct {
	Range    Range  `json:"range"`
	Severity int    `json:"severity"`
	Code     string `json:"code"`
	Source   string `json:"source"`
	Message  string `json:"message"`
}

// diagnosticParams are LSP's DocumentDiagnosticParams.
type diagnosticParams struct {
	TextDocument     textDocument `json:"textDocument"`
	PreviousResultID string       `json:"previousResultId"`
}

// diagnosticReport is LSP's full or unchanged document diagnostic report.
type diagnosticReport struct {
	Kind     string       `json:"kind"` // full, unchanged
	ResultID string       `json:"resultId,omitzero"`
	Items    []diagnostic `json:"items,omitzero"`
}

// editing is what is known of the documents that the client has open.
type editing struct {
	overlays  *overlays
	publisher *publisher
	anchors   *anchors
	reporting sync.Once
}

// registerEditing registers what an editor asks about the documents that it has
// open.
func (f *features) registerEditing() error {
	f.overlays, f.publisher, f.anchors = newOverlays(), newPublisher(), newAnchors()
	if err := f.registerTextSync(); err != nil {
		return err
	}
	f.s.OnInitialize(func(i *Initialization) error {
		i.Capabilities.DiagnosticProvider = &protocol.DiagnosticOptions{InterFileDependencies: true, WorkspaceDiagnostics: true}
		return nil
	})
	f.s.OnReady(f.startDiagnostics)
	if err := f.s.Announce(notifyDiagnostics, NewOutgoing[publishParams]()); err != nil {
		return err
	}
	if err := f.s.Expect(askLensRefresh, NewAsked[nothing, any]()); err != nil {
		return err
	}
	if err := f.s.Expect(askDiagnosticRefresh, NewAsked[nothing, any]()); err != nil {
		return err
	}
	where := func(p *diagnosticParams) string { return p.TextDocument.URI }
	if err := f.s.Register("textDocument/diagnostic", newPageCall(f, where, fullReport(nil), f.diagnostic)); err != nil {
		return err
	}
	return f.s.Register("workspace/diagnostic", NewCall(f.workspaceDiagnostic))
}

// diagnostic serves textDocument/diagnostic.
func (f *features) diagnostic(ctx context.Context, p *page, params *diagnosticParams) (any, error) {
	items := f.diagnose(p)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := fullReport(items)
	if r.ResultID == params.PreviousResultID {
		return diagnosticReport{Kind: "unchanged", ResultID: r.ResultID}, nil
	}
	return r, nil
}

// fullReport names its content, so that it need not be sent again.
func fullReport(items []diagnostic) diagnosticReport {
	if items == nil {
		items = []diagnostic{}
	}
	sum := fnv.New64a()
	for _, d := range items {
		fmt.Fprintf(sum, "%v\x00%d\x00%s\x00%s\x00", d.Range, d.Severity, d.Code, d.Message)
	}
	return diagnosticReport{Kind: "full", ResultID: fmt.Sprintf("%x", sum.Sum64()), Items: items}
}

// diagnose is what there is to say about a page, in order.
func (f *features) diagnose(p *page) []diagnostic {
	if p.Index {
		return f.diagnoseIndex(p)
	}
	problems := slices.Clone(p.doc.Problems)
	problems = append(problems, incomplete(p.doc)...)
	problems = append(problems, notRead(p)...)
	problems = append(problems, secretsIn(p.doc)...)
	if !p.snap.Loading() {
		problems = append(problems, brokenLinks(p)...)
		problems = append(problems, f.deadAnchors(p.snap, p.doc)...)
	}
	return worded(p.at, problems)
}

// diagnoseIndex is where the index of a root and its files say different things.
// That of a folder is nobody's, and while the files are read nothing is known.
func (f *features) diagnoseIndex(p *page) []diagnostic {
	if p.Rel != memory.IndexName || p.snap.Loading() {
		return []diagnostic{}
	}
	x := p.indexFile()
	return worded(p.at, x.Problems(x.Drift(p.snap.Of(p.Root), f.indexOptions(p.Root).Active)))
}

// worded are problems as diagnostics, in the order of their places.
func worded(at *positions, problems []memory.Problem) []diagnostic {
	slices.SortStableFunc(problems, func(a, b memory.Problem) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	out := make([]diagnostic, 0, min(len(problems), maxDiagnostics+1))
	for i, problem := range problems {
		if i == maxDiagnostics {
			problem = memory.Problem{
				Span: problem.Span, Code: memory.ProblemMoreProblems, Severity: memory.SeverityInfo,
				Message: fmt.Sprintf("%d more problems", len(problems)-i),
			}
		}
		out = append(out, diagnostic{
			Range: at.rangeOf(problem.Span), Severity: int(problem.Severity), Code: problem.Code,
			Source: diagnosticSource, Message: problem.Message,
		})
		if i == maxDiagnostics {
			break
		}
	}
	return out
}

// incomplete is what a header lacks that recall ranks and filters by. A plain
// note lacks nothing, and of a header that cannot be read enough is said.
func incomplete(d *memory.Document) (out []memory.Problem) {
	if d.Header.Len() == 0 || d.Body.Len() == 0 || slices.ContainsFunc(d.Problems, func(p memory.Problem) bool {
		return strings.HasPrefix(p.Code, "frontmatter-")
	}) {
		return nil
	}
	fence := memory.Span{Start: d.Header.Start, End: d.Header.Start + len("---")}
	if d.Description == "" && !meant(d, "description") {
		out = append(out, memory.Problem{Span: fence, Code: codeNoDescription, Severity: memory.SeverityInfo,
			Message: "without a description this memory is found by its name and its text alone"})
	}
	if d.Type == "" && !meant(d, "type") {
		out = append(out, memory.Problem{Span: fence, Code: codeNoType, Severity: memory.SeverityInfo,
			Message: "without a type (user, feedback, project, reference) this memory is left out where types are asked for"})
	}
	return out
}

// meant tells whether a header has a key that is most likely a misspelling of
// another.
func meant(d *memory.Document, key string) bool {
	return slices.ContainsFunc(d.Problems, func(m memory.Problem) bool {
		if m.Code != memory.ProblemKey {
			return false
		}
		written, _, colon := strings.Cut(d.Text[m.Span.Start:m.Span.End], ":")
		return colon && keyName(written) == key || memory.NearestKey(keyName(written)) == key
	})
}

// secretsIn are the credentials that stand in a memory: it is given to agents,
// and with them to models. Neither the value nor a part of it is shown.
func secretsIn(d *memory.Document) (out []memory.Problem) {
	for _, s := range memory.FindSecrets(d.Text) {
		out = append(out, memory.Problem{Span: s.Span, Code: codeSecret, Severity: memory.SeverityWarning,
			Message: "this looks like a credential (" + s.Rule + "); what stands in a memory is given to agents and models"})
	}
	return out
}

// notRead says why a file that is there is not recalled.
func notRead(p *page) []memory.Problem {
	if p.saved != nil {
		return nil
	}
	for _, r := range p.snap.Roots() {
		if r.Root.Real != p.Root.Real {
			continue
		}
		for _, s := range r.Skipped {
			if s.Path == p.Rel || strings.HasPrefix(p.Rel, s.Path+"/") {
				return []memory.Problem{{Code: codeNotRead, Severity: memory.SeverityError, Message: "this file is not recalled: " + s.Reason}}
			}
		}
	}
	return nil
}

// brokenLinks are the links to memories that there are not. A wikilink may be
// meant for a memory that is still to be written; a path is not.
func brokenLinks(p *page) (out []memory.Problem) {
	known := map[string]bool{}
	for i, l := range memory.Links(p.doc) {
		if i == maxLinks {
			break
		}
		found, seen := known[l.Target]
		if !seen {
			found = leadsSomewhere(p, l)
			known[l.Target] = found
		}
		if found {
			continue
		}
		severity := memory.SeverityInfo
		if l.Kind == memory.LinkMarkdown {
			severity = memory.SeverityWarning
		}
		span := l.TargetSpan
		if span.Len() == 0 {
			span = l.Span
		}
		out = append(out, memory.Problem{Span: span, Code: codeBrokenLink, Severity: severity,
			Message: fmt.Sprintf("there is no memory %q in this root", short(memory.CleanLine(l.Target)))})
	}
	return out
}

// leadsSomewhere tells whether a link leads to a memory or to what is none: an
// index, a file of another kind, or a file outside of the root.
func leadsSomewhere(p *page, l memory.Link) bool {
	if _, ok := memory.Resolve(p.snap, p.doc, l.Target); ok {
		return true
	}
	if ref, err := memory.ParseRef(l.Target); err == nil {
		_, ok := p.snap.Get(ref.File())
		return ok
	}
	target := path.Join(path.Dir(p.Rel), l.Target)
	if strings.HasPrefix(l.Target, "/") {
		target = strings.TrimLeft(l.Target, "/")
	}
	switch {
	case path.Base(target) == memory.IndexName || strings.TrimSuffix(memory.IndexName, ".md") == l.Target:
		return true
	case l.Kind == memory.LinkWiki || l.Kind == memory.LinkSupersedes:
		return false
	}
	return target == ".." || strings.HasPrefix(target, "../") || !strings.EqualFold(path.Ext(target), ".md")
}
