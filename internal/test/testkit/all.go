package testkit

import (
	"os"
	"testing"
)

// All skips a test that is too dear for each change, unless make test-all runs it: that sets WORKBOOK_TESTS=all. It is called by
// the helpers that cost something, such as the one that starts a cluster, so that no test can forget it. does says what the test
// does, such as "starts a cluster". A benchmark goes on: it never runs unasked.
func All(t testing.TB, does string) {
	t.Helper()
	if _, isBenchmark := t.(*testing.B); !isBenchmark && !RunsAll() {
		t.Skipf("%s: make test-all runs it", does)
	}
}

// RunsAll reports whether make test-all runs the tests, for a test that tries more then.
func RunsAll() bool { return os.Getenv("WORKBOOK_TESTS") == "all" }

// Anew makes go run this package's tests again in each run of make test. go repeats an earlier result if a test has the same files and
// variables before it; it doesn't know of a cluster, nor of the programs that a test runs. Helpers that lead to those call this, in a
// test: go does not see what TestMain reads.
func Anew() { _ = os.Getenv("WORKBOOK_RUN") }
