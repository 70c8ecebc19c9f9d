package testcluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Build builds a program of the workbook, such as ./02-informer, as the scripts do, and returns its file. The file goes with the test. The
// arguments are go build's.
func Build(t testing.TB, program string, arguments ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), filepath.Base(program))
	cmd := exec.Command("go", append([]string{"build", "-C", Root(t), "-o", file}, append(arguments, program)...)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false -ldflags=-w")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	return file
}
