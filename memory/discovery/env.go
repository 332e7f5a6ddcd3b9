package discovery

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Env is what discovery knows of the machine and its user. The zero value of each
// field means the stated default.
type Env struct {
	Getenv func(string) string // default: os.Getenv
	Home   string              // default: the user's home directory
	Temp   string              // default: os.TempDir
	// State is the directory for the records of memls; empty: none are kept.
	State string

	windows bool
}

func (e Env) withDefaults() Env {
	if e.Getenv == nil {
		e.Getenv = os.Getenv
	}
	e.windows = runtime.GOOS == "windows"
	if e.Home == "" {
		e.Home = e.Getenv(e.either("HOME", "USERPROFILE"))
	}
	if e.Temp == "" {
		e.Temp = os.TempDir()
	}
	return e
}

// either is the first, or the second on Windows.
func (e Env) either(others, windows string) string {
	if e.windows {
		return windows
	}
	return others
}

// dataHome is where the data of memls lies; empty when there is no home.
func (e Env) dataHome() string {
	if dir := e.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "memls")
	}
	if dir := e.Getenv("LOCALAPPDATA"); e.windows && filepath.IsAbs(dir) {
		return filepath.Join(dir, "memls")
	}
	if e.Home == "" {
		return ""
	}
	return filepath.Join(e.Home, ".local", "share", "memls")
}

// expand puts the home directory in the place of a leading ~. ok is false for a
// path that is not absolute then.
func (e Env) expand(path string) (string, bool) {
	if path == "~" || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, `~\`) {
		if e.Home == "" {
			return "", false
		}
		path = filepath.Join(e.Home, filepath.FromSlash(strings.ReplaceAll(path[1:], `\`, "/")))
	}
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", false
	}
	return filepath.Clean(path), true
}
