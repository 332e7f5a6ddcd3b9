package memory

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps two names in a directory in one step.
func exchange(dir *os.File, a, b string) error { return renameatx(dir, a, b, unix.RENAME_SWAP) }

// placeNew renames without replacing.
func placeNew(dir *os.File, from, to string) error { return renameatx(dir, from, to, unix.RENAME_EXCL) }

func renameatx(dir *os.File, from, to string, flags uint32) error {
	err := onFD(dir, func(fd int) error { return unix.RenameatxNp(fd, from, fd, to, flags) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
		return errUnsupported
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// lease does not exist here: what is displaced is compared afterwards only.
func lease(*os.File) error { return errUnsupported }

func leaseWanted(*os.File) bool { return false }

func endLease(*os.File) {}
