package lsp

import (
	"context"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/memory"
)

// The language features answer about files of served roots only, with null for
// all others, so that a general server for Markdown can stand beside this one.

// documentParams are the params of a request about a document.
type documentParams struct {
	TextDocument textDocument `json:"textDocument"`
}

// positionParams are the params of a request about a place in a document.
type positionParams struct {
	TextDocument textDocument `json:"textDocument"`
	Position     Position     `json:"position"`
}

func (p *documentParams) where() string { return p.TextDocument.URI }
func (p *positionParams) where() string { return p.TextDocument.URI }

// located are params that name a document.
type located[P any] interface {
	*P
	where() string
}

// onPage makes a request about one document that answers null for one that is in
// no served root.
func onPage[P any, L located[P]](f *features, serve func(context.Context, *page, *P) (any, error)) Method {
	return newPageCall(f, func(p *P) string { return L(p).where() }, nil, serve)
}

// registerLanguage adds the requests of the language features.
func (f *features) registerLanguage() error {
	for name, m := range map[string]Method{
		"textDocument/completion":     onPage(f, f.completion),
		"completionItem/resolve":      NewCall(f.resolveCompletion),
		"textDocument/hover":          onPage(f, f.hover),
		"textDocument/definition":     onPage(f, f.definition),
		"textDocument/references":     onPage(f, f.references),
		"textDocument/documentLink":   onPage(f, f.documentLinks),
		"textDocument/documentSymbol": onPage(f, f.documentSymbols),
		"workspace/symbol":            NewCall(f.workspaceSymbols),
		"textDocument/foldingRange":   onPage(f, f.foldingRanges),
		"textDocument/selectionRange": onPage(f, f.selectionRanges),
		"textDocument/prepareRename":  onPage(f, f.prepareRename),
		"textDocument/rename":         onPage(f, f.rename),
		"workspace/willRenameFiles":   NewCall(f.willRenameFiles),
		"textDocument/codeAction":     onPage(f, f.codeActions),
		"codeAction/resolve":          NewOrderedCall(f.resolveAction),
		"textDocument/codeLens":       onPage(f, f.codeLenses),
		"memory/show":                 NewCall(f.show),
	} {
		if err := f.s.Register(name, m); err != nil {
			return err
		}
	}
	f.s.OnInitialize(f.declareLanguage)
	return f.s.Expect(methodShowDocument, NewAsked[showDocumentParams, showDocumentResult]())
}

// declareLanguage tells the client what the language features can do.
func (f *features) declareLanguage(i *Initialization) error {
	yes := true
	c := i.Capabilities
	c.CompletionProvider = &protocol.CompletionOptions{
		TriggerCharacters: []string{"[", "(", ":", "-", "#", "/"}, ResolveProvider: &yes,
		CompletionItem: &protocol.ServerCompletionItemOptions{LabelDetailsSupport: &yes},
	}
	c.HoverProvider = protocol.Boolean(true)
	c.DefinitionProvider = protocol.Boolean(true)
	c.ReferencesProvider = protocol.Boolean(true)
	c.DocumentLinkProvider = &protocol.DocumentLinkOptions{}
	c.DocumentSymbolProvider = protocol.Boolean(true)
	c.WorkspaceSymbolProvider = protocol.Boolean(true)
	c.FoldingRangeProvider = protocol.Boolean(true)
	c.SelectionRangeProvider = protocol.Boolean(true)
	if i.Client.Support.CodeActions {
		c.CodeActionProvider = &protocol.CodeActionOptions{
			CodeActionKinds: []protocol.CodeActionKind{protocol.CodeActionKindQuickFix, protocol.CodeActionKindRefactor, protocol.CodeActionKindSource},
			ResolveProvider: &yes,
		}
	}
	c.CodeLensProvider = &protocol.CodeLensOptions{}
	c.RenameProvider = protocol.Boolean(true)
	if i.Client.Support.PrepareRename {
		c.RenameProvider = &protocol.RenameOptions{PrepareProvider: &yes}
	}
	if c.Workspace == nil {
		c.Workspace = &protocol.WorkspaceOptions{}
	}
	c.Workspace.FileOperations = &protocol.FileOperationOptions{
		WillRename: protocol.FileOperationRegistrationOptions{Filters: renameFilters()},
	}
	return nil
}

// renameFilters ask to be told of renames of Markdown files and of folders.
func renameFilters() []protocol.FileOperationFilter {
	scheme, fold := "file", true
	return []protocol.FileOperationFilter{
		{Scheme: &scheme, Pattern: protocol.FileOperationPattern{
			Glob: "**/*.md", Matches: protocol.FileOperationPatternKindFile, Options: &protocol.FileOperationPatternOptions{IgnoreCase: &fold},
		}},
		{Scheme: &scheme, Pattern: protocol.FileOperationPattern{Glob: "**", Matches: protocol.FileOperationPatternKindFolder}},
	}
}

// support is what the client can do.
func (f *features) support() Support { return f.s.Client().Support }

// rangeOf is the range of a span of the page's text.
func (p *page) rangeOf(s memory.Span) protocol.Range { return protocolRange(p.at.rangeOf(s)) }

func protocolRange(r Range) protocol.Range {
	return protocol.Range{
		Start: protocol.Position{Line: r.Start.Line, Character: r.Start.Character},
		End:   protocol.Position{Line: r.End.Line, Character: r.End.Character},
	}
}

// link is the link of the page that an offset lies in or at the end of.
func (p *page) link(offset int) (memory.Link, bool) {
	for _, l := range p.links() {
		if l.Span.Start <= offset && offset <= l.Span.End && l.Span.Len() > 0 {
			return l, true
		}
	}
	return memory.Link{}, false
}

// resolve is the memory that a link of the page leads to.
func (p *page) resolve(l memory.Link) (*memory.Document, bool) {
	return memory.Resolve(p.snap, p.doc, l.Target)
}

// pageFor is the page of a memory as the client has it, or as it is saved.
func (f *features) pageFor(snap *memory.Snapshot, d *memory.Document) (*page, bool) {
	path := pathOf(d, d.Root.Path)
	name, b := uriOf(d), f.overlays.get(path)
	if b != nil {
		name = b.uri
	}
	return f.pageIn(snap, name, path, b)
}
