package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// command prepares a command in a process group of its own. When ctx ends, the whole group gets the signal; runGroup
// kills what is left of it 10 seconds later.
func command(ctx context.Context, signal syscall.Signal, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, signal) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// runGroup runs a command of [command] and leaves no process of its group behind.
func runGroup(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return err
}

// environment is this process's, without the variables that make passes to a make below it, and without other clusters.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "KUBECONFIG"}, name)
	})
}

// lineWriter reports what is written to it, line by line. What follows the last end of a line is kept back.
type lineWriter struct {
	report func(line string)
	rest   []byte
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.report(strings.TrimRight(string(line), "\r"))
		l.rest = rest
	}
}
