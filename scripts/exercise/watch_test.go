package main

import (
	"context"
	"testing"
)

// TestTheLastIsNotEnded starts one piece of work right after the other, as two saves do.
func TestTheLastIsNotEnded(t *testing.T) {
	for range 1000 {
		var l latest
		last := 0
		for i := 1; i <= 3; i++ {
			l.start(t.Context(), func(context.Context) { last = i })
		}
		l.running.Wait()
		if last != 3 {
			t.Fatalf("%d was the last to run, want 3", last)
		}
	}
}
