//go:build unix

package memory

import (
	"os"
	"syscall"
)

// openFlags make opening harmless whatever a name turns out to be: a FIFO that
// took a file's place does not block, and a symlink at the end is not followed.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW
