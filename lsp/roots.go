package lsp

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"go.lsp.dev/uri"

	"github.com/memls/memls/memory"
)

// checkRoots refuses roots that the client named in a way that depends on where
// the server happens to run.
func checkRoots(s Settings) error {
	for i, r := range s.Roots {
		if _, err := rootPath(r.Path); err != nil {
			return InvalidParam(fmt.Sprintf("roots[%d].path", i), "%v", err)
		}
	}
	return nil
}

// rootPath is the directory that a root option names: an absolute path or a
// file URI.
func rootPath(path string) (string, error) {
	switch {
	case strings.ContainsRune(path, 0):
		return "", errors.New("holds a NUL byte")
	case strings.HasPrefix(path, "file:"):
		return filePath(path)
	case strings.Contains(path, "://"):
		return "", fmt.Errorf("%q is no file URI", short(path))
	case strings.HasPrefix(path, "~"):
		return "", fmt.Errorf("%q is not absolute; the server does not expand ~", short(path))
	case !filepath.IsAbs(path):
		return "", fmt.Errorf("%q is not absolute", short(path))
	}
	return filepath.Clean(path), nil
}

// filePath is the path of a file URI.
func filePath(s string) (string, error) {
	u, err := uri.Parse(s)
	switch {
	case err != nil || !u.IsFile():
		return "", fmt.Errorf("%q is no file URI", short(s))
	case !strings.HasPrefix(s, "file:/"):
		return "", fmt.Errorf("%q is not absolute", short(s))
	case u.Authority() != "" && runtime.GOOS != "windows":
		return "", fmt.Errorf("%q is on another host", short(s))
	}
	path := filepath.Clean(u.FsPath())
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%q names no absolute path", short(s))
	}
	return path, nil
}

// folderKey tells workspace folders apart: the path of a file URI, another URI
// as it stands.
func folderKey(folder string) string {
	if path, err := filePath(folder); err == nil {
		return path
	}
	return folder
}

// workspace are the folders that the client has open.
type workspace struct {
	keys  []string // as folderKey has them, in the client's order
	reals []string // the same without symlinks
}

func newWorkspace(folders []Folder) workspace {
	var w workspace
	for _, f := range folders {
		key := folderKey(f.URI)
		w.keys = append(w.keys, key)
		w.reals = append(w.reals, withoutLinks(key))
	}
	return w
}

// withoutLinks resolves the symlinks of a path as far as it exists.
func withoutLinks(path string) string {
	for dir, rest := path, ""; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return path
		}
		dir, rest = parent, filepath.Join(filepath.Base(dir), rest)
	}
}

// first is the folder that stands for none; empty without folders.
func (w workspace) first() string {
	if len(w.keys) == 0 {
		return ""
	}
	return w.keys[0]
}

// holding is the innermost folder that path lies in, by its name or by what it
// leads to: a link in a workspace is as much the workspace's as a directory is.
func (w workspace) holding(path string) (folder string, ok bool) {
	real := withoutLinks(path)
	for i, key := range w.keys {
		if (within(key, path) || within(w.reals[i], real)) && len(key) > len(folder) {
			folder, ok = key, true
		}
	}
	return folder, ok
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// rootConfigs are the roots to serve under the given settings: those of the
// client, or where it names none those that the server was started with. The
// latter were named by whoever started it, and bring their trust along.
func rootConfigs(s Settings, w workspace, given []memory.RootConfig) ([]memory.RootConfig, error) {
	var configs []memory.RootConfig
	if !s.RootsGiven {
		for _, c := range given {
			path, err := filepath.Abs(c.Path)
			if err != nil {
				return nil, fmt.Errorf("root %s: %w", c.Path, err)
			}
			if folder, ok := w.holding(path); ok && c.Folders == "" && c.Scope != memory.ScopeUser {
				c.Folders = memory.InFolders(folder)
			}
			configs = append(configs, c)
		}
		return configs, nil
	}
	for i, r := range s.Roots {
		path, err := rootPath(r.Path)
		if err != nil {
			return nil, InvalidParam(fmt.Sprintf("roots[%d].path", i), "%v", err)
		}
		c := memory.RootConfig{Scope: memory.Scope(r.Scope), Path: path, ReadOnly: r.ReadOnly}
		folder, inside := w.holding(path)
		c.Untrusted = inside && !s.Trusted
		if inside && c.Scope != memory.ScopeUser {
			c.Folders = memory.InFolders(folder)
		}
		configs = append(configs, c)
	}
	return configs, nil
}
