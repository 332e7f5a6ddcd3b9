package lsp

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/memls/memls/memory"
)

// rootLog writes to the log what becomes of the roots, for whoever wonders why a
// memory is not recalled. The catalog's writer alone uses it.
type rootLog struct {
	said map[string]string // by path
}

// note logs what is new in the states of the roots.
func (l *rootLog) note(log *slog.Logger, roots []memory.RootStatus) {
	before := l.said
	l.said = make(map[string]string, len(roots))
	for _, r := range roots {
		state := string(r.State) + ": " + r.Reason + r.Root.Twice()
		l.said[r.Root.Path] = state
		if before[r.Root.Path] == state {
			continue
		}
		level := slog.LevelInfo
		switch r.State {
		case memory.StateError, memory.StateDegraded, memory.StateUntrusted:
			level = slog.LevelWarn
		case memory.StateMissing:
			// A place that was found and not named is where a first memory may go.
			if r.Root.Profile == "" {
				level = slog.LevelWarn
			}
		}
		args := []any{"path", r.Root.Path, "scope", r.Root.Scope, "state", r.State}
		if r.Reason != "" {
			args = append(args, "reason", r.Reason)
		}
		if r.State == memory.StateReady || r.State == memory.StateDegraded {
			args = append(args, "memories", r.Catalogued)
		}
		log.Log(context.Background(), level, "memory root", args...)
		if twice := r.Root.Twice(); twice != "" && !strings.HasSuffix(before[r.Root.Path], twice) {
			log.Warn("memory root named twice", "detail", twice)
		}
	}
}

// unserved says for a person why no memory can be recalled.
func unserved(roots []memory.RootStatus) string {
	const most = 3
	var why []string
	for _, r := range roots {
		why = append(why, fmt.Sprintf("%s: %s (%s)", r.Root.Path, either(r.Reason, "no memories"), r.State))
	}
	switch {
	case len(why) == 0:
		return "no root is named, and none was found"
	case len(why) > most:
		why = append(why[:most], fmt.Sprintf("and %d more", len(roots)-most))
	}
	return strings.Join(why, "; ")
}
