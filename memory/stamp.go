package memory

import (
	"io/fs"
	"time"
)

// stamp is what a stat says of a file whose bytes were read. The device is not part of
// it: its number may be another after a restart of the machine.
type stamp struct {
	size, mtime, ctime int64 // times in nanoseconds since 1970; ctime as far as the system has one
	ino                uint64
	// clean tells that the time stamps were so old when the bytes were read that no
	// later change can bear the same.
	clean bool
}

// racyWindow is the default of [ImageOptions].Aged.
const racyWindow = 2 * time.Second

// stampOf is the stamp of a file that is about to be read at the given time, when what
// is as old as aged may be relied on.
func stampOf(info fs.FileInfo, now time.Time, aged time.Duration) stamp {
	s := stamp{size: info.Size(), mtime: info.ModTime().UnixNano()}
	s.ctime, s.ino = inodeOf(info)
	s.clean = max(s.mtime, s.ctime) < now.Add(-aged).UnixNano()
	return s
}

// proves tells whether a file that has the stat now has the bytes that were read.
func (s stamp) proves(info fs.FileInfo) bool {
	if !s.clean || s.size != info.Size() || s.mtime != info.ModTime().UnixNano() {
		return false
	}
	ctime, ino := inodeOf(info)
	return s.ctime == ctime && s.ino == ino
}
