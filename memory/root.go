package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// RootConfig is a root as it was configured or discovered.
type RootConfig struct {
	Scope    Scope
	Path     string // absolute, or relative to the working directory
	ReadOnly bool
	Folders  Folders // the workspace folders that the root belongs to
	// Untrusted roots are listed and never opened.
	Untrusted bool
	// Profile is the layout that the root was found by, as "qwen"; empty for one
	// that was named.
	Profile string
	// Refused is why the root must not be served, empty if it may be: such a root
	// is listed with the reason and never opened.
	Refused string
}

// Root is a directory with a scope. Inv: immutable.
type Root struct {
	ID    string // first 8 hex digits of sha256 of Real
	Scope Scope
	Path  string // as configured, absolute
	Real  string // without symlinks, resolved once; no file of the root is reached through one
	// Folders are the workspace folders that the root belongs to.
	Folders Folders
	Profile string // the layout it was found by; empty for one that was named
	// Order is the place among the served roots, which decides ties.
	Order     int
	Prefix    string // what refs begin with: "project", or "project@1a2b3c4d" unless first of its scope
	ReadOnly  bool
	Untrusted bool
	Refused   string // why it must not be served; empty if it may be
	// Also are the other scopes that the same directory was named under, in vain,
	// parted by blanks.
	Also string
}

// closed tells whether nothing of the root may be looked at.
func (r *Root) closed() bool { return r.Untrusted || r.Refused != "" }

// resolvedRoot is a root with what its watcher and its readers have to know.
type resolvedRoot struct {
	*Root
	// inner are the folders below the root that are roots themselves. Such a
	// folder belongs to the inner root alone, whose scope, trust and permissions
	// are the closer ones, so that no file is served twice or under a laxer rule.
	inner []innerRoot
	// fault is why the root cannot be served as configured; missing says that
	// this is only because it does not exist yet.
	fault   string
	missing bool
}

type innerRoot struct{ rel, prefix string }

// resolveRoots makes roots of their configuration, in its order. The same
// directory named twice is one root, restricted as the stricter of the two.
// An error means that the configuration itself is wrong; a root that is not
// there, or no directory, is none.
func resolveRoots(configs []RootConfig) ([]resolvedRoot, error) {
	var roots []resolvedRoot
	seen := map[Scope]bool{}
	for _, c := range configs {
		if !c.Scope.Valid() {
			return nil, fmt.Errorf("root %q: unknown scope %q", c.Path, c.Scope)
		}
		if c.Path == "" {
			return nil, fmt.Errorf("root of scope %q without a path", c.Scope)
		}
		r, err := resolveRoot(c)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(roots, func(o resolvedRoot) bool { return sameDirectory(o, r) }); i >= 0 {
			roots[i].ReadOnly = roots[i].ReadOnly || r.ReadOnly
			roots[i].Untrusted = roots[i].Untrusted || r.Untrusted
			roots[i].Folders = roots[i].Folders.join(r.Folders)
			roots[i].also(r.Scope)
			if r.Refused != "" {
				roots[i].Refused, roots[i].fault, roots[i].missing = r.Refused, r.fault, false
			}
			continue
		}
		r.Order = len(roots)
		r.Prefix = string(r.Scope)
		if seen[r.Scope] {
			r.Prefix += "@" + r.ID
		}
		seen[r.Scope] = true
		roots = append(roots, r)
	}
	for i := range roots {
		for j := range roots {
			if rel, ok := below(roots[i].Real, roots[j].Real); i != j && ok {
				roots[i].inner = append(roots[i].inner, innerRoot{rel, roots[j].Prefix})
			}
		}
	}
	return roots, nil
}

func resolveRoot(c RootConfig) (resolvedRoot, error) {
	abs, err := filepath.Abs(c.Path)
	if err != nil {
		return resolvedRoot{}, fmt.Errorf("root %q: %w", c.Path, err)
	}
	r := resolvedRoot{Root: &Root{
		Scope: c.Scope, Path: abs, Folders: c.Folders, ReadOnly: c.ReadOnly, Untrusted: c.Untrusted,
		Profile: c.Profile, Refused: c.Refused,
	}}
	real, err := resolvePath(abs)
	switch {
	case err != nil:
		real, r.fault = abs, "cannot be resolved: "+unresolved(err)
	case c.Refused != "":
		r.fault = c.Refused
	case c.Untrusted:
		// Not even looked at.
	default:
		r.fault, r.missing = directoryFault(real)
	}
	r.Real = real
	sum := sha256.Sum256([]byte(real))
	r.ID = hex.EncodeToString(sum[:])[:rootIDLen]
	return r, nil
}

// also notes a further scope that the directory was named under.
func (r *Root) also(s Scope) {
	if s != r.Scope && !slices.Contains(strings.Fields(r.Also), string(s)) {
		r.Also = strings.TrimSpace(r.Also + " " + string(s))
	}
}

// Twice says that the same directory was named under several scopes, and which
// one it is served under; empty when it was not.
func (r *Root) Twice() string {
	if r.Also == "" {
		return ""
	}
	return fmt.Sprintf("%s is named as %s and as %s; one directory has one scope, and it is served as %s",
		r.Path, r.Scope, strings.Join(strings.Fields(r.Also), " and as "), r.Scope)
}

// unresolved is why the symlinks of a path cannot be followed.
func unresolved(err error) string {
	why := reason(err)
	// Neither the error nor its text says so everywhere: a link that leads to
	// itself is followed a bounded number of times.
	if strings.Contains(why, "too many") {
		return "its symlinks lead in a circle"
	}
	return why
}

// resolvePath follows the symlinks of path as far as it exists.
func resolvePath(path string) (string, error) {
	var rest []string
	for dir := path; ; {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(append([]string{real}, rest...)...), nil
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return "", err
		}
		if info, lerr := os.Lstat(dir); lerr == nil {
			if info.Mode()&fs.ModeSymlink == 0 {
				continue // somebody has made it in this moment
			}
			return "", fmt.Errorf("symlink to nothing: %w", err)
		}
		rest = append([]string{filepath.Base(dir)}, rest...)
		dir = parent
	}
}

// directoryFault is why path is no directory that can be served, or empty.
func directoryFault(path string) (fault string, missing bool) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist", true
	case err != nil:
		return reason(err), false
	case !info.IsDir():
		return "not a directory", false
	}
	return "", false
}

// sameDirectory compares the names and, since a file system may have several
// spellings of one, what they name.
func sameDirectory(a, b resolvedRoot) bool {
	if a.Real == b.Real {
		return true
	}
	if a.closed() || b.closed() {
		return samePath(a.Real, b.Real)
	}
	x, errX := os.Lstat(a.Real)
	y, errY := os.Lstat(b.Real)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// below is the slash-separated path of inner below outer.
func below(outer, inner string) (rel string, ok bool) {
	prefix := strings.TrimSuffix(outer, string(filepath.Separator)) + string(filepath.Separator)
	if len(inner) <= len(prefix) || !samePath(inner[:len(prefix)], prefix) {
		return "", false
	}
	return filepath.ToSlash(inner[len(prefix):]), true
}

// samePath compares two paths, or names, as the usual file system of this
// operating system does.
func samePath(a, b string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// reason is an error for a person, without the path that stands beside it.
func reason(err error) string {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r.Detail
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
