//go:build !unix

package memory_test

import (
	"os"
	"testing"
)

// fifo makes what stands for one where there are none: no regular file either.
func fifo(t *testing.T, path string) {
	t.Helper()
	if err := os.Symlink("nowhere", path); err != nil {
		t.Fatal(err)
	}
}
