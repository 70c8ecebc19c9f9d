// Command test runs go test. It shows how far the tests are, and prints at the end one line for each chapter, or what has failed: each
// test with its own output, and the command that runs it alone. Then it says what the run has cost. scripts/test.sh builds it and runs
// it in the workbook's root.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"
	"gotest.tools/gotestsum/testjson"
)

const usage = "usage: test PACKAGES FOLDER ARGUMENT...: the number of packages, 0 if these are not all; a folder for what is kept of " +
	"a run; and the arguments of go test"

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
func run(ctx context.Context, out io.Writer, shown *os.File, packages int, folder string, arguments []string) error {
	start := time.Now()
	all, again := isAll(), again(arguments)
	name := strings.ReplaceAll(strings.TrimPrefix(again, "make "), " ", "-")
	seconds := filepath.Join(folder, name+"-seconds")
	clusters, err := newClusters(ctx, filepath.Join(folder, name+"-clusters"))
	if err != nil {
		return err
	}
	// `go run gotest.tools/gotestsum@v1.13.0 tool slowest --jsonfile FILE` reads this file, for example.
	events, err := os.Create(filepath.Join(folder, name+".json"))
	if err != nil {
		return err
	}
	defer events.Close()
	p := newProgress(shown, packages, lastRun(seconds))
	showing, end := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { p.show(showing) })
	execution, err := goTests(ctx, p, events, arguments)
	end()
	group.Wait()
	if execution == nil {
		return errors.Join(err, ctx.Err())
	}

	taken := time.Since(start)
	report(out, again, execution, taken)
	fmt.Fprintln(out, clusters.costs(ctx))
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: not all tests have run")
	case err != nil:
		return err
	}
	if packages > 0 {
		// Without it the next run has no estimate, which is all that it is for.
		_ = os.WriteFile(seconds, []byte(strconv.Itoa(int(taken.Seconds()))), 0o600)
	}
	return ring(ctx, out, folder, execution, all, packages > 0)
}

// isAll says whether make test-all or make test-kind runs this.
func isAll() bool { return os.Getenv("WORKBOOK_TESTS") == "all" }

// again returns the command that runs such tests.
func again(arguments []string) string {
	command := "make test"
	switch {
	case os.Getenv("CLUSTER") == "kind":
		command = "make test-kind"
	case isAll():
		command = "make test-all"
	}
	if slices.Contains(arguments, "-race") {
		command = "RACE=1 " + command
	}
	return command
}

// goTests runs go test, and returns what has come of it.
func goTests(ctx context.Context, p *progress, events io.Writer, arguments []string) (*testjson.Execution, error) {
	tests := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, arguments...)...)
	tests.Cancel = func() error { return tests.Process.Signal(os.Interrupt) }
	stdout, err := tests.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := tests.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := tests.Start(); err != nil {
		return nil, err
	}
	execution, failed := testjson.ScanTestOutput(testjson.ScanConfig{
		Stdout: io.TeeReader(stdout, events), Stderr: stderr, Handler: p, IgnoreNonJSONOutputLines: true,
	})
	if failed != nil {
		_, _ = io.Copy(io.Discard, stdout) // or go test would wait for a reader
		failed = fmt.Errorf("reading the output of go test: %w", failed)
	}
	if err := tests.Wait(); err != nil {
		failed = errors.Join(failed, fmt.Errorf("go test: %w", err))
	}
	return execution, failed
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
