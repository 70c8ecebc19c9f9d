package testkit

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// Repeat calls do with all numbers below count, 16 at a time, and reports on stderr every ten seconds how far it is. An error
// ends the test.
func Repeat(t testing.TB, what string, count int, do func(ctx context.Context, number int) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	start := time.Now()
	next := start.Add(10 * time.Second)
	for number := range count {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil // another call has failed
			}
			return do(ctx, number)
		})
		if now := time.Now(); now.After(next) {
			Progress("%s: %d of %d after %s", what, number, count, now.Sub(start).Round(time.Second))
			next = now.Add(10 * time.Second)
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	Progress("%s: %d after %s", what, count, time.Since(start).Round(time.Second))
}

// Progress prints a line to stderr at once. What a test logs is shown only at its end.
func Progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
