//go:build !linux && !darwin

package memory

import "os"

// exchange does not exist here: what is replaced is compared before instead.
func exchange(*os.File, string, string) error { return errUnsupported }

// placeNew does not exist here: a hard link does the same.
func placeNew(*os.File, string, string) error { return errUnsupported }

// lease does not exist here: what is displaced is compared afterwards only.
func lease(*os.File) error { return errUnsupported }

func leaseWanted(*os.File) bool { return false }

func endLease(*os.File) {}
