package testkit

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// programVar is the environment variable that makes a test binary run the program instead of the tests.
const programVar = "WORKBOOK_TEST_PROGRAM"

// Main makes a test binary the chapter's program, too: it calls main and exits in a process that was prepared by
// [Program]. So a test needs no second build, and with -race the program has the race
// detector as well. It is the first call of TestMain:
//
//	func TestMain(m *testing.M) {
//		testkit.Main(main)
//		m.Run()
//	}
//
// In a test, it lets four parallel tests run at once, where go test has a flag for another number: they mostly wait for the
// cluster, so more of them can run than there are CPUs.
func Main(main func()) {
	if os.Getenv(programVar) != "" {
		main()
		os.Exit(0)
	}
	_ = flag.Set("test.parallel", "4") // go test's own arguments are parsed later
}

// Program prepares the chapter's program with these arguments. The test's $KUBECONFIG is hidden from it: a test names
// its cluster in the arguments. The caller is free to add to Env, and to set Stdin, Stdout and Stderr.
func Program(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	self := Must(os.Executable())(t)
	cmd := exec.Command(self, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "KUBECONFIG=") })
	cmd.Env = append(cmd.Env, programVar+"=1")
	return cmd
}

// Process is a command that has been started.
type Process struct {
	*exec.Cmd
	// Out and Err are what it has printed on stdout and stderr. They stay empty if the caller has set Stdout or Stderr.
	Out, Err Buffer

	ended chan struct{}
}

// Start starts a command. It is killed at the end of the test if it still runs. A data race that it reports fails the
// test; its output is logged if the test has failed.
func Start(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Cmd: cmd, ended: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = &p.Out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &p.Err
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // ProcessState has what it returns
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.Kill()
		if strings.Contains(p.Err.String(), "DATA RACE") {
			t.Error("a data race in the process")
		}
		if t.Failed() {
			t.Logf("%q has printed:\n%s%s", cmd.Args[1:], &p.Out, &p.Err)
		}
	})
	return p
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Await is [Buffer.Await] of the process's stdout. It does not wait longer than the process runs.
func (p *Process) Await(t testing.TB, pattern string) string {
	t.Helper()
	return p.Out.await(t, pattern, p.ended)
}

// Signal sends a signal to the process, unless it has ended.
func (p *Process) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := p.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// Kill ends the process with SIGKILL, which it cannot handle, and returns when it has ended.
func (p *Process) Kill() {
	_ = p.Process.Kill() // fails only if it has ended
	<-p.ended
}

// Exit waits until the process ends, at most five minutes, and returns its exit code, which is -1 after a signal.
func (p *Process) Exit(t testing.TB) int {
	t.Helper()
	Await(t, "the end of the process", func() bool { return closed(p.ended) }, &p.Out, &p.Err)
	return p.ProcessState.ExitCode()
}

// Run runs a command to its end, and returns what it has printed and its exit code.
func Run(t testing.TB, cmd *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	p := Start(t, cmd)
	code = p.Exit(t)
	return p.Out.String(), p.Err.String(), code
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
