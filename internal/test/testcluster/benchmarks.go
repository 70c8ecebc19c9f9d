package testcluster

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// A command of a README that runs benchmarks of the README's package, and a line of its output with a figure.
var (
	benchCommand = regexp.MustCompile(`\bgo test \./\S+ -run '\^\$' -bench (\S+)`)
	benchFigure  = regexp.MustCompile(`(?m)^Benchmark\S+\s+1\s+.*\d`)
)

// CheckBenchmarks runs the benchmarks that README.md names where nothing is up, as the reader may. Each command has to end
// with figures, or to fail and name the command that brings up a cluster. It runs the test's own binary: go test would
// compile it once more.
func CheckBenchmarks(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := benchCommand.FindAllSubmatch(readme, -1)
	if len(commands) == 0 {
		t.Fatal("README.md has no go test -bench")
	}
	nothing := t.TempDir()
	env := append(os.Environ(), "CLUSTER_DIR="+nothing, "CLUSTER=", "KUBECONFIG=", "REQUIRE_CLUSTER=")
	// Where the local cluster's programs are, go's cache is by default, too. That stays: compiling all anew would take minutes.
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "XDG_CACHE_HOME="+nothing, "GOCACHE="+strings.TrimSpace(string(goCache)))
	for _, command := range commands {
		t.Run(string(command[1]), func(t *testing.T) {
			t.Parallel()
			binary := exec.Command(os.Args[0], "-test.run=^$", "-test.bench="+strings.Trim(string(command[1]), "`"), "-test.benchtime=1x")
			binary.Env = env
			output, err := binary.CombinedOutput()
			switch hasFigures := benchFigure.Match(output); {
			case err == nil && !hasFigures:
				t.Errorf("%s ends well, and prints no figure:\n%s", command[0], output)
			case err != nil && !strings.Contains(string(output), "make cluster`"):
				t.Errorf("%s fails (%v), and does not say what to do:\n%s", command[0], err, output)
			}
		})
	}
}
