package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// showsColor tells whether a console obeys escape sequences, after asking it to.
func showsColor(f *os.File) bool {
	h := windows.Handle(f.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(h, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
