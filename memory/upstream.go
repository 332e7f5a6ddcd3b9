package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// upstreamLock is the lock that Qwen Code takes while it consolidates, beside
	// the memory of a project. It holds for upstreamFresh, if the process lives;
	// one without a readable process id is being written for upstreamYoung.
	upstreamLock  = "consolidation.lock"
	upstreamFresh = time.Hour
	upstreamYoung = 10 * time.Second
)

// upstreamHolder is the process of Qwen Code that is consolidating the memory
// in the directory real, if one is.
func upstreamHolder(real string, now time.Time) (*Holder, error) {
	beside, err := os.OpenRoot(filepath.Dir(real))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer beside.Close()
	info, err := lstatRegular(beside, upstreamLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s beside the root: %w", upstreamLock, err)
	}
	age := now.Sub(info.ModTime())
	if age > upstreamFresh {
		return nil, nil
	}
	raw, err := beside.ReadFile(upstreamLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw[:min(len(raw), 32)])))
	switch {
	case err != nil || pid <= 0:
		// Between being made and being filled it is empty.
		if age > upstreamYoung {
			return nil, nil
		}
		pid = 0
	case pid == os.Getpid() || !processAlive(pid):
		return nil, nil
	}
	return &Holder{PID: pid, Since: info.ModTime(), Upstream: true}, nil
}

// HoldUpstream takes the lock that keeps Qwen Code from consolidating the memory
// of a root, for as long as memls does so itself. release gives it back, if it is
// still ours. A lock that somebody holds is waited for like that of a root; one
// whose holder is gone is replaced.
func (s *Store) HoldUpstream(ctx context.Context, root *Root) (release func() error, err error) {
	if err := writable(root, nil); err != nil {
		return nil, err
	}
	beside, err := s.disk.openBase(filepath.Dir(root.Real), false)
	if err != nil {
		return nil, refuseIO(err, nil, "opening the directory of a root")
	}
	defer beside.close()
	pid := []byte(strconv.Itoa(os.Getpid()))
	deadline := time.Now().Add(s.opt.LockWait)
	err = s.await(ctx, root, deadline, func(now time.Time) (*Holder, error) {
		if holder, err := upstreamHolder(root.Real, now); holder != nil || err != nil {
			return holder, cmp.Or(err, errHeld)
		}
		return nil, beside.takeUpstream(pid)
	})
	if err != nil {
		return nil, err
	}
	return func() error { return s.releaseUpstream(root, pid) }, nil
}

// takeUpstream makes the lock file, whole from its first moment. A stale one is
// moved away first, and looked at again, since another process may have been as
// fast.
func (f *folder) takeUpstream(pid []byte) error {
	temp := tempName()
	if err := f.writeNew(temp, pid, 0o600, nil); err != nil {
		return err
	}
	err := f.place(temp, upstreamLock)
	if errors.Is(err, fs.ErrExist) {
		stale, _, rerr := f.read(upstreamLock)
		if rerr == nil {
			aside := tempName()
			if rerr = f.place(upstreamLock, aside); rerr == nil {
				moved, _, merr := f.read(aside)
				if merr == nil && !bytes.Equal(moved, stale) {
					// It was a new one.
					return errors.Join(errHeld, f.place(aside, upstreamLock), f.remove(temp))
				}
				rerr = errors.Join(merr, f.remove(aside))
			}
		}
		if rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			return errors.Join(rerr, f.remove(temp))
		}
		err = f.place(temp, upstreamLock)
	}
	if errors.Is(err, fs.ErrExist) {
		err = errHeld
	}
	if err != nil {
		return errors.Join(err, f.remove(temp))
	}
	return nil
}

func (s *Store) releaseUpstream(root *Root, pid []byte) error {
	beside, err := s.disk.openBase(filepath.Dir(root.Real), false)
	if err != nil {
		return fmt.Errorf("giving back %s: %w", upstreamLock, err)
	}
	defer beside.close()
	raw, err := beside.maybe(upstreamLock)
	if err == nil && bytes.Equal(raw, pid) {
		err = beside.remove(upstreamLock)
	}
	if err != nil {
		return fmt.Errorf("giving back %s: %w", upstreamLock, err)
	}
	return nil
}
