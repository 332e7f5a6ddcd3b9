package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Verdict is what is known of an anchor.
type Verdict struct {
	Known bool
	Dead  bool   // it leads nowhere; implies Known
	Why   string // of a dead one, for a person
}

var (
	unknown = Verdict{}
	alive   = Verdict{Known: true}
)

func dead(format string, args ...any) Verdict {
	return Verdict{Known: true, Dead: true, Why: fmt.Sprintf(format, args...)}
}

// Workspace tells whether anchors lead somewhere in one folder. It reads nothing
// before it is asked, keeps what it has read, and looks at what has changed since
// at most every SurveyAge. A folder that is too large to be looked through has
// only anchors that are alive or unknown: in doubt nothing is dead.
//
// It must be asked about trusted folders only.
type Workspace struct {
	dir  string
	skip []string
	now  func() time.Time

	mu     sync.Mutex // one check at a time
	survey survey
}

// SurveyAge is how old what is known of a workspace may be.
const SurveyAge = 30 * time.Second

// NewWorkspace makes the workspace of a folder, an absolute path. What lies in
// the skipped directories proves nothing: those of the memories themselves.
func NewWorkspace(dir string, skip []string, now func() time.Time) *Workspace {
	return &Workspace{dir: filepath.Clean(dir), skip: skip, now: now}
}

// Check judges anchors, in their order. Its work is bounded by the size of the
// folder, at most [maxSurveyFiles] and [maxSurveyBytes] of it, and ends with ctx;
// an error means that the folder could not be looked at.
func (w *Workspace) Check(ctx context.Context, anchors []Anchor) ([]Verdict, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", w.dir, err)
	}
	defer root.Close()
	if age := w.now().Sub(w.survey.at); w.survey.files == nil || age >= SurveyAge || age < 0 {
		if err := w.survey.refresh(ctx, root, w.skipped(), w.now()); err != nil {
			return nil, fmt.Errorf("workspace %s: %w", w.dir, err)
		}
	}
	out := make([]Verdict, len(anchors))
	known := map[Anchor]Verdict{}
	for i, a := range anchors {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a.Span = Span{}
		v, ok := known[a]
		if !ok {
			if a.Kind == AnchorIdentifier {
				v, err = w.identifier(ctx, root, a)
			} else {
				v = w.path(root, a)
			}
			if err != nil {
				return nil, fmt.Errorf("workspace %s: %w", w.dir, err)
			}
			known[a] = v
		}
		out[i] = v
	}
	return out, nil
}

// maxGone bounds the places that [GoneNote] names.
const maxGone = 3

// GoneNote says in one sentence what a memory names that is gone, from what the
// verdicts on its anchors say; empty without any.
func GoneNote(whys []string) string {
	var said []string
	for _, why := range whys {
		if !slices.Contains(said, why) {
			said = append(said, why)
		}
	}
	if len(said) > maxGone {
		return fmt.Sprintf("%s; and %d more", strings.Join(said[:maxGone], "; "), len(said)-maxGone)
	}
	return strings.Join(said, "; ")
}

// skipped are the skipped directories below the folder.
func (w *Workspace) skipped() (rels []string) {
	real := w.dir
	if r, err := filepath.EvalSymlinks(w.dir); err == nil {
		real = r
	}
	for _, dir := range w.skip {
		for _, base := range []string{w.dir, real} {
			if rel, ok := below(base, dir); ok {
				rels = append(rels, rel)
			}
		}
	}
	return rels
}

// path judges a path. A file may be named by the end of its path alone, as
// people do in a workspace of several projects.
func (w *Workspace) path(root *os.Root, a Anchor) Verdict {
	name, inside := w.relative(a.Name)
	if !inside {
		return unknown
	}
	switch info, err := root.Stat(filepath.FromSlash(name)); {
	case err == nil:
		return w.line(root, name, a.Line, info)
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		return unknown
	}
	s := &w.survey
	if s.generated(name) || len(s.files) == 0 {
		return unknown
	}
	if found := s.endingIn(name); len(found) == 1 {
		info, err := root.Stat(filepath.FromSlash(found[0]))
		if err != nil {
			return unknown
		}
		return w.line(root, found[0], a.Line, info)
	} else if len(found) > 1 {
		return alive
	}
	if !s.complete {
		return unknown
	}
	if !strings.HasPrefix(a.Name, "/") && !s.ours(name) {
		return unknown
	}
	return dead("%s is not in the workspace", name)
}

// ours tells whether a path that is not there plainly names a place of this
// workspace, and not of another one: it begins in one of its folders, or is a
// program in a language of its.
func (s *survey) ours(name string) bool {
	first, rest, nested := strings.Cut(name, "/")
	ext := strings.ToLower(extension(path.Base(name)))
	program := fileExtensions[ext] && !configExtensions[ext] && s.exts[ext]
	switch begins := nested && len(s.bases[first]) > 0; {
	case ext == "":
		// A branch has such a name, too.
		return begins && (strings.Contains(rest, "/") || !branchFolders[first])
	case begins:
		return true
	}
	return program
}

// branchFolders are folders after which branches are named as well.
var branchFolders = nameSet(`doc docs test tests ci build release releases feature features feat fix hotfix chore style perf refactor revert deps`)

// relative is a path below the folder.
func (w *Workspace) relative(name string) (string, bool) {
	if !strings.HasPrefix(name, "/") {
		return name, true
	}
	return below(w.dir, filepath.FromSlash(name))
}

// line judges the line of a file that is there.
func (w *Workspace) line(root *os.Root, name string, line int, info fs.FileInfo) Verdict {
	if line <= 1 || !info.Mode().IsRegular() || info.Size() > maxSurveyFile {
		return alive
	}
	raw, err := readBounded(root, name)
	if err != nil {
		return unknown
	}
	lines := bytes.Count(raw, []byte("\n"))
	if len(raw) > 0 && raw[len(raw)-1] != '\n' {
		lines++
	}
	if line <= lines {
		return alive
	}
	return dead("%s has only %d lines", name, lines)
}

// identifier judges an identifier: it must stand in some file, or be part of the
// name of one.
func (w *Workspace) identifier(ctx context.Context, root *os.Root, a Anchor) (Verdict, error) {
	s := &w.survey
	if err := s.read(ctx, root); err != nil {
		return unknown, err
	}
	switch {
	case s.has(a.Name):
		return alive, nil
	case !s.complete || !s.readAll || !s.programs:
		return unknown, nil
	}
	return dead("%s occurs nowhere in the workspace", a.Name), nil
}

// readBounded reads a file of at most maxSurveyFile bytes.
func readBounded(root *os.Root, name string) ([]byte, error) {
	f, err := OpenFile(root, filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	return io.ReadAll(io.LimitReader(f, maxSurveyFile))
}

// Bounds of what is looked at in a workspace.
const (
	maxSurveyFiles = 100_000
	maxSurveyBytes = 96 << 20 // of text that is read
	maxSurveyFile  = 1 << 20  // a larger file is no program that a person wrote
	maxSurveyDepth = 64
)

// survey is what was found in a workspace.
type survey struct {
	at       time.Time
	complete bool // every file that counts was listed
	files    map[string]*surveyedFile
	bases    map[string][]string // paths of files and folders by their last part
	ignored  ignorePatterns      // of the workspace
	exts     map[string]bool     // the extensions of its files, in small letters

	readAll  bool // all listed files were read
	programs bool // there is a program among them
}

type surveyedFile struct {
	size  int64
	mod   time.Time
	read  bool
	words []uint32 // hashes of its words, in order
}

// unread are the folders that hold no text of the workspace's own.
var unread = nameSet(`.git .hg .svn .jj node_modules bower_components .venv venv __pycache__ .tox .mypy_cache .pytest_cache
	.gradle .terraform .next .nuxt .cache .qwen .claude .memory`)

// produced are the folders whose files come and go as programs make them.
var produced = nameSet(`dist build out target coverage bin obj tmp logs`)

func nameSet(names string) map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		m[name] = true
	}
	return m
}

// generated tells whether a path leads into what is made by programs, and comes
// and goes.
func (s *survey) generated(name string) bool {
	for seg := range strings.SplitSeq(name, "/") {
		if unread[seg] || produced[seg] {
			return true
		}
	}
	return s.ignored.cover(name)
}

// refresh lists the workspace anew and keeps what was read of unchanged files.
func (s *survey) refresh(ctx context.Context, root *os.Root, skip []string, now time.Time) error {
	next := survey{at: now, complete: true, files: map[string]*surveyedFile{}, bases: map[string][]string{}, exts: map[string]bool{}}
	next.ignored.read(root, ".gitignore")
	next.ignored.read(root, ".git/info/exclude")
	plain := next.ignored.plain()
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case name == ".":
			return err
		case err != nil:
			// What cannot be listed may hold anything.
			next.complete = false
			return fs.SkipDir
		case d.IsDir():
			if unread[d.Name()] || plain[d.Name()] || slices.Contains(skip, name) {
				return fs.SkipDir
			}
			if strings.Count(name, "/") > maxSurveyDepth {
				next.complete = false
				return fs.SkipDir
			}
		case !d.Type().IsRegular():
			// A link may lead to whatever bears its name.
			next.bases[d.Name()] = append(next.bases[d.Name()], name)
			return nil
		}
		next.bases[d.Name()] = append(next.bases[d.Name()], name)
		if d.IsDir() {
			return nil
		}
		if d.Name() == ".gitignore" && name != ".gitignore" {
			next.ignored.read(root, name)
		}
		next.exts[strings.ToLower(path.Ext(name))] = true
		if len(next.files) >= maxSurveyFiles {
			next.complete = false
			return fs.SkipAll
		}
		if info, err := d.Info(); err == nil { // else it has just gone
			next.files[name] = s.surveyed(name, info)
		}
		return nil
	})
	if err != nil {
		return err
	}
	*s = next
	return nil
}

// surveyed is a file, with what was read of it if it has not changed since.
func (s *survey) surveyed(name string, info fs.FileInfo) *surveyedFile {
	if old := s.files[name]; old != nil && old.size == info.Size() && old.mod.Equal(info.ModTime()) {
		return old
	}
	return &surveyedFile{size: info.Size(), mod: info.ModTime()}
}

// endingIn are the files and folders whose path is or ends in name.
func (s *survey) endingIn(name string) (found []string) {
	for _, rel := range s.bases[path.Base(name)] {
		if rel == name || strings.HasSuffix(rel, "/"+name) {
			found = append(found, rel)
		}
	}
	return found
}

// read reads the files that were not read yet, within the bounds.
func (s *survey) read(ctx context.Context, root *os.Root) error {
	if s.readAll {
		return nil
	}
	total := int64(0)
	for name, f := range s.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.programs = s.programs || fileExtensions[strings.ToLower(path.Ext(name))]
		if f.size > maxSurveyFile {
			continue
		}
		if total += f.size; total > maxSurveyBytes {
			return nil
		}
		if f.read {
			continue
		}
		raw, err := readBounded(root, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil // it may hold anything
		}
		f.words, f.read = wordsOf(raw, name), true
	}
	s.readAll = true
	return nil
}

// has tells whether a word stands in a file, or in the name of one.
func (s *survey) has(word string) bool {
	h := hashWord([]byte(word))
	for _, f := range s.files {
		if _, ok := slices.BinarySearch(f.words, h); ok {
			return true
		}
	}
	return false
}

// wordsOf are the hashes of the words of a file and of its name, without those of
// binary files.
func wordsOf(raw []byte, name string) []uint32 {
	out := hashWords(nil, []byte(name))
	if !bytes.ContainsRune(raw[:min(len(raw), 1<<10)], 0) {
		out = hashWords(out, raw)
	}
	slices.Sort(out)
	return slices.Clip(slices.Compact(out))
}

// hashWords appends the hashes of words: what consists of letters, digits and _ $.
func hashWords(out []uint32, raw []byte) []uint32 {
	for i := 0; i < len(raw); {
		if !wordByte(raw[i]) {
			i++
			continue
		}
		start := i
		for i < len(raw) && wordByte(raw[i]) {
			i++
		}
		if i-start >= minIdentifier && i-start <= maxAnchorBytes {
			out = append(out, hashWord(raw[start:i]))
		}
	}
	return out
}

func wordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}

// hashWord is FNV-1a. Two words with one hash make a dead anchor seem alive,
// once in ten thousand.
func hashWord(word []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range word {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}
