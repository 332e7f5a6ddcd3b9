package lsp_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/lsp/internal/lsptest"
)

var update = flag.Bool("update", false, "rewrite the golden transcripts")

// encodings are what clients offer; without an offer positions are UTF-16.
var encodings = []string{"utf-8", "utf-16", ""}

// TestEditor runs the scripts of testdata/editor: what a person does in an
// editor, and what the editor gets to see. A script is a txtar archive. Its
// files are written to a directory; its comment holds one act a line; the file
// transcript is what came of them, with every range in words, and is the same in
// each encoding of positions. go test -run TestEditor -update rewrites it.
//
// By default the directory memory is served as a project root to a client that
// trusts the workspace folder work, if there is one, and asks for nothing unusual.
// The acts, of which those up to the first other one configure the client:
//
//	root SCOPE DIR [readonly]    serves these roots instead
//	untrusted                    the client does not trust its folder
//	clock TIME DAYS              the time at which it plays, and the age of the files
//	able                         declares all that the language features make use of
//	capability PATH [JSON]       declares a capability, true by default
//
//	open FILE ['TEXT']           opens a file with its text on disk, or another
//	edit FILE 'OLD' 'NEW'        replaces the first OLD in an open file by NEW
//	insert FILE 'A|B' 'TEXT'     types TEXT between A and B
//	replace FILE 'TEXT'          replaces all of an open file
//	save FILE, close FILE
//	write FILE 'TEXT'            writes a file behind the editor's back, and waits
//	remove FILE                  until the server has seen it
//	diagnostics FILE             shows its diagnostics, once they are of its version
//	await FILE 'TEXT'            waits until its pushed diagnostics contain a text
//	nothing FILE                 wants no diagnostics of it, pushed or pulled
//	request METHOD [FILE ['A|B'] ['..' 'C|D']] [JSON]
//	                             asks about a file, at the place between A and B, up
//	                             to that between C and D, with JSON merged in; shows
//	                             the answer
//	call METHOD [JSON]           asks something else, and shows the answer
//	apply [N]                    does what the last answer, or its item N, edits
//	show FILE                    shows a file as the editor has it
//	recall QUERY                 shows the refs that are delivered
//
// In quotes \n, \r, \t and \u… stand for what they do in Go. The acts of the
// language features are described where they are written.
func TestEditor(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("..", "testdata", "editor", "*.txt"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			for _, encoding := range encodings {
				t.Run("encoding "+encoding, func(t *testing.T) {
					t.Parallel()
					runScript(t, path, encoding)
				})
			}
		})
	}
}

const transcriptName = "transcript"

func runScript(t *testing.T, path, encoding string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t, nil)
	want := ""
	for _, f := range archive.Files {
		if f.Name == transcriptName {
			want = string(f.Data)
			continue
		}
		s.write(f.Name, string(f.Data))
	}
	e := &editor{t: t, store: s, encoding: encoding, trusted: true, capabilities: map[string]any{}, open: map[string]string{}, edition: map[string]int{}}
	for i, line := range strings.Split(string(archive.Comment), "\n") {
		words, err := splitWords(line)
		if err != nil {
			t.Fatalf("%s:%d: %v", path, i+1, err)
		}
		if len(words) == 0 {
			continue
		}
		fmt.Fprintf(&e.out, "> %s\n", strings.TrimSpace(line))
		if err := e.act(words[0], words[1:]); err != nil {
			t.Fatalf("%s:%d: %s: %v", path, i+1, line, err)
		}
	}
	got := e.out.String()
	switch {
	case got == want:
	case *update && encoding == encodings[0]:
		archive.Files = append(slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == transcriptName }),
			txtar.File{Name: transcriptName, Data: []byte(got)})
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s in %q: got\n%s\nwant\n%s", path, encoding, got, want)
	}
}

// splitWords parts a line at blanks outside of quotes. A line that begins with #
// has none.
func splitWords(line string) (words []string, err error) {
	for line = strings.TrimSpace(line); line != "" && line[0] != '#'; line = strings.TrimLeft(line, " \t") {
		if line[0] != '\'' {
			end := strings.IndexAny(line+" ", " \t")
			words, line = append(words, line[:end]), line[end:]
			if strings.HasPrefix(words[len(words)-1], "{") { // JSON goes on to the end
				words[len(words)-1] += line
				return words, nil
			}
			continue
		}
		word, rest, ok := strings.Cut(line[1:], "'")
		if !ok {
			return nil, errors.New("a quote without an end")
		}
		line = rest
		var text string
		if err := json.Unmarshal([]byte(`"`+strings.ReplaceAll(word, `"`, `\"`)+`"`), &text); err != nil {
			return nil, fmt.Errorf("%q: %w", word, err)
		}
		words = append(words, text)
	}
	return words, nil
}

// editor is a fake editor that works through a script.
type editor struct {
	t        testing.TB
	store    store
	encoding string

	roots        []lsp.RootOption
	trusted      bool
	capabilities map[string]any
	now          time.Time // zero: the real one

	desk    *desk
	open    map[string]string // texts by file
	edition map[string]int    // their versions
	version int
	last    any    // the last answer
	about   string // the file that it is about
	out     bytes.Buffer

	items   []map[string]any // of the last completion
	actions []map[string]any // the last code actions
}

// act is what an editor does for a line of a script.
type act struct {
	least int // of its arguments
	do    func(args []string) error
}

func (e *editor) act(verb string, args []string) error {
	acts := map[string]act{
		"root": {2, e.root}, "untrusted": {0, e.untrusted}, "capability": {1, e.capability},
		"open": {1, e.opens}, "edit": {3, e.edits}, "insert": {3, e.inserts}, "replace": {2, e.replaces},
		"save": {1, e.saves}, "close": {1, e.closes}, "write": {2, e.writes}, "remove": {1, e.removes},
		"diagnostics": {1, e.diagnostics}, "nothing": {1, e.nothing}, "await": {2, e.awaits}, "request": {1, e.requests}, "call": {1, e.calls}, "apply": {0, e.applies},
		"show": {1, e.shows}, "recall": {1, e.recalls}, "clock": {2, e.clocks}, "able": {0, e.able},
	}
	maps.Copy(acts, e.readingActs())
	maps.Copy(acts, e.editingActs())
	a, ok := acts[verb]
	if !ok || len(args) < a.least {
		return errors.New("no such act")
	}
	if !slices.Contains([]string{"root", "untrusted", "capability", "clock", "able"}, verb) {
		e.sit()
	}
	return a.do(args)
}

func (e *editor) root(args []string) error {
	e.roots = append(e.roots, lsp.RootOption{Scope: args[0], Path: e.store.path(args[1]), ReadOnly: len(args) > 2})
	return nil
}

func (e *editor) untrusted([]string) error {
	e.trusted = false
	return nil
}

func (e *editor) capability(args []string) error {
	var value any = true
	if len(args) > 1 {
		if err := json.Unmarshal([]byte(args[1]), &value); err != nil {
			return err
		}
	}
	at, path := e.capabilities, strings.Split(args[0], ".")
	for _, key := range path[:len(path)-1] {
		inner, ok := at[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			at[key] = inner
		}
		at = inner
	}
	at[path[len(path)-1]] = value
	return nil
}

// sit starts the server, once.
func (e *editor) sit() {
	e.t.Helper()
	if e.desk != nil {
		return
	}
	if e.roots == nil {
		e.roots = []lsp.RootOption{{Scope: "project", Path: e.store.path("memory")}}
	}
	var opt lsp.MemoryOptions
	if !e.now.IsZero() {
		opt.Now = func() time.Time { return e.now }
	}
	who := memoryClient{Encoding: e.encoding, Capabilities: e.capabilities}
	if _, err := os.Stat(e.store.path("work")); err == nil {
		who.Folders = []string{e.store.path("work")}
	}
	e.desk = sit(e.t, opt, lsp.InitializationOptions{Roots: e.roots, Trusted: e.trusted}, who).settled()
}

func (e *editor) uri(file string) string { return "file://" + e.store.path(file) }

// text is a file as the editor has it, or would have it.
func (e *editor) text(file string) (lsptest.Text, error) {
	s, ok := e.open[file]
	if !ok {
		raw, err := os.ReadFile(e.store.path(file))
		if err != nil {
			return lsptest.Text{}, err
		}
		s = strings.TrimPrefix(string(raw), "\uFEFF")
	}
	return lsptest.Text{S: s, UTF8: e.encoding == "utf-8"}, nil
}

func (e *editor) opens(args []string) error {
	file := args[0]
	if len(args) > 1 {
		e.open[file] = args[1]
	} else {
		text, err := e.text(file)
		if err != nil {
			return err
		}
		e.open[file] = text.S
	}
	e.version++
	e.edition[file] = e.version
	e.desk.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": e.uri(file), "languageId": "markdown", "version": e.version, "text": e.open[file],
	}})
	return nil
}

// change replaces a part of an open file, or all of it.
func (e *editor) change(file string, start, end int, with string) error {
	old, ok := e.open[file]
	if !ok {
		return fmt.Errorf("%s is not open", file)
	}
	text := lsptest.Text{S: old, UTF8: e.encoding == "utf-8"}
	e.version++
	e.edition[file] = e.version
	e.desk.notify("textDocument/didChange", map[string]any{
		"textDocument": map[string]any{"uri": e.uri(file), "version": e.version},
		"contentChanges": []any{map[string]any{
			"range": lsptest.Range{Start: text.Position(start), End: text.Position(end)}, "text": with,
		}},
	})
	e.open[file] = old[:start] + with + old[end:]
	return nil
}

func (e *editor) edits(args []string) error {
	at := strings.Index(e.open[args[0]], args[1])
	if at < 0 {
		return fmt.Errorf("there is no %q", args[1])
	}
	return e.change(args[0], at, at+len(args[1]), args[2])
}

// place is where the text before and after a bar meet.
func (e *editor) place(file, mark string) (int, error) {
	text, err := e.text(file)
	if err != nil {
		return 0, err
	}
	before, after, _ := strings.Cut(mark, "|")
	at := strings.Index(text.S, before+after)
	if at < 0 {
		return 0, fmt.Errorf("there is no %q", before+after)
	}
	return at + len(before), nil
}

func (e *editor) inserts(args []string) error {
	at, err := e.place(args[0], args[1])
	if err != nil {
		return err
	}
	return e.change(args[0], at, at, args[2])
}

func (e *editor) replaces(args []string) error {
	return e.change(args[0], 0, len(e.open[args[0]]), args[1])
}

func (e *editor) saves(args []string) error {
	text, ok := e.open[args[0]]
	if !ok {
		return fmt.Errorf("%s is not open", args[0])
	}
	e.store.write(args[0], text)
	e.desk.notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": e.uri(args[0])}})
	return e.seen(args[0], text)
}

func (e *editor) closes(args []string) error {
	delete(e.open, args[0])
	e.desk.close(e.store.path(args[0]))
	return nil
}

func (e *editor) writes(args []string) error {
	e.store.write(args[0], args[1])
	return e.seen(args[0], args[1])
}

// seen waits until the catalog has a file with a text. An index is none of it.
func (e *editor) seen(file, text string) error {
	if filepath.Base(file) == "MEMORY.md" {
		return nil
	}
	sum := sha256.Sum256([]byte(text))
	e.desk.until(file+" as it is on disk", func(l lsp.ListResult) bool {
		return slices.ContainsFunc(l.Documents, func(d lsp.ListedDocument) bool {
			return e.name(d.URI) == file && d.Version == "sha256:"+hex.EncodeToString(sum[:])
		})
	})
	return nil
}

func (e *editor) removes(args []string) error {
	e.store.remove(args[0])
	e.desk.until(args[0]+" to go", func(l lsp.ListResult) bool {
		return !slices.ContainsFunc(l.Documents, func(d lsp.ListedDocument) bool { return e.name(d.URI) == args[0] })
	})
	return nil
}

func (e *editor) diagnostics(args []string) error {
	var report struct {
		Items []wireDiagnostic `json:"items"`
	}
	params := map[string]any{"textDocument": map[string]string{"uri": e.uri(args[0])}}
	if err := e.desk.client.Call(e.t.Context(), "textDocument/diagnostic", params, &report); err != nil {
		return err
	}
	if err := e.pushed(args[0], report.Items); err != nil {
		return err
	}
	text, err := e.text(args[0])
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, d := range report.Items {
		r := lsptest.Range{
			Start: lsptest.Position{Line: int(d.Range.Start.Line), Character: int(d.Range.Start.Character)},
			End:   lsptest.Position{Line: int(d.Range.End.Line), Character: int(d.Range.End.Character)},
		}
		severity := []string{"?", "error", "warning", "information", "hint"}[d.Severity]
		fmt.Fprintf(&e.out, "%s: %s %s: %s\n", text.Show(r), severity, d.Code, d.Message)
	}
	return nil
}

func (e *editor) awaits(args []string) error {
	_, err := e.desk.client.Await(e.t.Context(), 0, func(m lsptest.Message) bool {
		return m.Method == "textDocument/publishDiagnostics" && bytes.Contains(m.Params, []byte(args[1])) &&
			bytes.Contains(m.Params, fmt.Appendf(nil, `"uri":%q,"version":%d,`, e.uri(args[0]), e.edition[args[0]]))
	})
	return err
}

func (e *editor) nothing(args []string) error {
	if items := e.desk.pulled(e.store.path(args[0])); len(items) > 0 {
		return fmt.Errorf("pulled %+v", items)
	}
	for _, m := range e.desk.client.Log() {
		if m.Method == "textDocument/publishDiagnostics" && bytes.Contains(m.Params, []byte(`"`+e.uri(args[0])+`"`)) {
			return fmt.Errorf("pushed %s", m.Params)
		}
	}
	return nil
}

// pushed waits until the same has been pushed for the version of a file that is
// open, unless the client asks for diagnostics itself.
func (e *editor) pushed(file string, items []wireDiagnostic) error {
	doc, ok := e.capabilities["textDocument"].(map[string]any)
	if _, open := e.open[file]; !open || ok && doc["diagnostic"] != nil {
		return nil
	}
	var last json.RawMessage
	_, err := e.desk.client.Await(e.t.Context(), 0, func(m lsptest.Message) bool {
		var p struct {
			URI         string           `json:"uri"`
			Version     int              `json:"version"`
			Diagnostics []wireDiagnostic `json:"diagnostics"`
		}
		if m.Method != "textDocument/publishDiagnostics" || json.Unmarshal(m.Params, &p) != nil || p.URI != e.uri(file) {
			return false
		}
		last = m.Params
		return p.Version == e.edition[file] && slices.Equal(p.Diagnostics, items)
	})
	if err != nil {
		return fmt.Errorf("pulled %+v, pushed last %s: %w", items, last, err)
	}
	return nil
}

// requests asks about a document.
func (e *editor) requests(args []string) error {
	method, args := args[0], args[1:]
	params := map[string]any{}
	if len(args) > 0 && !strings.HasPrefix(args[0], "{") {
		e.about = args[0]
		params["textDocument"] = map[string]string{"uri": e.uri(e.about)}
		args = args[1:]
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "{") {
		at, err := e.position(args[0])
		if err != nil {
			return err
		}
		params["position"], args = at, args[1:]
		if len(args) > 1 && args[0] == ".." {
			end, err := e.position(args[1])
			if err != nil {
				return err
			}
			params["range"], args = lsptest.Range{Start: at, End: end}, args[2:]
		}
	}
	return e.ask(method, params, args)
}

func (e *editor) position(mark string) (lsptest.Position, error) {
	text, err := e.text(e.about)
	if err != nil {
		return lsptest.Position{}, err
	}
	at, err := e.place(e.about, mark)
	return text.Position(at), err
}

func (e *editor) calls(args []string) error { return e.ask(args[0], map[string]any{}, args[1:]) }

// ask sends a request, with JSON merged into its params and $DIR in it replaced,
// and shows the answer.
func (e *editor) ask(method string, params map[string]any, more []string) error {
	if len(more) > 0 {
		text := strings.ReplaceAll(more[0], "$DIR", e.store.dir)
		if err := json.Unmarshal([]byte(text), &params); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	e.last = nil
	err := e.desk.client.Call(e.t.Context(), method, params, &e.last)
	var refused *lsptest.Error
	switch {
	case errors.As(err, &refused):
		fmt.Fprintf(&e.out, "error %d %s\n", refused.Code, e.hide(refused.Message))
		return nil
	case err != nil:
		return err
	}
	var shown bytes.Buffer
	enc := json.NewEncoder(&shown)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(e.readable(e.last, e.about)); err != nil {
		return err
	}
	e.out.Write(shown.Bytes())
	return nil
}

// hide takes the directory out of a text.
func (e *editor) hide(s string) string { return strings.ReplaceAll(s, e.store.dir, "$DIR") }

// file is the name of the file that a URI of the store names.
func (e *editor) file(uri any) (string, bool) {
	s, _ := uri.(string)
	name, ok := strings.CutPrefix(s, "file://"+e.store.dir+"/")
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return name, ok
}

// readable is a result with ranges and positions in words. file is what they are
// about, unless the value says otherwise.
func (e *editor) readable(v any, file string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = e.readable(v[i], file)
		}
		return out
	case map[string]any:
		for _, key := range []string{"uri", "targetUri"} {
			if name, ok := e.file(v[key]); ok {
				file = name
			}
		}
		if doc, ok := v["textDocument"].(map[string]any); ok {
			if name, ok := e.file(doc["uri"]); ok {
				file = name
			}
		}
		if s, ok := e.worded(v, file); ok {
			return s
		}
		out := map[string]any{}
		for key, value := range v {
			about := file
			if name, ok := e.file(key); ok {
				key, about = name, name
			}
			out[key] = e.readable(value, about)
		}
		return out
	case string:
		if name, ok := e.file(v); ok {
			return name
		}
		return e.hide(v)
	}
	return v
}

// worded is a range or a position in words.
func (e *editor) worded(v map[string]any, file string) (string, bool) {
	raw, err := json.Marshal(v)
	if err != nil || len(v) != 2 {
		return "", false
	}
	text, err := e.text(file)
	if err != nil {
		return "", false
	}
	strict := func(into any) bool {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		return dec.Decode(into) == nil
	}
	var r lsptest.Range
	if strict(&r) {
		return text.Show(r), true
	}
	var p lsptest.Position
	if strict(&p) {
		return text.ShowPosition(p), true
	}
	return "", false
}

// textEdit is LSP's.
type textEdit struct {
	Range   lsptest.Range `json:"range"`
	NewText string        `json:"newText"`
}

// applies does what the last answer asks for: a list of text edits, a workspace
// edit, or what has one as its edit. Files that are not open are changed on disk.
func (e *editor) applies(args []string) error {
	answer := e.last
	if len(args) > 0 {
		var n int
		list, ok := answer.([]any)
		if _, err := fmt.Sscan(args[0], &n); err != nil || !ok || n >= len(list) {
			return fmt.Errorf("the answer has no item %s", args[0])
		}
		answer = list[n]
	}
	if list, ok := answer.([]any); ok {
		var edits []textEdit
		if err := reread(list, &edits); err != nil {
			return err
		}
		return e.applyText(e.about, edits)
	}
	if m, ok := answer.(map[string]any); ok && m["edit"] != nil {
		answer = m["edit"]
	}
	var edit struct {
		Changes         map[string][]textEdit `json:"changes"`
		DocumentChanges []struct {
			Kind         string `json:"kind"`
			URI          string `json:"uri"`
			OldURI       string `json:"oldUri"`
			NewURI       string `json:"newUri"`
			TextDocument struct {
				URI     string `json:"uri"`
				Version *int   `json:"version"`
			} `json:"textDocument"`
			Edits []textEdit `json:"edits"`
		} `json:"documentChanges"`
	}
	if err := reread(answer, &edit); err != nil {
		return err
	}
	for uri, edits := range edit.Changes {
		file, _ := e.file(uri)
		if err := e.applyText(file, edits); err != nil {
			return err
		}
	}
	for _, c := range edit.DocumentChanges {
		var err error
		switch file, _ := e.file(c.URI); c.Kind {
		case "":
			file, _ = e.file(c.TextDocument.URI)
			err = e.applyText(file, c.Edits)
		case "create":
			e.store.write(file, "")
		case "delete":
			e.store.remove(file)
		case "rename":
			to, _ := e.file(c.NewURI)
			from, _ := e.file(c.OldURI)
			if err := os.MkdirAll(filepath.Dir(e.store.path(to)), 0o755); err != nil {
				return err
			}
			err = os.Rename(e.store.path(from), e.store.path(to))
		default:
			err = fmt.Errorf("a change of kind %q", c.Kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// applyText applies edits of one version of a file, the last place first.
func (e *editor) applyText(file string, edits []textEdit) error {
	text, err := e.text(file)
	if err != nil {
		return err
	}
	type splice struct {
		start, end int
		with       string
	}
	var splices []splice
	for _, edit := range edits {
		start, err := text.Offset(edit.Range.Start)
		if err != nil {
			return err
		}
		end, err := text.Offset(edit.Range.End)
		if err != nil {
			return err
		}
		splices = append(splices, splice{start, end, edit.NewText})
	}
	slices.SortStableFunc(splices, func(a, b splice) int { return a.start - b.start })
	_, open := e.open[file]
	for i := len(splices) - 1; i >= 0; i-- {
		s := splices[i]
		if i > 0 && splices[i-1].end > s.start {
			return fmt.Errorf("edits of %s overlap", file)
		}
		if !open {
			text.S = text.S[:s.start] + s.with + text.S[s.end:]
			continue
		}
		if err := e.change(file, s.start, s.end, s.with); err != nil {
			return err
		}
	}
	if open {
		return nil
	}
	return e.writes([]string{file, text.S})
}

func reread(v, into any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

func (e *editor) shows(args []string) error {
	text, err := e.text(args[0])
	if err != nil {
		return err
	}
	for _, line := range text.Lines() {
		fmt.Fprintf(&e.out, "| %s\n", strings.TrimRight(line, "\r\n"))
	}
	return nil
}

func (e *editor) recalls(args []string) error {
	r := e.desk.recall(lsp.RecallParams{Query: strings.Join(args, " "), Session: e.desk.token()})
	for _, d := range append(r.fast.Documents, r.refined.Documents...) {
		stale := ""
		if d.Stale != nil {
			stale = fmt.Sprintf(" (stale: %s, %s)", d.Stale.Reason, d.Stale.Detail)
		}
		fmt.Fprintf(&e.out, "%s%s\n", d.Ref, stale)
	}
	return nil
}
