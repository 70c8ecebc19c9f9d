package testcluster

import (
	"os"
	"strings"
	"testing"
)

// RequireKind skips a test that needs a kubelet and containers, unless `make test-kind` runs it. Such a test has Kind in
// its name: by that, .ci/run finds what a kind cluster shows and the local cluster cannot.
func RequireKind(t testing.TB) {
	t.Helper()
	if !strings.Contains(t.Name(), "Kind") {
		t.Fatalf("%s needs kind, and .ci/run would not find it: put Kind into its name", t.Name())
	}
	if os.Getenv("CLUSTER") != "kind" {
		t.Skip("needs a kubelet and containers: run make test-kind")
	}
}
