package lsp

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Support is what a client can do with the answers of the language features.
type Support struct {
	HoverMarkdown      bool // else plain text
	CompletionMarkdown bool
	LabelDetails       bool // completion items may say more beside their label
	DefinitionLinks    bool
	SymbolTree         bool // document symbols may have children
	CodeActions        bool // as literals with an edit; a client without is given none
	ResolvesEdits      bool // asks for the edit of a code action when it is chosen
	PrepareRename      bool
	WholeLineFolds     bool
	ShowDocument       bool
	DocumentChanges    bool // edits of versioned documents
	Annotations        bool // what an edit does can be said beside it
	CreateFiles        bool
	RenameFiles        bool
}

// support reads what the language features want to know of the client's
// capabilities. Each is decoded by itself: what a client declares in an odd way
// it is taken not to have, and is served all the same.
func (p *initializeParams) support() Support {
	c, workspace, window := &p.Capabilities.TextDocument, &p.Capabilities.Workspace, &p.Capabilities.Window
	completion := capability[struct {
		CompletionItem struct {
			DocumentationFormat []string `json:"documentationFormat"`
			LabelDetailsSupport bool     `json:"labelDetailsSupport"`
		} `json:"completionItem"`
	}](c.Completion).CompletionItem
	hover := capability[struct {
		ContentFormat []string `json:"contentFormat"`
	}](c.Hover)
	action := capability[struct {
		Literals jsontext.Value `json:"codeActionLiteralSupport"`
		Resolve  struct {
			Properties []string `json:"properties"`
		} `json:"resolveSupport"`
		Data bool `json:"dataSupport"`
	}](c.CodeAction)
	edit := capability[struct {
		DocumentChanges bool           `json:"documentChanges"`
		Operations      []string       `json:"resourceOperations"`
		Annotations     jsontext.Value `json:"changeAnnotationSupport"`
	}](workspace.WorkspaceEdit)
	return Support{
		HoverMarkdown:      slices.Contains(hover.ContentFormat, "markdown"),
		CompletionMarkdown: slices.Contains(completion.DocumentationFormat, "markdown"),
		LabelDetails:       completion.LabelDetailsSupport,
		DefinitionLinks: capability[struct {
			Links bool `json:"linkSupport"`
		}](c.Definition).Links,
		SymbolTree: capability[struct {
			Tree bool `json:"hierarchicalDocumentSymbolSupport"`
		}](c.DocumentSymbol).Tree,
		CodeActions:   declared(action.Literals),
		ResolvesEdits: action.Data && slices.Contains(action.Resolve.Properties, "edit"),
		PrepareRename: capability[struct {
			Prepare bool `json:"prepareSupport"`
		}](c.Rename).Prepare,
		WholeLineFolds: capability[struct {
			Lines bool `json:"lineFoldingOnly"`
		}](c.FoldingRange).Lines,
		ShowDocument: capability[struct {
			Support bool `json:"support"`
		}](window.ShowDocument).Support,
		DocumentChanges: edit.DocumentChanges,
		Annotations:     edit.DocumentChanges && declared(edit.Annotations),
		CreateFiles:     edit.DocumentChanges && slices.Contains(edit.Operations, "create"),
		RenameFiles:     edit.DocumentChanges && slices.Contains(edit.Operations, "rename"),
	}
}

// capability decodes one capability; an odd one is the zero value, as if it had
// not been declared.
func capability[T any](raw jsontext.Value) T {
	var v, none T
	if isNull(raw) || json.Unmarshal(raw, &v, lenient) != nil {
		return none
	}
	return v
}
