// Command test runs go test. It shows how far the tests are, and prints at the end one line for each chapter, or what has
// failed: each test with its own output, and the command that runs it alone. scripts/test.sh builds it and runs it in the
// workbook's root.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"
	"gotest.tools/gotestsum/testjson"
)

const usage = "usage: test PACKAGES FILE ARGUMENT...: the number of packages, 0 if it is not known; a file with the seconds " +
	"that the last run took; and the arguments of go test"

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	packages, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	// A signal goes to go test as well, which ends. Then what has run until then is reported.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Stdout, os.Stderr, packages, os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

// run runs go test with these arguments. It returns an error if a test fails, or go test itself.
func run(ctx context.Context, out io.Writer, shown *os.File, packages int, lastFile string, arguments []string) error {
	start := time.Now()
	tests := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, arguments...)...)
	tests.Cancel = func() error { return tests.Process.Signal(os.Interrupt) }
	stdout, err := tests.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := tests.StderrPipe()
	if err != nil {
		return err
	}
	if err := tests.Start(); err != nil {
		return err
	}
	p := newProgress(shown, packages, lastRun(lastFile))
	showing, end := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { p.show(showing) })
	execution, scanErr := testjson.ScanTestOutput(testjson.ScanConfig{
		Stdout: stdout, Stderr: stderr, Handler: p, IgnoreNonJSONOutputLines: true,
	})
	if scanErr != nil {
		_, _ = io.Copy(io.Discard, stdout) // or go test would wait for a reader
	}
	testErr := tests.Wait()
	end()
	group.Wait()

	taken := time.Since(start)
	again := "make test"
	if os.Getenv("CLUSTER") == "kind" {
		again = "make test-kind"
	}
	if slices.Contains(arguments, "-race") {
		again = "RACE=1 " + again
	}
	report(out, again, execution, taken)
	switch {
	case scanErr != nil:
		return fmt.Errorf("reading the output of go test: %w", scanErr)
	case ctx.Err() != nil:
		return errors.New("interrupted: not all tests have run")
	case testErr != nil:
		return fmt.Errorf("go test: %w", testErr)
	}
	if packages > 0 {
		// Without it the next run has no estimate, which is all that it is for.
		_ = os.WriteFile(lastFile, []byte(strconv.Itoa(int(taken.Seconds()))), 0o600)
	}
	return nil
}

// lastRun returns how long the last green run took, or 0 if there was none.
func lastRun(file string) time.Duration {
	content, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	seconds, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" }
