//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// guardStdout moves standard output to a private descriptor, which it returns
// for the protocol, and points descriptor 1 at standard error: what a library
// or a child process prints cannot break a frame any more. It must run before
// anything else uses standard output. Children do not inherit the descriptor.
func guardStdout() (*os.File, error) {
	private, err := unix.FcntlInt(uintptr(unix.Stdout), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("move standard output aside: %w", err)
	}
	if err := unix.Dup2(unix.Stderr, unix.Stdout); err != nil {
		return nil, errors.Join(fmt.Errorf("point standard output at standard error: %w", err), unix.Close(private))
	}
	os.Stdout = os.Stderr
	return os.NewFile(uintptr(private), "protocol"), nil
}

// processAlive says whether a process with this id runs. One that belongs to
// somebody else cannot be signalled, but lives.
func processAlive(pid int) bool {
	return !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}
