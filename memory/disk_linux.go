package memory

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps two names in a directory in one step.
func exchange(dir *os.File, a, b string) error { return renameat2(dir, a, b, unix.RENAME_EXCHANGE) }

// placeNew renames without replacing.
func placeNew(dir *os.File, from, to string) error {
	return renameat2(dir, from, to, unix.RENAME_NOREPLACE)
}

func renameat2(dir *os.File, from, to string, flags uint) error {
	err := onFD(dir, func(fd int) error { return unix.Renameat2(fd, from, fd, to, flags) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return errUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// beingWritten tells whether some program has the file open for writing. The
// kernel grants a read lease only when none has. Where there are no leases the
// answer is no.
func beingWritten(f *os.File) bool {
	err := onFD(f, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
		if err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
		}
		return err
	})
	return errors.Is(err, unix.EAGAIN)
}
