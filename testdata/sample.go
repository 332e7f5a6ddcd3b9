// Package testdata carries the sample memory of an invented project into the
// binary, so that a first recall needs no set-up. README.md in memory tells
// what it is.
package testdata

import (
	"embed"
	"io/fs"
)

//go:embed memory/project memory/user
var files embed.FS

// Sample is the sample memory: one folder a root, project and user.
func Sample() fs.FS {
	sub, err := fs.Sub(files, "memory")
	if err != nil {
		// Inv: the name is valid, which is all that Sub looks at.
		panic(err)
	}
	return sub
}
