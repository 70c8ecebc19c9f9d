package scripts_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// aBareMachineHasAllThatIsNeeded has a PATH of what the README asks for, and no network: with all built, the workbook needs
// none. Without one there is no default route either, which would be the API server's way to an address of its own.
func aBareMachineHasAllThatIsNeeded(t *testing.T) {
	c := newCluster(t)
	c.killedUp(t) // it goes on from a start that was killed
	path := bare(t)
	c.env = append(c.env, "GOPROXY=off", "ROOT="+checkout(t), "PATH="+path)
	// Everything in one call, since another one would have another network.
	call := []string{filepath.Join(path, "bash"), "-c", `set -ex
		cd "$ROOT"
		make doctor
		make cluster
		make samples
		make diff 2 >/dev/null
		scripts/kubectl get nodes
		scripts/apiserver.sh stop
		scripts/apiserver.sh start
		make chapter 1 ARGS="--duration 1s"
		make exercise 1.1
		make cluster
		make cluster-down`}
	if runtime.GOOS == "linux" { // only there are network namespaces
		call = append([]string{offline(t)}, call...)
	}
	got := run(t, c.env, call[0], call[1:]...)
	if got.code == 125 && strings.Contains(got.stderr, "no network namespace") && os.Getenv("CI") == "" {
		t.Skip(got.stderr)
	}
	if got.code != 0 || strings.Contains(got.stderr, "command not found") {
		t.Fatalf("exit code %d:\n%s%s", got.code, got.stdout, got.stderr)
	}
	contains(t, got, 0, "SYNCED", "not solved 1.1", "cluster is removed")
}

// offline returns a program that runs another one in a network of its own, which has no other machine.
func offline(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "offline")
	if got := run(t, nil, "go", "build", "-o", file, "./offline"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	return file
}
