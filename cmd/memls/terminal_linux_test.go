package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal of that many columns.
func terminal(t *testing.T, columns uint16) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return screen, tty
}

// A person who starts serve at a terminal is told what it waits for; an editor,
// which starts it over pipes, is not.
func TestServeAtATerminal(t *testing.T) {
	_, tty := terminal(t, 60)
	cmd := exec.CommandContext(t.Context(), binary(t), "serve", "--log-level", "off")
	cmd.Stdin = tty
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil || !strings.Contains(line, "use memls recall") {
		t.Errorf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// On a terminal matched words are marked, unless the person or the terminal says no, and lines fit.
func TestColorsOnATerminal(t *testing.T) {
	tests := []struct {
		name string
		env  []string
		args []string
		want bool
	}{
		{"colours", []string{"TERM=xterm-256color"}, nil, true},
		{"NO_COLOR", []string{"TERM=xterm-256color", "NO_COLOR=1"}, nil, false},
		{"an empty NO_COLOR counts as none", []string{"TERM=xterm", "NO_COLOR="}, nil, true},
		{"a dumb terminal", []string{"TERM=dumb"}, nil, false},
		{"never", []string{"TERM=xterm"}, []string{"--color=never"}, false},
		{"always, against NO_COLOR", []string{"TERM=dumb", "NO_COLOR=1"}, []string{"--color=always"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			screen, tty := terminal(t, 60)
			cmd := exec.CommandContext(t.Context(), binary(t),
				append([]string{"recall", "retryBudget Nordhavn", "--root", sampleRoot(t, "project")}, tt.args...)...)
			cmd.Env = tt.env
			cmd.Stdout, cmd.Stderr = tty, os.Stderr
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
			// With the last descriptor of the other side gone, reading ends in EIO once everything is read.
			tty.Close()
			raw, err := io.ReadAll(screen)
			if err != nil && !errors.Is(err, syscall.EIO) {
				t.Fatal(err)
			}
			out := string(raw)
			if got := strings.Contains(out, styleMark+"retryBudget"+styleReset); got != tt.want {
				t.Errorf("marked: %v, want %v", got, tt.want)
			}
			if got := strings.Contains(out, "\x1b"); got != tt.want {
				t.Errorf("escape sequences: %v, want %v", got, tt.want)
			}
			for line := range strings.Lines(out) {
				for _, style := range []string{styleReset, styleBold, styleDim, styleMark} {
					line = strings.ReplaceAll(line, style, "")
				}
				if n := cells(strings.TrimRight(line, "\r\n")); n > 60 && strings.HasPrefix(line, "    │") {
					t.Errorf("%d columns: %q", n, line)
				}
			}
		})
	}
}
