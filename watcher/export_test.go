package watcher

import (
	"io/fs"
	"time"
)

// Source is the seam between the watcher and the operating system's events.
type Source = eventSource

// OpenReal opens the real source.
func OpenReal() (Source, error) { return openFsnotify() }

// ListReal is the real listing of a directory.
func ListReal(dir string) ([]fs.DirEntry, error) { return listDir(dir) }

func (o Options) WithSource(open func() (Source, error)) Options { o.open = open; return o }

func (o Options) WithList(list func(string) ([]fs.DirEntry, error)) Options { o.list = list; return o }

func (o Options) WithFSKind(kind func(string) (string, bool)) Options { o.fsKind = kind; return o }

// WithPollInterval sets the bounds of the time between sweeps in ModePoll.
func (o Options) WithPollInterval(busy, idle time.Duration) Options {
	o.pollMin, o.pollMax = busy, idle
	return o
}

// WithEventFiles sets the number of files above which events are too dear.
func (o Options) WithEventFiles(n int) Options { o.eventFiles = n; return o }

// WithBlindCTime pretends that change times do not follow content.
func (o Options) WithBlindCTime() Options { o.blindCTime = true; return o }
