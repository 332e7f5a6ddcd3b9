package memory_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/memls/memls/memory"
)

// edits are ways in which other programs change a file, and what must be true of
// it in the end, whatever memls did.
var edits = []edit{
	{
		"saves by renaming",
		func(path string) error {
			temp := filepath.Join(filepath.Dir(path), ".editor.swp")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(temp, []byte("the editor's\n"), 0o644); err != nil {
				return err
			}
			return os.Rename(temp, path)
		},
		func(text string, there bool) bool { return there && text == "the editor's\n" },
	},
	{
		"saves in place",
		func(path string) error {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			return put(path, os.O_CREATE|os.O_TRUNC, "the editor's\n")
		},
		func(text string, there bool) bool { return there && text == "the editor's\n" },
	},
	{
		"appends to",
		func(path string) error { return put(path, os.O_APPEND, "appended\n") },
		func(text string, there bool) bool { return there && strings.HasSuffix(text, "appended\n") },
	},
	{"removes", os.Remove, func(_ string, there bool) bool { return !there }},
}

// put writes to a file in place. When the system has it wait for the file, it
// goes on elsewhere: the editor is another process.
func put(path string, flags int, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|nonblock|flags, 0o644)
	if err != nil && isBusy(err) {
		waiting.Go(func() {
			f, err := os.OpenFile(path, os.O_WRONLY|flags, 0o644)
			if errors.Is(err, fs.ErrNotExist) { // it went while the editor waited, who then saves it anew
				if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
					f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flags, 0o644)
				}
			}
			if err == nil {
				_, err = f.WriteString(text)
				f.Close()
			}
			if err != nil {
				panic(err)
			}
		})
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// waiting are the edits that wait for a file.
var waiting sync.WaitGroup

type edit struct {
	name string
	do   func(path string) error
	kept func(text string, there bool) bool
}

// changedFiles are those that the operation of a scene changes.
var changedFiles = []struct {
	root int
	rel  string
}{{0, "a.md"}, {0, "sub/b.md"}, {1, "new/d.md"}, {0, "e.md"}, {1, "c.md"}}

// short tells whether an interleaving is left to the long form.
func short(n int) bool { return os.Getenv("MEMLS_SOAK") == "" && n%10 != 0 }

// TestEveryInterleavingWithAnEditor has an editor change each file of an
// operation right before each call to the file system that applying, or undoing,
// makes. Whatever comes of the operation, the edit is there in the end, and all
// other files are as they were or as they should be.
func TestEveryInterleavingWithAnEditor(t *testing.T) {
	count, refused := 0, 0
	for _, undo := range []bool{false, true} {
		good := stage(t)
		if err := good.try(t.Context(), undo, false, faults{}); err != nil {
			t.Fatal(err)
		}
		want := tree(t, good.dirs...)
		for at, call := range good.f.calls {
			for n, file := range changedFiles {
				for i, e := range edits {
					if short(at + n + i) {
						continue
					}
					s := stage(t)
					s.new = s.moved(good, want)
					path := filepath.Join(s.dirs[file.root], filepath.FromSlash(file.rel))
					var edited error
					err := s.try(t.Context(), undo, false, faults{at: at, act: func() { edited = e.do(path) }})
					what := fmt.Sprintf("undo %v, before call %d (%s %s) the editor %s %s, answered %v",
						undo, at, call.Op, filepath.Base(call.Path), e.name, file.rel, err)
					count++
					if err != nil {
						refused++
						if r, ok := errors.AsType[*memory.Refusal](err); !ok || r.Kind != memory.RefusedConflict && r.Kind != memory.RefusedStale {
							t.Error(what)
						}
					}
					s.editKept(what, path, e, edited, err == nil, err != nil)
				}
			}
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d interleavings, %d of them refused; 0 edits lost", count, refused)
}

// TestEditsBetweenACrashAndRecovery has a process killed at each call, an editor
// change a file before the next start, and that recover.
func TestEditsBetweenACrashAndRecovery(t *testing.T) {
	count, back := 0, 0
	for _, undo := range []bool{false, true} {
		good := stage(t)
		if err := good.try(t.Context(), undo, false, faults{}); err != nil {
			t.Fatal(err)
		}
		want := tree(t, good.dirs...)
		for at, call := range good.f.calls {
			for n, file := range changedFiles {
				for i, e := range edits {
					if short(at + n + i) {
						continue
					}
					s := stage(t)
					s.new = s.moved(good, want)
					path := filepath.Join(s.dirs[file.root], filepath.FromSlash(file.rel))
					err := s.try(t.Context(), undo, false, faults{at: at, err: errKilled, lasting: true})
					edited := e.do(path)
					*s.f = faults{}
					found, rerr := s.again(nil).Recover(t.Context())
					what := fmt.Sprintf("undo %v, killed at call %d (%s %s), then the editor %s %s, recovered %+v, %v",
						undo, at, call.Op, filepath.Base(call.Path), e.name, file.rel, found, rerr)
					if rerr != nil {
						t.Error(what)
					}
					count++
					if len(found) > 0 && !found[0].Finished {
						back++
					}
					s.editKept(what, path, e, edited, err == nil, false)
				}
			}
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d interleavings, %d of them rolled back; 0 edits lost", count, back)
}

// editKept holds that an edit, if it came about, is there, and that the other
// files are all new or all old; which, may be known.
func (s *scene) editKept(what, path string, e edit, edited error, isNew, isOld bool) {
	s.t.Helper()
	waiting.Wait()
	now, old, new := files(tree(s.t, s.dirs...)), files(s.old), files(s.new)
	if edited == nil {
		text, there := now[path]
		if !e.kept(text, there) && !s.rescued(e) {
			s.t.Errorf("%s: in the end there is %q, %v", what, text, there)
		}
		delete(now, path)
		delete(old, path)
		delete(new, path)
	}
	switch {
	case isNew && !maps.Equal(now, new), isOld && !maps.Equal(now, old), !maps.Equal(now, new) && !maps.Equal(now, old):
		s.t.Errorf("%s: the others:\n%s", what, difference(now, old, new))
	}
	for path := range tree(s.t, s.state) {
		if strings.Contains(path, "/journal/") {
			s.t.Errorf("%s: left behind: %s", what, path)
		}
	}
}

// rescued tells whether an edit was kept aside: there was no moment at which it
// could have got its place.
func (s *scene) rescued(e edit) bool {
	for path, text := range tree(s.t, s.state) {
		if strings.Contains(path, "/rescued/") && e.kept(text, true) {
			return true
		}
	}
	return false
}

// TestLOSS_02_BytesOutsideTheEntryStay removes any entry of any file, and brings
// it back.
func TestLOSS_02_BytesOutsideTheEntryStay(t *testing.T) {
	s := openStore(t, nil)
	checked := 0
	rapid.Check(t, func(r *rapid.T) {
		eol := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(r, "eol")
		var b strings.Builder
		if rapid.Bool().Draw(r, "header") {
			b.WriteString("---\nname: \"A\"  # why\nx: &a [1, 2]\ny: *a\n---\n")
		}
		for range rapid.IntRange(1, 8).Draw(r, "blocks") {
			b.WriteString(rapid.SampledFrom([]string{
				"# Heading\n", "- item\n  - nested\n    **Why:** because\n", "* star\n", "paragraph\nof two lines\n\n", "\n", "\n\n",
				"```go\nfunc f() {}\n\n- no item\n```\n", "1. first\n\n   How to apply: so\n", "---\n", "> quote\n", "日本語の段落。\n\n", "   \n",
				"| a | b |\n|---|---|\n", "last line without an end",
			}).Draw(r, "block"))
		}
		text := strings.ReplaceAll(b.String(), "\n", eol)
		if rapid.Bool().Draw(r, "bom") {
			text = "\uFEFF" + text
		}
		if rapid.IntRange(0, 9).Draw(r, "stray") == 0 {
			text += "\xff\x80 stray" + eol // at the start of a file FF FE would be a byte order mark, and removing all before it is refused
		}
		write(s.t, s.dirs[0], "a.md", text)
		d := s.doc(0, "a.md")
		entries := memory.Entries(d)
		if len(entries) == 0 {
			return
		}
		span := rapid.SampledFrom(entries).Draw(r, "entry").Removal(d)
		op, err := s.Do(t.Context(), memory.Draft{Kind: memory.KindForget, Edits: []memory.Edit{
			{Action: memory.ActionUpdate, Doc: d, Replace: []memory.Replacement{{Span: span}}},
		}})
		if err != nil {
			r.Fatal(err)
		}
		// The bytes before and behind the entry, with those of its own gone.
		got := s.read(0, "a.md")
		head, tail := 0, 0
		for head < min(len(got), len(text)) && got[head] == text[head] {
			head++
		}
		for tail < min(len(got), len(text))-head && got[len(got)-1-tail] == text[len(text)-1-tail] {
			tail++
		}
		if head+tail != len(got) {
			r.Fatalf("%q became %q: bytes outside the entry changed", text, got)
		}
		if want := d.Text[:span.Start] + d.Text[span.End:]; memory.Parse([]byte(got)).Text != want {
			r.Fatalf("%q became %q, want the text %q", text, got, want)
		}
		if _, err := s.Undo(t.Context(), op.ID); err != nil {
			r.Fatal(err)
		}
		if got := s.read(0, "a.md"); got != text {
			r.Fatalf("brought back is %q, was %q", got, text)
		}
		checked++
	})
	t.Logf("%d removals; bytes changed outside the entry: 0", checked)
}
