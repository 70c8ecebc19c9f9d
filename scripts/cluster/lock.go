package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// lock waits until no other call changes this cluster, and keeps the others waiting until unlock is called, or this
// process ends, however it ends. The lock is not in the cluster's folder, which comes and goes, nor in the cache,
// which may be read-only.
func (c *cluster) lock(ctx context.Context) (unlock func(), err error) {
	return lock(ctx, fmt.Sprintf("cluster-%08x", c.number()), "Waiting for another make cluster or make cluster-down to end.")
}

// locked reports whether another call holds the lock.
func (c *cluster) locked() bool {
	file, err := lockFile(fmt.Sprintf("cluster-%08x", c.number()))
	if err != nil {
		return false
	}
	free, err := file.TryRLock()
	if free {
		file.Unlock()
	}
	return err == nil && !free
}

// lock takes one of this user's locks on this machine.
func lock(ctx context.Context, name, waiting string) (unlock func(), err error) {
	file, err := lockFile(name)
	if err != nil {
		return nil, err
	}
	locked, err := file.TryLock()
	if err == nil && !locked {
		say("%s", waiting)
		_, err = file.TryLockContext(ctx, 50*time.Millisecond)
	}
	if err != nil {
		return nil, err
	}
	return func() { file.Unlock() }, nil
}

func lockFile(name string) (*flock.Flock, error) {
	folder := filepath.Join(os.TempDir(), fmt.Sprintf("client-go-workbook-%d", os.Getuid()))
	err := os.Mkdir(folder, 0o700)
	if err != nil && !os.IsExist(err) {
		return nil, fmt.Errorf("there is no place for a lock: %w: set TMPDIR to a folder that can be written", err)
	}
	// Anybody can make a folder of this name in /tmp, or a link.
	info, err := os.Lstat(folder)
	if err != nil {
		return nil, err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; !info.IsDir() || int(owner) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("%s is not a folder that is yours alone: remove it, or set TMPDIR to another folder", folder)
	}
	return flock.New(filepath.Join(folder, name)), nil
}
