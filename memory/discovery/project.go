package discovery

import (
	"os"
	"path/filepath"
	"strings"
)

// key is the directory by whose path programs name the project's memory.
func (p Project) key() string {
	if p.Main != "" {
		return p.Main
	}
	return p.Root
}

// home is the folder in which the project keeps what it keeps in itself: that of
// the main worktree when it is shared.
func (p Project) home() string {
	rel, err := filepath.Rel(p.Root, p.Folder)
	if p.Main == "" || err != nil {
		return p.Folder
	}
	return filepath.Join(p.Main, rel)
}

// projectOf finds the project that a folder belongs to.
func (f *finder) projectOf(folder string) Project {
	p := Project{Folder: folder, Root: folder}
	for dir := folder; ; {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			p.Root, p.Git = dir, true
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return p
		}
		dir = parent
	}
	if !f.req.Trusted {
		// What a worktree belongs to stands in a file of the workspace.
		if f.req.Share && isFile(filepath.Join(p.Root, ".git")) {
			f.note("%s may be a linked worktree; it shares no memory while the workspace is not trusted", p.Root)
		}
		return p
	}
	main, err := mainWorktree(p.Root)
	switch {
	case err != nil:
		f.note("%s: %v; it has a memory of its own", p.Root, err)
	case f.req.Share:
		p.Main = main
	default:
		p.linked = main
	}
	return p
}

// spellings are the paths of one directory that a program may have made a name
// of: as it is known to the client, and without symlinks.
func spellings(dir string) []string {
	if real := resolved(dir); real != dir {
		return []string{dir, real}
	}
	return []string{dir}
}

// openedMemory is the directory of memories below projects/NAME that a folder is
// or lies in, when a person opens the memories themselves; empty otherwise.
func openedMemory(base, folder string) string {
	rel, err := filepath.Rel(filepath.Join(base, "projects"), folder)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if len(parts) < 2 || parts[1] != "memory" {
		return ""
	}
	return filepath.Join(base, "projects", parts[0], "memory")
}

func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// maxGitFile bounds the files of git that name a path.
const maxGitFile = 16 << 10

// readPath reads the path that a file of git names, relative to the directory of
// the file.
func readPath(file, prefix string) (string, error) {
	raw, err := readSmall(file, maxGitFile)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	path := strings.TrimSpace(strings.TrimPrefix(strings.TrimRight(line, "\r"), prefix))
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), filepath.FromSlash(path))
	}
	return filepath.Clean(path), nil
}
