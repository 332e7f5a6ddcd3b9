package watcher

import "golang.org/x/sys/unix"

// silentKinds are file systems on which others change files without an event for
// us, by the magic number of statfs(2). VFS-level events of our own machine do
// arrive there, which is why a try would not tell.
var silentKinds = map[uint32]string{
	unix.NFS_SUPER_MAGIC:   "nfs",
	unix.SMB_SUPER_MAGIC:   "smb",
	unix.CIFS_SUPER_MAGIC:  "cifs",
	unix.SMB2_SUPER_MAGIC:  "smb2",
	unix.V9FS_MAGIC:        "9p", // /mnt/c in WSL 2
	unix.FUSE_SUPER_MAGIC:  "fuse",
	unix.AFS_FS_MAGIC:      "afs",
	unix.AFS_SUPER_MAGIC:   "afs",
	unix.CEPH_SUPER_MAGIC:  "ceph",
	unix.CODA_SUPER_MAGIC:  "coda",
	unix.OCFS2_SUPER_MAGIC: "ocfs2",
	0x0BD00BD0:             "lustre",
	0x786F4256:             "vboxsf",
	unix.PROC_SUPER_MAGIC:  "proc",
	unix.SYSFS_MAGIC:       "sysfs",
}

// fsKind says whether changes on the file system of dir may come without events,
// and its name if so. When it cannot tell, the self-test will.
func fsKind(dir string) (kind string, silent bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false
	}
	kind, silent = silentKinds[uint32(st.Type)]
	return kind, silent
}
