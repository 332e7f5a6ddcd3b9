package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Names of the files of a labelled set. The documents stand in corpusFile; the cases in casesFile (our own format, which
// describes memories field by field) or in queriesFile (the general format of retrieval sets).
const (
	corpusFile  = "corpus.jsonl"
	casesFile   = "cases.jsonl"
	queriesFile = "queries.jsonl"
)

// Load reads the labelled set in the folder dir: corpus.jsonl with one document a line, and the cases in one of two formats.
//
// Our own format describes memories, and refuses unknown keys; all keys of a document but id may be absent:
//
//	corpus.jsonl  {"id", "title", "description", "type", "body", "keywords": […], "status", "updated_at"}
//	cases.jsonl   {"id", "query", "relevant": [ids], "lang", "slice", "top"}
//
// The general format of retrieval sets may hold further keys, which are ignored; with a scope, a query searches only the
// documents of that scope:
//
//	corpus.jsonl   {"id", "text", "title", "description", "type", "scope"}
//	queries.jsonl  {"id", "text", "relevant": [ids], "lang", "slice", "scope"}
//
// The set is checked: unknown or repeated ids, a case without a query, a relevant document outside the case's scope and the
// like are errors that name the file and the line. The set is named after the folder.
func Load(dir string) (*Set, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("labelled set %s: %w", dir, err)
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("labelled set %s: there is no such directory", dir)
	case err != nil:
		return nil, fmt.Errorf("labelled set: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("labelled set %s: not a directory", dir)
	}
	own, err := exists(filepath.Join(dir, casesFile))
	if err != nil {
		return nil, err
	}
	general, err := exists(filepath.Join(dir, queriesFile))
	if err != nil {
		return nil, err
	}
	l := loader{set: &Set{Name: filepath.Base(abs)}, docs: map[string]*origin{}, cases: map[string]*origin{}}
	switch {
	case own && general:
		return nil, fmt.Errorf("labelled set %s holds both %s and %s: which one is meant?", dir, casesFile, queriesFile)
	case own:
		err = errors.Join(l.read(dir, corpusFile, l.ownDoc), l.read(dir, casesFile, l.ownCase))
	case general:
		err = errors.Join(l.read(dir, corpusFile, l.generalDoc), l.read(dir, queriesFile, l.generalCase))
	default:
		return nil, fmt.Errorf("%s is not a labelled set: it holds neither %s nor %s", dir, casesFile, queriesFile)
	}
	if err != nil {
		return nil, err
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.set, nil
}

func exists(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("labelled set: %w", err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("labelled set: %s is not a regular file", path)
	}
	return true, nil
}

// origin is where a document or case stands in the files.
type origin struct {
	file  string
	line  int
	scope string
}

// errorf prefixes an error with file and line, the way compilers do.
func (o *origin) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", o.file, o.line, fmt.Errorf(format, args...))
}

type loader struct {
	set   *Set
	docs  map[string]*origin
	cases map[string]*origin
}

// read hands every non-empty line of a file to add. It reports all faulty lines up to maxFaults, not only the first, so that a
// set is mended in one go.
func (l *loader) read(dir, name string, add func(line []byte, at *origin) error) error {
	path := filepath.Join(dir, name)
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("labelled set: %w", err)
	}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	var faults []error
	number := 0
	for line := range bytes.Lines(raw) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if err := add(line, &origin{file: path, line: number}); err != nil {
			faults = append(faults, err)
		}
	}
	return joinFaults(faults)
}

// maxFaults bounds how many faulty lines of one file are listed: the rest is counted.
const maxFaults = 20

func joinFaults(faults []error) error {
	if rest := len(faults) - maxFaults; rest > 0 {
		faults = append(faults[:maxFaults:maxFaults], fmt.Errorf("and %d more faults", rest))
	}
	return errors.Join(faults...)
}

// decode reads one JSON object and nothing after it. Our own format refuses unknown keys, for a misspelt "relevant" would
// silently turn an answerable case into an unanswerable one.
func decode(line []byte, into any, strict bool) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	if strict {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(into); err != nil {
		return jsonFault(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the JSON object: one object a line")
	}
	return nil
}

// jsonFault words what the decoder says of a line.
func jsonFault(err error) error {
	var (
		kind   *json.UnmarshalTypeError
		syntax *json.SyntaxError
	)
	key, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case unknown:
		return fmt.Errorf("unknown key %s", key)
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("%s %s where an object belongs", article(kind.Value), kind.Value)
	case errors.As(err, &kind):
		return fmt.Errorf("%q is %s %s, which does not belong there", kind.Field, article(kind.Value), kind.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("not valid JSON at byte %d", syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON object is not closed")
	}
	return err
}

func article(noun string) string {
	if strings.HasPrefix(noun, "a") || strings.HasPrefix(noun, "o") {
		return "an"
	}
	return "a"
}

func (l *loader) ownDoc(line []byte, at *origin) error {
	var in struct {
		ID          string   `json:"id"`
		Title       string   `json:"title"`
		Description string   `json:"description"`
		Type        string   `json:"type"`
		Body        string   `json:"body"`
		Keywords    []string `json:"keywords"`
		Status      string   `json:"status"`
		UpdatedAt   string   `json:"updated_at"`
	}
	if err := decode(line, &in, true); err != nil {
		return at.errorf("document: %w", err)
	}
	updated, err := parseTime(in.UpdatedAt)
	if err != nil {
		return at.errorf("document %q: updated_at: %w", in.ID, err)
	}
	return l.addDoc(Doc{
		ID: in.ID, Title: in.Title, Description: in.Description, Type: in.Type, Body: in.Body,
		Keywords: in.Keywords, Status: in.Status, UpdatedAt: updated,
	}, at)
}

func (l *loader) generalDoc(line []byte, at *origin) error {
	var in struct {
		ID          string `json:"id"`
		Text        string `json:"text"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Type        string `json:"type"`
		Scope       string `json:"scope"`
	}
	if err := decode(line, &in, false); err != nil {
		return at.errorf("document: %w", err)
	}
	return l.addDoc(Doc{
		ID: in.ID, Title: in.Title, Description: in.Description, Type: in.Type, Body: in.Text, Scope: in.Scope,
	}, at)
}

func (l *loader) addDoc(d Doc, at *origin) error {
	switch before := l.docs[d.ID]; {
	case blank(d.ID):
		return at.errorf("document without an id")
	case before != nil:
		return at.errorf("document %q stands already in line %d", d.ID, before.line)
	case blank(d.Title) && blank(d.Description) && blank(d.Body):
		return at.errorf("document %q is empty", d.ID)
	case !validStatus(d.Status):
		return at.errorf("document %q: status %q is none of active, superseded, expired", d.ID, d.Status)
	}
	at.scope = d.Scope
	l.docs[d.ID] = at
	l.set.Docs = append(l.set.Docs, d)
	return nil
}

func (l *loader) ownCase(line []byte, at *origin) error {
	var in struct {
		ID       string    `json:"id"`
		Query    string    `json:"query"`
		Relevant *[]string `json:"relevant"`
		Lang     string    `json:"lang"`
		Slice    string    `json:"slice"`
		Top      string    `json:"top"`
	}
	if err := decode(line, &in, true); err != nil {
		return at.errorf("case: %w", err)
	}
	if blank(in.Query) {
		return at.errorf("case %q: no query", in.ID)
	}
	return l.addCase(Case{ID: in.ID, Query: in.Query, Lang: in.Lang, Slice: in.Slice, Top: in.Top}, in.Relevant, at)
}

func (l *loader) generalCase(line []byte, at *origin) error {
	var in struct {
		ID       string    `json:"id"`
		Text     string    `json:"text"`
		Relevant *[]string `json:"relevant"`
		Lang     string    `json:"lang"`
		Slice    string    `json:"slice"`
		Scope    string    `json:"scope"`
	}
	if err := decode(line, &in, false); err != nil {
		return at.errorf("query: %w", err)
	}
	if blank(in.Text) {
		return at.errorf("query %q: no text", in.ID)
	}
	return l.addCase(Case{ID: in.ID, Query: in.Text, Lang: in.Lang, Slice: in.Slice, Scope: in.Scope}, in.Relevant, at)
}

func (l *loader) addCase(c Case, relevant *[]string, at *origin) error {
	switch before := l.cases[c.ID]; {
	case blank(c.ID):
		return at.errorf("case without an id")
	case before != nil:
		return at.errorf("case %q stands already in line %d", c.ID, before.line)
	case relevant == nil:
		return at.errorf("case %q: no \"relevant\"; an unanswerable case says []", c.ID)
	}
	c.Relevant = *relevant
	l.cases[c.ID] = at
	l.set.Cases = append(l.set.Cases, c)
	return nil
}

// check holds what needs both files.
func (l *loader) check() error {
	if len(l.set.Docs) == 0 {
		return fmt.Errorf("labelled set %s has no documents", l.set.Name)
	}
	if len(l.set.Cases) == 0 {
		return fmt.Errorf("labelled set %s has no cases", l.set.Name)
	}
	scopes := map[string]bool{"": true}
	for i := range l.set.Docs {
		scopes[l.set.Docs[i].Scope] = true
	}
	var faults []error
	for i := range l.set.Cases {
		if err := l.checkCase(&l.set.Cases[i], scopes); err != nil {
			faults = append(faults, err)
		}
	}
	return joinFaults(faults)
}

func (l *loader) checkCase(c *Case, scopes map[string]bool) error {
	at := l.cases[c.ID]
	if !scopes[c.Scope] {
		return at.errorf("case %q: no document has the scope %q", c.ID, c.Scope)
	}
	seen := map[string]bool{}
	for _, id := range c.Relevant {
		doc := l.docs[id]
		switch {
		case doc == nil:
			return at.errorf("case %q: relevant document %q is not in %s", c.ID, id, corpusFile)
		case seen[id]:
			return at.errorf("case %q: relevant document %q is listed twice", c.ID, id)
		case c.Scope != "" && doc.scope != c.Scope:
			return at.errorf("case %q: relevant document %q is of scope %q, the case of %q", c.ID, id, doc.scope, c.Scope)
		}
		seen[id] = true
	}
	if c.Top != "" && !seen[c.Top] {
		return at.errorf("case %q: top document %q is not among the relevant ones", c.ID, c.Top)
	}
	return nil
}

// parseTime reads a time stamp or a plain day (taken as midnight UTC).
func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is neither an RFC 3339 time nor a day: %w", s, err)
	}
	return t, nil
}
