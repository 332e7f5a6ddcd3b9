package main

import (
	"fmt"
	"log/slog"
	"os"
)

var logLevels = []string{"debug", "info", "warn", "error", "off"}

// logger opens the log that the flags ask for, at the given level unless they
// name one. It goes to standard error or a file, never to standard output.
func (p *program) logger(level slog.Level) (log *slog.Logger, closeLog func(), err error) {
	closeLog = func() {}
	switch p.logLevel {
	case "":
	case "off":
		return slog.New(slog.DiscardHandler), closeLog, nil
	case "debug", "info", "warn", "error":
		if err := level.UnmarshalText([]byte(p.logLevel)); err != nil {
			return nil, nil, usage(err)
		}
	default:
		return nil, nil, usagef("--log-level %q is none of debug, info, warn, error, off", p.logLevel)
	}
	out := p.stderr
	if p.logFile != "" {
		// 0600: a log names files and what is wrong with them.
		file, err := os.OpenFile(p.logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, failure(fmt.Errorf("open the log: %w", err))
		}
		out, closeLog = file, func() { file.Close() }
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})), closeLog, nil
}
