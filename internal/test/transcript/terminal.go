package transcript

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"example.com/client-go-workbook/internal/test/testkit"
)

// terminal is a command that runs, and what it has printed.
type terminal struct {
	cmd   *exec.Cmd
	root  string
	ended chan struct{} // closed when the command has ended
	err   error         // how, once ended is closed

	level int      // of the heading under which it was started
	seen  int      // the number of printed lines that have been compared
	last  step     // the step that the last ones were compared with
	got   []string // those lines
	more  bool     // what the README shows ends with ...: anything may follow

	printed testkit.Buffer
}

// start runs a bash script as a terminal does: in a process group of its own.
func (p *player) start(script string) (*terminal, error) {
	cmd := exec.Command("bash", "-c", script)
	term := &terminal{cmd: cmd, root: p.root, ended: make(chan struct{})}
	cmd.Dir = p.root
	// Without the variables that lead to another cluster, that make takes for those of a make above it, or that switch
	// something on for the tests that the README's reader has switched off. KUBERC=off: no kubectl but as it is.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"KUBECONFIG", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "KUBE_CACHE_MUTATION_DETECTOR", "WORKBOOK_TESTS"},
			name)
	}), nested+"=1", "KUBERC=off")
	cmd.Env = append(cmd.Env, p.env...)
	cmd.Stdout, cmd.Stderr = &term.printed, &term.printed
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // for what it has left behind with its output still open
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		term.err = cmd.Wait()
		close(term.ended)
	}()
	return term, nil
}

// chance is what client-go's reflector logs now and then, when its context ends just as it reads an event, and what the
// scripts print when they have waited for a minute, on a slow machine.
var chance = regexp.MustCompile(
	`(?m)^(I.*reflector\.go.*"Warning: watch ended with error".*context canceled.*|Waiting for .*, \d+ seconds so far\.)\n`)

// output returns all that was printed, with a name for the repository's root that is right on every machine, and
// without what is printed by chance.
func (term *terminal) output() string {
	output := strings.ReplaceAll(term.printed.String(), term.root, "~/client-go-workbook")
	return chance.ReplaceAllString(output, "")
}

// lines returns the lines that have not been compared yet.
func (term *terminal) lines() []string {
	ended := term.hasEnded()
	return split(term.output(), ended)[term.seen:]
}

// split makes lines of output. The last one may not be whole, and then counts only if there will be no more.
func split(output string, ended bool) []string {
	lines := strings.Split(output, "\n")
	if last := len(lines) - 1; !ended || lines[last] == "" {
		return lines[:last]
	}
	return lines
}

func (term *terminal) hasEnded() bool {
	select {
	case <-term.ended:
		return true
	default:
		return false
	}
}

// status says how the command has ended.
func (term *terminal) status() string {
	if !term.hasEnded() {
		return "still running"
	}
	return term.cmd.ProcessState.String()
}

// settle waits until the command prints something, and then no more.
func (term *terminal) settle(limits limits) {
	until(limits.output, func() bool { return len(term.lines()) > 0 || term.hasEnded() })
	for n := -1; n < len(term.lines()); {
		n = len(term.lines())
		until(limits.quiet, func() bool { return len(term.lines()) > n || term.hasEnded() })
	}
}

// interrupt does what Ctrl-C does, but spares make: it would end with an error, though the program under it ends well.
func (term *terminal) interrupt() error {
	pids, err := process.Pids()
	if err != nil {
		return fmt.Errorf("the processes cannot be listed: %w", err)
	}
	for _, pid := range pids {
		if group, err := syscall.Getpgid(int(pid)); err != nil || group != term.cmd.Process.Pid {
			continue // or it has ended
		}
		if name, err := (&process.Process{Pid: pid}).Name(); err == nil && name != "make" && name != "gmake" {
			syscall.Kill(int(pid), syscall.SIGINT)
		}
	}
	return nil
}

// signal sends a signal to the command and all that it has started.
func (term *terminal) signal(s syscall.Signal) error {
	if term.hasEnded() {
		return fmt.Errorf("the command has ended before it (%s)", term.status())
	}
	return syscall.Kill(-term.cmd.Process.Pid, s)
}

// isLeft says whether any process is left of the command and those that it started.
func (term *terminal) isLeft() bool { return syscall.Kill(-term.cmd.Process.Pid, 0) == nil }

func (term *terminal) kill() { syscall.Kill(-term.cmd.Process.Pid, syscall.SIGKILL) }

// until polls done until it is true, for at most that long.
func until(limit time.Duration, done func() bool) bool {
	deadline := time.After(limit)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			return done()
		case <-tick.C:
		}
	}
	return true
}
