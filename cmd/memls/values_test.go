package main

import (
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptValues keeps one value for each script that runs.
type scriptValues[T any] struct {
	mu sync.Mutex
	of map[*testscript.TestScript]T
}

func (v *scriptValues[T]) set(ts *testscript.TestScript, value T) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil {
		v.of = map[*testscript.TestScript]T{}
	}
	v.of[ts] = value
}

func (v *scriptValues[T]) get(ts *testscript.TestScript) (T, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	value, ok := v.of[ts]
	return value, ok
}
