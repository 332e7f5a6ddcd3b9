package lsp

import (
	"context"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

const methodDiagnostic = "textDocument/diagnostic"

// diagnosticSource is what the client shows beside a diagnostic.
const diagnosticSource = "memls"

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
	TextDocument textDocument `json:"textDocument"`
}

// diagnosticReport is LSP's full document diagnostic report.
type diagnosticReport struct {
	Kind  string       `json:"kind"`
	Items []diagnostic `json:"items"`
}

// registerEditing registers what an editor asks about the documents that it has
// open.
func (f *features) registerEditing() error {
	if err := f.registerTextSync(); err != nil {
		return err
	}
	f.s.OnInitialize(func(i *Initialization) error {
		i.Capabilities.DiagnosticProvider = &protocol.DiagnosticOptions{InterFileDependencies: true}
		return nil
	})
	where := func(p *diagnosticParams) string { return p.TextDocument.URI }
	return f.s.Register(methodDiagnostic, newPageCall(f, where, fullReport(nil), f.diagnostic))
}

// diagnostic serves textDocument/diagnostic.
func (f *features) diagnostic(_ context.Context, p *page, _ *diagnosticParams) (any, error) {
	return fullReport(diagnose(p)), nil
}

func fullReport(items []diagnostic) diagnosticReport {
	return diagnosticReport{Kind: "full", Items: items}
}

// diagnose is what there is to say about a page.
func diagnose(p *page) []diagnostic {
	out := []diagnostic{}
	if p.Index {
		return out
	}
	for _, problem := range p.doc.Problems {
		out = append(out, newDiagnostic(p, problem))
	}
	return out
}

func newDiagnostic(p *page, problem memory.Problem) diagnostic {
	return diagnostic{
		Range: p.at.rangeOf(problem.Span), Severity: int(problem.Severity), Code: problem.Code,
		Source: diagnosticSource, Message: problem.Message,
	}
}

// catalogChanged takes a new revision of the catalog. The catalog's writer calls
// it.
func (f *features) catalogChanged(set memory.ChangeSet) {
	f.changes.add(set)
	f.filesChanged()
}
