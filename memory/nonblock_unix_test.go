//go:build unix

package memory_test

import (
	"errors"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

func isBusy(err error) bool { return errors.Is(err, syscall.EAGAIN) }
