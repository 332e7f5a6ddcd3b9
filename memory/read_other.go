//go:build !unix

package memory

import "os"

// openFlags are plain where no FIFO lies among files. That nothing was swapped
// for a link is checked on the open file.
const openFlags = os.O_RDONLY
