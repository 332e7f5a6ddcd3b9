//go:build unix

package memory

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// onFD calls f with the descriptor of a file that stays open meanwhile.
func onFD(file *os.File, f func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := conn.Control(func(fd uintptr) { err = f(int(fd)) }); cerr != nil {
		return cerr
	}
	return err
}

// syncDir makes renames in a directory last. File systems that cannot do it for
// directories do it by themselves.
func syncDir(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// keepOwner gives a file the owner and group of another one, when they differ.
func keepOwner(file *os.File, like fs.FileInfo) error {
	if like == nil {
		return nil
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	want, okWant := like.Sys().(*syscall.Stat_t)
	have, okHave := info.Sys().(*syscall.Stat_t)
	if !okWant || !okHave || want.Uid == have.Uid && want.Gid == have.Gid {
		return nil
	}
	return file.Chown(int(want.Uid), int(want.Gid))
}

func isReadOnlyFS(err error) bool { return errors.Is(err, syscall.EROFS) }

func isNotEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)
}

// mayWrite tells why this process may not write to a file of a directory.
func mayWrite(dir *os.File, name string) error {
	return onFD(dir, func(fd int) error { return unix.Faccessat(fd, name, unix.W_OK, unix.AT_EACCESS) })
}

// linksOf is how many names a file has.
func linksOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // its size depends on the system
	}
	return 1
}
