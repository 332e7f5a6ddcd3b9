//go:build !windows

package main

import "os"

// showsColor tells whether a terminal obeys escape sequences.
func showsColor(*os.File) bool { return true }
