package testcluster

import (
	"os"
	"strings"
	"testing"
)

// RequireKind skips a test that needs a kubelet and containers, unless `make test-kind` runs it. Such a test has Kind in
// its name: make test-kind ARGS="-run Kind ..." then runs what a kind cluster shows and the local cluster cannot.
func RequireKind(t testing.TB) {
	t.Helper()
	if !strings.Contains(t.Name(), "Kind") {
		t.Fatalf("%s needs kind, and -run Kind would not find it: put Kind into its name", t.Name())
	}
	if os.Getenv("CLUSTER") != "kind" {
		t.Skip("needs a kubelet and containers: run make test-kind")
	}
}

// LockSamples keeps the sample objects of the shared cluster for one test until its end. go test runs the packages at the
// same time, and one test that deletes a sample would be seen by the others.
func LockSamples(t testing.TB) {
	t.Helper()
	lock(t, "samples")
}
