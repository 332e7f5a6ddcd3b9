//go:build !linux && !darwin && !windows

package watcher

import "io/fs"

const (
	platformBlindCTime = true
	platformEventFiles = 4096 // see sig_darwin.go: most of these systems use kqueue
	watchAbove         = false
)

func sigOf(fi fs.FileInfo) Sig {
	return Sig{Size: fi.Size(), MTime: fi.ModTime().UnixNano()}
}
