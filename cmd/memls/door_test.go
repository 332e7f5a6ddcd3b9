package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// changers are the functions, and methods of os.Root and os.File, that change what is on a disk. OpenFile counts only when it is
// told to write.
var changers = []string{
	"OpenFile", "Create", "CreateTemp", "MkdirTemp", "WriteFile", "Mkdir", "MkdirAll", "Rename", "Renameat", "Renameat2", "RenameatxNp",
	"RenamexNp", "Remove", "RemoveAll", "Unlink", "Unlinkat", "Link", "Linkat", "Symlink", "Truncate", "Ftruncate", "WriteAt",
	"Chmod", "Fchmod", "Chown", "Lchown", "Chtimes", "CopyFS", "MoveFileEx", "ReplaceFile",
}

// mayChange names the files of code that change something on a disk, and what. Only those of the first group know memory files.
var mayChange = map[string]string{
	"memory/disk.go":        "the door: every change of a memory file, asked for by memory.Store alone",
	"memory/disk_linux.go":  "the door, as this system has it",
	"memory/disk_darwin.go": "the door, as this system has it",
	"memory/disk_unix.go":   "the door, as these systems have it",

	"memory/lock.go":              "the lock file in the state directory",
	"memory/discovery/claims.go":  "records in the state directory",
	"memory/discovery/trust.go":   "records in the state directory",
	"memory/activity/activity.go": "the activity log in the state directory",
	"memory/activity/stats.go":    "the figures of use in the state directory",
	"memory/vectors/vectors.go":   "vectors, and the account of them, in the state directory",
	"lsp/activity.go":             "the folder of the activity log in the state directory",
	"watcher/watches.go":          "watches, which are no files",
	"recall/eval/files.go":        "the temporary directory of an evaluation",
	"cmd/memls/eval_delivery.go":  "the temporary directory of an evaluation",
	"cmd/memls/bench_store.go":    "the temporary directories of a measurement",
	"cmd/memls/logging.go":        "the log file that was asked for",
	"cmd/memls/roots.go":          "the temporary directory of the sample memory",
}

// TestOneDoor holds that no code but the store's opens, makes, renames or removes a memory file for writing. Inv: whoever needs to
// change something else on a disk is listed above, with the reason.
func TestOneDoor(t *testing.T) {
	seen := map[string]bool{}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, p := range packages(t, goos) {
			dir, _ := rel(p.ImportPath)
			for _, name := range p.GoFiles {
				file := path.Join(dir, name)
				for _, at := range changes(t, filepath.Join(p.Dir, name)) {
					seen[file] = true
					if mayChange[file] == "" {
						t.Errorf("%s changes something on a disk: %s", file, at)
					}
				}
			}
		}
	}
	for file := range mayChange {
		if !seen[file] {
			t.Errorf("%s may change something and does not: take it off the list", file)
		}
	}
	if !seen["memory/disk.go"] || len(seen) < 5 {
		t.Errorf("the scan found only %v", seen)
	}
}

// changes are the calls in a file that change something on a disk.
func changes(t *testing.T, file string) []string {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !touchesFiles(parsed) {
		return nil
	}
	var found []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains(changers, sel.Sel.Name) {
			return true
		}
		found = append(found, set.Position(sel.Pos()).String()+" "+sel.Sel.Name)
		return true
	})
	if len(found) > 0 && readsOnly(parsed) {
		return nil
	}
	return found
}

// touchesFiles tells whether a file knows a package through which files can be changed.
func touchesFiles(f *ast.File) bool {
	for _, imp := range f.Imports {
		name, err := strconv.Unquote(imp.Path.Value)
		if err == nil && (name == "os" || name == "syscall" || strings.HasPrefix(name, "golang.org/x/sys/")) {
			return true
		}
	}
	return false
}

// readsOnly tells whether all that a file does of the kind is to open files, with flags that are not for writing.
func readsOnly(f *ast.File) bool {
	only := true
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch name := sel.Sel.Name; {
		case name == "OpenFile":
		case slices.Contains(changers, name), slices.Contains([]string{"O_WRONLY", "O_RDWR", "O_CREATE", "O_APPEND", "O_TRUNC"}, name):
			only = false
		}
		return true
	})
	return only
}
