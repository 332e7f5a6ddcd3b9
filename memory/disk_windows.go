package memory

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// syncDir does nothing: names need no flushing here.
func syncDir(*os.File) error { return nil }

// keepOwner does nothing: a new file inherits its rights from its directory.
func keepOwner(*os.File, fs.FileInfo) error { return nil }

func isReadOnlyFS(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

func isNotEmpty(err error) bool { return errors.Is(err, windows.ERROR_DIR_NOT_EMPTY) }

// mayWrite knows no more than the mode of the file does.
func mayWrite(*os.File, string) error { return nil }

// linksOf is 1: how many names a file has is not told with its other facts here.
func linksOf(fs.FileInfo) uint64 { return 1 }
