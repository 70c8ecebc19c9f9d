package grade

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/metrics"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

// T is what a grader works with: a testing.TB, whose failures are the grader's own, and the calls that judge an answer.
type T struct {
	testing.TB
	// Rand varies what the answer is given, so that no answer can know it: a new seed for each run.
	Rand *rand.Rand

	g      *grading
	bubble bool
}

// grading is what the process of one answer has found out.
type grading struct {
	ctx   context.Context
	clock *clock

	mu       sync.Mutex
	result   *os.File // JSON, one a line: what is waited for, and the verdict at the end
	doing    string   // what is waited for
	verdict  *manifest.Verdict
	cleanups []func()
}

// message is a line of result.
type message struct {
	Begun   time.Duration     `json:",omitempty"` // the CPU time that the process had used when the grading began
	Doing   string            `json:",omitempty"`
	Verdict *manifest.Verdict `json:",omitempty"`
}

// Reject ends the grading: what was expected, what was seen, and where to look, each in one line.
func (t *T) Reject(expected, seen, look string) {
	t.Helper()
	t.g.judge(manifest.Verdict{Expected: expected, Seen: seen, Look: look})
	t.failNow()
}

// Doing says what is waited for from now on. It is part of the verdict if the time is over before the answer has been graded.
func (t *T) Doing(format string, args ...any) {
	t.g.send(message{Doing: fmt.Sprintf(format, args...)})
}

// Eventually checks until the result is ok. If the time is over it rejects the answer: doing is what was expected.
func (t *T) Eventually(doing, look string, check func() (ok bool, seen string)) {
	t.Helper()
	t.Doing("%s", doing)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, seen := check()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Reject(doing, seen, look)
		}
	}
}

// Bubble calls f in a bubble of testing/synctest, in which time passes at once while all goroutines wait. Context ends, and
// the cleanups of f's T run, when f has returned. A goroutine that is left an hour later rejects the answer.
//
// Then it calls f once more, with the same random numbers, in another bubble: an answer that keeps something in a variable of its
// package meets objects whose names it knows.
func (t *T) Bubble(f func(*T)) {
	t.Helper()
	seed := t.Rand.Uint64()
	for range 2 {
		t.bubbleOnce(seed, f)
	}
}

func (t *T) bubbleOnce(seed uint64, f func(*T)) {
	t.Helper()
	synctest.Test(t.Testing(), func(inner *testing.T) {
		others := goleak.IgnoreCurrent()
		inner.Cleanup(func() { // the last one: it was the first to be registered
			// A bubble ends only when its goroutines have ended. One that tries again and again would let it last for ever.
			time.Sleep(time.Hour)
			if err := goleak.Find(others); err != nil {
				t.g.judge(leak(err.Error()))
				t.g.end()
			}
		})
		f(&T{TB: inner, Rand: rand.New(rand.NewPCG(seed, 0)), g: t.g, bubble: true})
	})
}

// Testing returns the *testing.T behind t.
func (t *T) Testing() *testing.T { return t.TB.(*testing.T) }

// Context ends when the time for the answer is over.
func (t *T) Context() context.Context {
	if t.bubble {
		return t.TB.Context() // a context of outside cannot be waited for in a bubble
	}
	return t.g.ctx
}

// Cleanup calls f when the grader has returned, before goroutines that the answer has left behind are looked for.
func (t *T) Cleanup(f func()) {
	if t.bubble {
		t.TB.Cleanup(f)
		return
	}
	t.g.mu.Lock()
	defer t.g.mu.Unlock()
	t.g.cleanups = append(t.g.cleanups, f)
}

// Error, Errorf, Fatal and Fatalf report that the grader itself has failed.

func (t *T) Error(args ...any) { t.g.broken(fmt.Sprint(args...)) }

func (t *T) Errorf(format string, args ...any) { t.g.broken(fmt.Sprintf(format, args...)) }

func (t *T) Fatal(args ...any) {
	t.g.broken(fmt.Sprint(args...))
	t.failNow()
}

func (t *T) Fatalf(format string, args ...any) {
	t.g.broken(fmt.Sprintf(format, args...))
	t.failNow()
}

// Skip and Skipf end the grading where it cannot be done: without a cluster.
func (t *T) Skip(args ...any) {
	t.g.judge(manifest.Verdict{Broken: true, Skipped: true, Seen: fmt.Sprint(args...)})
	t.failNow()
}

func (t *T) Skipf(format string, args ...any) { t.Skip(fmt.Sprintf(format, args...)) }

// failNow ends the grading. In a bubble it ends the process: the goroutines of a wrong answer need not end, and a bubble
// would wait for them.
func (t *T) failNow() {
	if t.bubble {
		t.g.end()
	}
	t.TB.FailNow()
}

func (g *grading) broken(seen string) {
	g.judge(manifest.Verdict{Broken: true, Seen: seen})
}

// judge keeps the first verdict.
func (g *grading) judge(verdict manifest.Verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.verdict == nil {
		g.verdict = &verdict
	}
}

func (g *grading) isDoing() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.doing
}

func (g *grading) judged() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.verdict != nil
}

func (g *grading) send(m message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if m.Doing != "" {
		g.doing = m.Doing
	}
	_ = json.NewEncoder(g.result).Encode(m) // the other side has gone: then nobody waits for it
}

// child grades one answer, sends the verdict, and ends the process.
func (e Exercise[F]) child(t *testing.T, answer F, timeout time.Duration) {
	go func() {
		// go test was killed, maybe with SIGKILL: nobody else ends this process then, nor what the answer has started.
		_, _ = io.Copy(io.Discard, os.NewFile(4, "alive"))
		_ = syscall.Kill(0, syscall.SIGKILL)
	}()
	// client-go logs at most one error in a millisecond. In a bubble, whose clock begins in 2000, that is a sleep of years.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	ctx, cancel := context.WithCancel(t.Context())
	g := &grading{ctx: ctx, clock: newClock(e.Cluster), result: os.NewFile(3, "result"), doing: "an answer"}
	g.send(message{Begun: g.clock.cpu})
	go g.limit(timeout, cancel)
	seed := rand.Uint64()
	others := goleak.IgnoreCurrent() // of the testing package
	t.Run("grade", func(t *testing.T) {
		defer g.cleanUp()
		e.Grade(&T{TB: t, Rand: rand.New(rand.NewPCG(seed, seed)), g: g}, answer)
	})
	cancel()
	if !g.judged() && t.Failed() {
		g.broken("the grader has ended without a verdict")
	}
	if !g.judged() {
		g.send(message{Doing: "all goroutines end"})
		// client-go keeps an idle connection to the API server for the next client: that is not the answer's.
		idle := goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop")
		err := goleak.Find(others, idle)
		for end := g.clock.time() + 2*time.Second; err != nil && g.clock.time() < end; { // it may be about to end, and get no CPU
			err = goleak.Find(others, idle)
		}
		if err != nil {
			g.judge(leak(err.Error()))
		}
	}
	g.judge(manifest.Verdict{Passed: true})
	g.end()
}

// mostMemory is what an answer may use. A right one needs a hundredth of it.
const mostMemory = 2 << 30

// limit ends the context of an answer that has had its time, and then the grading, if that does not end by itself. It also ends one
// that the machine gives no time, and one that takes too much memory: it would slow down the whole machine, and the kernel could
// end another program.
func (g *grading) limit(timeout time.Duration, endContext func()) {
	memory := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for {
		time.Sleep(tick)
		metrics.Read(memory)
		given, passed := g.clock.look(), time.Since(g.clock.begin)
		switch {
		case memory[0].Value.Uint64()-memory[1].Value.Uint64() >= mostMemory:
			g.judge(manifest.Verdict{Expected: "an answer that needs little memory",
				Seen: "it uses more than 2 GiB of memory" + place(AllStacks()),
				Look: "a loop that nothing ends, or a slice or a map that only grows"})
		case given >= timeout+min(timeout/3, 3*time.Second):
			g.judge(overtime(g.isDoing(), timeout, AllStacks()))
		case given >= timeout:
			endContext()
			continue
		case passed >= patience*timeout:
			g.judge(tooBusy(passed, given, g.clock.outside))
		default:
			continue
		}
		g.end()
	}
}

// end sends the verdict and ends the process, before the testing package prints anything.
func (g *grading) end() {
	g.send(message{Verdict: g.verdict})
	os.Exit(0)
}

func (g *grading) cleanUp() {
	for len(g.cleanups) > 0 {
		last := g.cleanups[len(g.cleanups)-1]
		g.cleanups = g.cleanups[:len(g.cleanups)-1]
		last()
	}
}
