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

// lease keeps programs from opening a file for writing, until it ends: they wait
// in their call. The kernel grants it only when none has the file open so:
// otherwise the error is errWriting, and errUnsupported where there are no leases.
func lease(f *os.File) error {
	err := setLease(f, unix.F_RDLCK)
	if errors.Is(err, unix.EAGAIN) {
		return errWriting
	}
	if err != nil {
		return errUnsupported
	}
	return nil
}

// leaseWanted tells whether some program waits for a lease to end.
func leaseWanted(f *os.File) bool {
	now := unix.F_RDLCK
	err := onFD(f, func(fd int) (err error) {
		now, err = unix.FcntlInt(uintptr(fd), unix.F_GETLEASE, 0)
		return err
	})
	return err == nil && now != unix.F_RDLCK
}

// endLease ends a lease, which the end of the descriptor would do as well.
func endLease(f *os.File) { _ = setLease(f, unix.F_UNLCK) }

func setLease(f *os.File, kind int) error {
	return onFD(f, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, kind)
		return err
	})
}
