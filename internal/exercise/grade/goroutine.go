package grade

import (
	"bytes"
	"runtime"
	"strings"
	"time"
)

// Goroutine names a goroutine: it is how its stack begins, such as "goroutine 7 [".
type Goroutine string

// CurrentGoroutine returns the name of the calling goroutine.
func CurrentGoroutine() Goroutine {
	stack := make([]byte, 64)
	stack = stack[:runtime.Stack(stack, false)]
	return Goroutine(stack[:bytes.IndexByte(stack, '[')+1])
}

// state returns what the goroutine does, and the rest of its stack: "sleep]:...".
func (g Goroutine) state() string {
	_, state, _ := strings.Cut("\n"+AllStacks(), "\n"+string(g))
	return state
}

// AllStacks returns the stacks of all goroutines.
func AllStacks() string {
	stacks := make([]byte, 1<<20)
	return string(stacks[:runtime.Stack(stacks, true)])
}

// ReturnsBefore reports whether a call returns before the grader releases what the call has to wait for. The call runs in that
// goroutine. It must not be in a bubble.
//
// On a busy machine, the call may get no CPU for long, and has not returned for that reason only. So its goroutine must have been
// seen waiting for 0.2 seconds. A goroutine that sleeps may wait for nothing: that takes 6 seconds.
func (t *T) ReturnsBefore(g Goroutine, returned <-chan error) bool {
	for waiting := 0; waiting < 600; {
		select {
		case <-returned:
			return true
		case <-t.Context().Done():
			return false
		case <-time.After(10 * time.Millisecond):
		}
		switch state := g.state(); {
		case strings.HasPrefix(state, "run"): // running or runnable
			waiting = 0
		case strings.HasPrefix(state, "sleep"):
			waiting++
		default:
			waiting += 30
		}
	}
	return false
}
