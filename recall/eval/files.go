package eval

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Markdown answers the document as the text of a memory file: YAML frontmatter with the fields that are set, then the body.
func (d *Doc) Markdown() ([]byte, error) {
	header := struct {
		Name        string   `yaml:"name,omitempty"`
		Description string   `yaml:"description,omitempty"`
		Type        string   `yaml:"type,omitempty"`
		Keywords    []string `yaml:"keywords,omitempty"`
		Status      string   `yaml:"status,omitempty"`
		UpdatedAt   string   `yaml:"updated_at,omitempty"`
	}{Name: d.Title, Description: d.Description, Type: d.Type, Keywords: d.Keywords, Status: d.Status}
	if !d.UpdatedAt.IsZero() {
		header.UpdatedAt = d.UpdatedAt.Format(time.RFC3339)
	}
	head, err := yaml.Marshal(header)
	if err != nil {
		return nil, fmt.Errorf("document %q: %w", d.ID, err)
	}
	var b bytes.Buffer
	if !bytes.Equal(head, []byte("{}\n")) {
		fmt.Fprintf(&b, "---\n%s---\n\n", head)
	}
	b.WriteString(d.Body)
	if !strings.HasSuffix(d.Body, "\n") {
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// writtenAt is the modification time of the files of documents without an updated_at: one and the same, so that the order
// in which they happen to be written decides no tie.
var writtenAt = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// WriteMemory writes every document of the set as a memory file under dir, which it creates, and answers the slash-separated
// path under dir by document id. Documents with a scope stand in a folder of their scope. A file's modification time is the
// document's UpdatedAt. No existing file is overwritten: that is an error.
func (s *Set) WriteMemory(dir string) (map[string]string, error) {
	paths := make(map[string]string, len(s.Docs))
	taken := map[string]bool{}
	for i := range s.Docs {
		d := &s.Docs[i]
		stem := fileStem(d.ID)
		if d.Scope != "" {
			stem = fileStem(d.Scope) + "/" + stem
		}
		rel := stem + ".md"
		// Inv: names differ even where the file system folds case.
		for n := 2; taken[strings.ToLower(rel)]; n++ {
			rel = fmt.Sprintf("%s-%d.md", stem, n)
		}
		taken[strings.ToLower(rel)] = true
		paths[d.ID] = rel
		if err := d.writeTo(filepath.Join(dir, filepath.FromSlash(rel))); err != nil {
			return nil, fmt.Errorf("write set %s as memory: %w", s.Name, err)
		}
	}
	return paths, nil
}

func (d *Doc) writeTo(path string) (err error) {
	text, err := d.Markdown()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	at := d.UpdatedAt
	if at.IsZero() {
		at = writtenAt
	}
	return os.Chtimes(path, at, at)
}

// maxStem bounds a file name, in bytes, well under what file systems allow.
const maxStem = 100

// fileStem makes a portable file name of an id: letters, digits, '_' and inner '-' and '.' stay, anything else becomes '-'.
// The name is never hidden, never the index file's, and never one that Windows reserves.
func fileStem(id string) string {
	stem := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.L, unicode.M, unicode.N) || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, id)
	for len(stem) > maxStem {
		runes := []rune(stem)
		stem = string(runes[:len(runes)-1])
	}
	stem = strings.Trim(stem, "-.")
	if stem == "" || reservedStem(stem) {
		return "doc-" + stem
	}
	return stem
}

func reservedStem(stem string) bool {
	base, _, _ := strings.Cut(strings.ToLower(stem), ".")
	switch base {
	case "memory", "con", "prn", "aux", "nul":
		return true
	}
	return len(base) == 4 && (strings.HasPrefix(base, "com") || strings.HasPrefix(base, "lpt"))
}

// caseFiles writes the known memories of a conversation to a temporary directory,
// below a folder for each scope. remove deletes it again.
func caseFiles(c *ExtractCase) (dir string, remove func() error, err error) {
	if dir, err = os.MkdirTemp("", "memls-extract-"); err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(dir) }
	for _, scope := range []string{"project", "user", "team"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(dir, scope), 0o700))
	}
	for rel, text := range c.Known {
		if !filepath.IsLocal(filepath.FromSlash(rel)) {
			err = errors.Join(err, fmt.Errorf("%q is no path of a memory", rel))
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(rel))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
		err = errors.Join(err, os.Chtimes(path, writtenAt, writtenAt))
	}
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return dir, remove, nil
}
