package main

import (
	"errors"
	"fmt"
)

// The exit codes of every subcommand. They are told in exitHelp.
const (
	exitOK      = 0
	exitNothing = 1
	exitUsage   = 2
	exitFailure = 3
)

const exitHelp = `
Exit codes: 0 found, or done; 1 nothing found or done, or you said no (eval:
below the figure asked for; status: no root can be read; doctor: something is
wrong; serve: the connection ended without a shutdown); 2 wrong usage or bad
input; 3 it cannot be done here or now.`

// exitError ends the program with a code. Without an err nothing is printed:
// what there was to say has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as the caller's: a wrong flag or bad input.
func usage(err error) error { return &exitError{exitUsage, err} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// failure marks an error as the environment's.
func failure(err error) error { return &exitError{exitFailure, err} }

// exit ends the program with a code and without a message; nil for success.
func exit(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code, nil}
}

// worked types an error of a command's work, which is a failure of the
// environment unless it says otherwise. What reaches report untyped comes from
// the command-line library, and so is wrong usage.
func worked(err error) error {
	var e *exitError
	if err == nil || errors.As(err, &e) {
		return err
	}
	return failure(err)
}

// report prints why the program ends and returns its exit code.
func (p *program) report(err error) int {
	var e *exitError
	if !errors.As(err, &e) {
		e = &exitError{exitUsage, err}
	}
	if e.err != nil {
		// err, not e.err: what was wrapped around says where.
		fmt.Fprintf(p.stderr, "memls: %s\n", safeLine(err.Error()))
	}
	return e.code
}
