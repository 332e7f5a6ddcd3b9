//go:build !linux && !darwin

package watcher

// fsKind leaves the question to the self-test: the system has no cheap answer,
// or (Windows) its network file systems do announce changes.
func fsKind(string) (kind string, silent bool) { return "", false }
