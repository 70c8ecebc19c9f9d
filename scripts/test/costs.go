package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gotest.tools/gotestsum/testjson"
)

// clusters counts the local clusters of a run.
type clusters struct {
	file   string  // in which scripts/cluster writes the CPU seconds of each cluster that it removes
	before float64 // of the cluster that tests share, which is up
}

func newClusters(ctx context.Context, file string) (*clusters, error) {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return nil, err
	}
	if err := os.Setenv("WORKBOOK_CLUSTERS", file); err != nil {
		return nil, err
	}
	return &clusters{file, sharedCPU(ctx)}, nil
}

// sharedCPU returns the CPU seconds of the local cluster that tests share: none where that is kind's.
func sharedCPU(ctx context.Context) float64 {
	output, err := exec.CommandContext(ctx, "scripts/cluster.sh", "cpu").Output()
	if err != nil {
		return 0
	}
	seconds, _ := strconv.ParseFloat(strings.TrimSpace(string(output)), 64)
	return seconds
}

// costs returns a line with the CPU seconds of a run: of compilers, linkers, tests and what they have started; and of clusters.
func (c *clusters) costs(ctx context.Context) string {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage) // fails for a wrong argument only
	tests := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	made, seconds := 0, sharedCPU(context.WithoutCancel(ctx))-c.before
	data, _ := os.ReadFile(c.file)
	for line := range strings.FieldsSeq(string(data)) {
		of, _ := strconv.ParseFloat(line, 64)
		made++
		seconds += of
	}
	return fmt.Sprintf("CPU: %.0f s for tests, %.0f s for clusters; besides the shared one, tests made %d clusters",
		tests.Seconds(), seconds, made)
}

// slow is how long a test of make test may take alone, on a quiet machine.
const slow = 5 * time.Second

// ring says what depends on which of the tests these are. Of make test: which are slow, and when make test-all was last green here.
// Of make test-all and make test-kind, in CI: it fails if a test was skipped that another command does not run.
func ring(ctx context.Context, out io.Writer, folder string, execution *testjson.Execution, all, whole bool) error {
	if all && os.Getenv("CI") != "" {
		var skipped []string
		for _, test := range execution.Skipped() {
			if !otherwise.MatchString(test.Test.Name()) {
				skipped = append(skipped, short(test.Package)+" "+test.Test.Name())
			}
		}
		if len(skipped) > 0 {
			return fmt.Errorf("CI insists on all tests, and these were skipped:\n%s", strings.Join(skipped, "\n"))
		}
	}
	green := filepath.Join(folder, "test-all-green")
	switch {
	case !whole || os.Getenv("CLUSTER") == "kind":
	case all:
		commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=7").Output()
		if err != nil {
			commit = []byte("a commit that git does not tell")
		}
		_ = os.WriteFile(green, fmt.Appendf(nil, "%s, %s", strings.TrimSpace(string(commit)), time.Now().Format("2006-01-02 15:04")), 0o600)
	default:
		var lines strings.Builder
		for _, name := range execution.Packages() {
			for _, test := range execution.Package(name).Passed {
				if test.Elapsed > slow && !strings.Contains(test.Test.Name(), "/") {
					fmt.Fprintf(&lines, "slow: %s %s, %s\n", short(name), test.Test.Name(), test.Elapsed.Round(100*time.Millisecond))
				}
			}
		}
		fmt.Fprint(out, lines.String())
		_ = os.WriteFile(filepath.Join(folder, "test-slow"), []byte(lines.String()), 0o600) // for make lint, which prints them, too
		last, err := os.ReadFile(green)
		if err != nil {
			last = []byte("never yet on this machine")
		}
		fmt.Fprintf(out, "make test-all was green: %s\n", last)
	}
	return nil
}

// otherwise are the tests that make test-kind and make soak run, those of exercises that nobody has begun, one that sees how such an
// exercise is skipped, and one that needs a C compiler: .ci/run has a line for it.
var otherwise = regexp.MustCompile(`^Test\w*(Kind|Soak|DataRace)|^TestExercise$|^TestUntouched/`)
