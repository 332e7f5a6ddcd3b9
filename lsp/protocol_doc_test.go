package lsp_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"github.com/memls/memls/lsp"
	"github.com/memls/memls/recall"
)

// The tests of this file hold docs/protocol.md to the code, in both directions.
// They read four things in it:
//
//   - a heading with the name of a message in code, followed by what it is:
//     ### `memory/recall`: request
//   - a table of a Go type, headed by: **`RecallParams`**. Its rows are field,
//     type, default, meaning; the default is "required" or "always" exactly when
//     the field cannot be absent.
//   - an example, fenced as ```json and the name of a Go type
//   - inline code, in which every value of an enumeration stands somewhere

// protocolDoc is docs/protocol.md as the tests see it.
type protocolDoc struct {
	text     string
	messages map[string]string // name -> kind
	sections map[string]string // name -> text below its heading
	tables   map[string][]docField
	examples []docExample
}

type docField struct {
	name, typ string
	certain   bool // cannot be absent
}

type docExample struct {
	line int
	typ  string
	text string
}

var (
	messageHeading = regexp.MustCompile("^#+ `([a-zA-Z]+/[a-zA-Z]+)`: (.+)$")
	typeCaption    = regexp.MustCompile("^\\*\\*`([A-Z][A-Za-z]+)`\\*\\*")
	tableRow       = regexp.MustCompile("^\\| `([a-zA-Z]+)` \\| ([^|]+) \\| ([^|]+) \\| .+ \\|$")
	codeSpan       = regexp.MustCompile("`([^`\n]+)`")
)

func readProtocolDoc(t *testing.T) *protocolDoc {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	d := &protocolDoc{text: string(raw), messages: map[string]string{}, sections: map[string]string{}, tables: map[string][]docField{}}
	var message, caption string
	var example *docExample
	for i, line := range strings.Split(d.text, "\n") {
		switch {
		case example != nil && line == "```":
			d.examples = append(d.examples, *example)
			example = nil
		case example != nil:
			example.text += line + "\n"
		case strings.HasPrefix(line, "```json"):
			example = &docExample{line: i + 1, typ: strings.TrimSpace(strings.TrimPrefix(line, "```json"))}
		case strings.HasPrefix(line, "#"):
			message, caption = "", ""
			if m := messageHeading.FindStringSubmatch(line); m != nil {
				message = m[1]
				if d.messages[message] != "" {
					t.Errorf("line %d: a second heading of %s", i+1, message)
				}
				d.messages[message] = m[2]
			}
		case typeCaption.MatchString(line):
			caption = typeCaption.FindStringSubmatch(line)[1]
			if d.tables[caption] != nil {
				t.Errorf("line %d: a second table of %s", i+1, caption)
			}
			d.tables[caption] = []docField{}
		case line == "" && len(d.tables[caption]) > 0:
			caption = ""
		case caption != "" && strings.HasPrefix(line, "| `"):
			m := tableRow.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("line %d: not a row of field, type, default, meaning: %s", i+1, line)
				continue
			}
			d.tables[caption] = append(d.tables[caption], docField{m[1], m[2], m[3] == "required" || m[3] == "always"})
		}
		if message != "" {
			d.sections[message] += line + "\n"
		}
	}
	return d
}

// finished is a connection whose client has left already.
type finished struct{}

func (finished) Read([]byte) (int, error)    { return 0, io.EOF }
func (finished) Write(p []byte) (int, error) { return len(p), nil }
func (finished) Close() error                { return nil }

// memoryTable is what a complete server has registered of its own. The
// connection ends before any root would be watched.
func memoryTable(t *testing.T) []lsp.TableRow {
	t.Helper()
	var rows []lsp.TableRow
	setup := completeSetup(t)
	_, err := lsp.Serve(t.Context(), finished{}, lsp.Options{Setup: func(s *lsp.Server) error {
		if err := setup(s); err != nil {
			return err
		}
		rows = s.Table()
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(rows, func(r lsp.TableRow) bool {
		return !strings.HasPrefix(r.Name, "memory/") && r.Name != "telemetry/event"
	})
}

// kindOf words what a message is, as its heading does.
func kindOf(r lsp.TableRow) string {
	switch {
	case r.From == lsp.FromClient && r.Result != nil:
		return "request"
	case r.From == lsp.FromClient:
		return "notification"
	case r.Result != nil:
		return "request from the server"
	case r.Unasked:
		return "notification from the server, unasked"
	}
	return "notification from the server"
}

func TestProtocolDocNamesEveryMessage(t *testing.T) {
	doc := readProtocolDoc(t)
	for _, row := range memoryTable(t) {
		kind, ok := doc.messages[row.Name]
		delete(doc.messages, row.Name)
		if !ok {
			t.Errorf("%s is registered and has no heading", row.Name)
			continue
		}
		if kind != kindOf(row) {
			t.Errorf("%s is documented as %q, registered as %q", row.Name, kind, kindOf(row))
		}
		for _, typ := range []reflect.Type{row.Params, row.Result} {
			if typ == nil {
				continue
			}
			if name := bare(typ).Name(); !strings.Contains(doc.sections[row.Name], "`"+name+"`") {
				t.Errorf("the section of %s does not name %s", row.Name, name)
			}
		}
		if !strings.Contains(doc.sections[row.Name], "```json") {
			t.Errorf("the section of %s has no example", row.Name)
		}
	}
	for name := range doc.messages {
		t.Errorf("%s has a heading and is not registered", name)
	}
}

// wireTypesByName are all types of our own that go over the wire.
func wireTypesByName(t *testing.T) map[string]reflect.Type {
	t.Helper()
	types := map[string]reflect.Type{}
	var add func(reflect.Type)
	add = func(typ reflect.Type) {
		typ = bare(typ)
		if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() || types[typ.Name()] == typ {
			return
		}
		if typ.Name() == "" || types[typ.Name()] != nil {
			t.Errorf("the type %v has no name of its own", typ)
			return
		}
		types[typ.Name()] = typ
		for f := range typ.Fields() {
			add(f.Type)
		}
	}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[lsp.InitializationOptions](), reflect.TypeFor[lsp.MemoryCapability](),
		reflect.TypeFor[lsp.ParamErrorData](), reflect.TypeFor[lsp.FailureData](),
	} {
		add(typ)
	}
	for _, row := range memoryTable(t) {
		add(row.Params)
		if row.Result != nil {
			add(row.Result)
		}
	}
	return types
}

// bare is the type without pointers and lists.
func bare(typ reflect.Type) reflect.Type {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	return typ
}

// docType words a type as the tables do.
func docType(typ reflect.Type) string {
	switch typ.Kind() {
	case reflect.Pointer:
		return docType(typ.Elem())
	case reflect.Slice:
		return docType(typ.Elem()) + "[]"
	case reflect.Map:
		return "object of " + docType(typ.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Struct:
		if typ == reflect.TypeFor[time.Time]() {
			return "time"
		}
		return "`" + typ.Name() + "`"
	default:
		return "integer"
	}
}

func TestProtocolDocDescribesEveryField(t *testing.T) {
	doc := readProtocolDoc(t)
	for name, typ := range wireTypesByName(t) {
		table, ok := doc.tables[name]
		delete(doc.tables, name)
		if !ok {
			if typ.NumField() > 0 {
				t.Errorf("%s goes over the wire and has no table", name)
			}
			continue
		}
		fields := map[string]docField{}
		for _, f := range table {
			if _, twice := fields[f.name]; twice {
				t.Errorf("%s.%s is documented twice", name, f.name)
			}
			fields[f.name] = f
		}
		for f := range typ.Fields() {
			wire, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			want := docField{wire, docType(f.Type), !strings.Contains(options, "omitzero")}
			if got, ok := fields[wire]; !ok {
				t.Errorf("%s.%s is not documented", name, wire)
			} else if got != want {
				t.Errorf("%s.%s is documented as %+v, is %+v", name, wire, got, want)
			}
			delete(fields, wire)
		}
		for field := range fields {
			t.Errorf("%s.%s is documented and does not exist", name, field)
		}
	}
	for name := range doc.tables {
		t.Errorf("%s has a table and does not go over the wire", name)
	}
}

// Every example is a value of its type, the whole of it: no field that the type
// does not know, none that would not come back.
func TestProtocolDocExamplesRoundTrip(t *testing.T) {
	doc, types := readProtocolDoc(t), wireTypesByName(t)
	shown := map[string]bool{}
	for _, e := range append(examplesOf(t, "hosts.md"), doc.examples...) {
		typ := types[e.typ]
		if typ == nil {
			t.Errorf("line %d: the example is marked as %q, which is no type of the wire", e.line, e.typ)
			continue
		}
		shown[e.typ] = true
		value := reflect.New(typ).Interface()
		dec := json.NewDecoder(strings.NewReader(e.text))
		dec.DisallowUnknownFields()
		if err := dec.Decode(value); err != nil {
			t.Errorf("line %d: %s: %v", e.line, e.typ, err)
			continue
		}
		again, err := protocol.Marshal(value)
		if err != nil {
			t.Errorf("line %d: %s: %v", e.line, e.typ, err)
			continue
		}
		if want, got := canonical(t, []byte(e.text)), canonical(t, again); want != got {
			t.Errorf("line %d: %s comes back as another value:\n%s\n%s", e.line, e.typ, want, got)
		}
	}
	for _, row := range memoryTable(t) {
		for _, typ := range []reflect.Type{row.Params, row.Result} {
			if typ != nil && bare(typ).Kind() == reflect.Struct && bare(typ).NumField() > 0 && !shown[bare(typ).Name()] {
				t.Errorf("%s: no example of %s", row.Name, bare(typ).Name())
			}
		}
	}
}

// examplesOf are the examples of another document, which may be indented.
func examplesOf(t *testing.T, name string) (out []docExample) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	var example *docExample
	for i, line := range strings.Split(string(raw), "\n") {
		line = strings.TrimSpace(line)
		switch typ, begins := strings.CutPrefix(line, "```json "); {
		case begins:
			example = &docExample{line: i + 1, typ: typ}
		case example != nil && line == "```":
			out = append(out, *example)
			example = nil
		case example != nil:
			example.text += line + "\n"
		}
	}
	if len(out) == 0 {
		t.Errorf("%s has no examples", name)
	}
	return out
}

// canonical is JSON with sorted keys.
func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The values that a client's program tells apart are all in the document.
func TestProtocolDocNamesEveryValue(t *testing.T) {
	said := map[string]bool{}
	for _, m := range codeSpan.FindAllStringSubmatch(readProtocolDoc(t).text, -1) {
		said[m[1]] = true
	}
	values := append(wireWords(t),
		recall.StrategyNone, recall.StrategyHeuristic, recall.StrategyModel,
		recall.StatusDelivered, recall.StatusAlreadyDelivered, recall.StatusNoRelevant,
		recall.StatusCancelled, recall.StatusTimedOut, recall.StatusFailed,
		recall.DegradedLoading, recall.DegradedWatch, recall.DegradedRoot, recall.DegradedModelUnavailable,
		recall.DegradedModelTimeout, recall.DegradedModelInvalid, recall.DegradedTruncated,
		string(recall.StateNew), string(recall.StateUpdated), string(recall.StateMore),
		recall.MatchExact, recall.MatchFold, recall.MatchPart, recall.MatchPrefix, recall.MatchGram, recall.MatchConcept,
		recall.VerdictReturned, recall.VerdictHeld, recall.VerdictNoise, recall.VerdictRelative, recall.VerdictLimit,
	)
	for _, v := range values {
		if !said[v] {
			t.Errorf("the document does not name the value %q", v)
		}
	}
}

// wireWords are the values of the package's own constants that go over the
// wire: the kinds of a failure, and what tells how a recall went.
func wireWords(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile(`^(Kind|outcome|reason|turn|delivery|phase|point|end|event|work)[A-Z]`)
	var found []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != len(spec.Values) {
				return true
			}
			for i, name := range spec.Names {
				if lit, ok := spec.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING && word.MatchString(name.Name) {
					value, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					found = append(found, value)
				}
			}
			return true
		})
	}
	if !slices.Contains(found, string(lsp.KindNotFound)) {
		t.Fatalf("the constants of the package are not where they were: %q", found)
	}
	return found
}
