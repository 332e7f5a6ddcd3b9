//go:build unix

package memory

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLock takes the kernel's lock of an open file without waiting. It ends with
// the descriptor, at the latest with the process.
func tryLock(f *os.File) error {
	err := onFD(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errHeld
	}
	return err
}

func unlock(f *os.File) error {
	return onFD(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) })
}

// processAlive tells whether there is such a process, whoever's it is.
func processAlive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
