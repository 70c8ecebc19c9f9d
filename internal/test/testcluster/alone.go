package testcluster

import (
	"fmt"
	"os"
	"testing"

	"github.com/gofrs/flock"
)

// Alone waits until no other test has a cluster of its own, and lets them wait until this test ends. So at most two API servers run
// at a time: one for the tests that share a cluster, and one for all others. Nine at once made a machine of two cores so slow that
// tests failed.
func Alone(t testing.TB) {
	t.Helper()
	lock(t, "cluster")
}

// lock waits for a lock of this user's tests, and has it until the test ends. The lock goes with the process, too. Its file is not in
// $TMPDIR, which differs between processes.
func lock(t testing.TB, name string) {
	t.Helper()
	file := flock.New(fmt.Sprintf("/tmp/client-go-workbook-%s-%d", name, os.Getuid()))
	if err := file.Lock(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
}
