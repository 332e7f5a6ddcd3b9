//go:build windows

package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// guardStdout moves standard output to a private handle, which it returns for
// the protocol, and points the standard handle at standard error: what a
// library or a child process prints cannot break a frame any more. It must
// run before anything else uses standard output. Children do not inherit the
// handle.
func guardStdout() (*os.File, error) {
	self := windows.CurrentProcess()
	var private windows.Handle
	err := windows.DuplicateHandle(self, windows.Handle(os.Stdout.Fd()), self, &private, 0, false, windows.DUPLICATE_SAME_ACCESS)
	if err != nil {
		return nil, fmt.Errorf("move standard output aside: %w", err)
	}
	if err := windows.SetStdHandle(windows.STD_OUTPUT_HANDLE, windows.Handle(os.Stderr.Fd())); err != nil {
		return nil, fmt.Errorf("point standard output at standard error: %w", err)
	}
	os.Stdout = os.Stderr
	return os.NewFile(uintptr(private), "protocol"), nil
}

// processAlive says whether a process with this id runs. One that may not be
// opened lives.
func processAlive(pid int) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return err != windows.ERROR_INVALID_PARAMETER
	}
	defer func() { _ = windows.CloseHandle(h) }()
	state, err := windows.WaitForSingleObject(h, 0)
	return err != nil || state == uint32(windows.WAIT_TIMEOUT)
}
