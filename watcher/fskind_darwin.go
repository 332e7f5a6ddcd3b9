package watcher

import "golang.org/x/sys/unix"

// fsKind says whether changes on the file system of dir may come without events,
// and its name if so. When it cannot tell, the self-test will.
func fsKind(dir string) (kind string, silent bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false
	}
	kind = unix.ByteSliceToString(st.Fstypename[:])
	switch kind {
	case "nfs", "smbfs", "afpfs", "webdav", "osxfuse", "macfuse":
		return kind, true
	}
	return "", false
}
