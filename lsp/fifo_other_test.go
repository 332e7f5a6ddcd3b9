//go:build !unix

package lsp_test

import (
	"os"
	"testing"
)

// fifo makes a file where there are no FIFOs.
func fifo(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
