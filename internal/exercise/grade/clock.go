package grade

import (
	"fmt"
	"regexp"
	"runtime/metrics"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

// clock measures the time that the machine has given an answer. On a busy machine that is less than has passed, and the answer is
// not to blame for the difference. So all limits of real time are limits of this clock. A bubble has a clock of its own.
type clock struct {
	outside bool // the answer may wait for another program: the API server, or a command

	given  atomic.Int64 // nanoseconds
	begin  time.Time
	last   time.Time
	cpu    time.Duration // that the process had used by then
	states []metrics.Sample
}

// tick is how often the clock looks.
const tick = 100 * time.Millisecond

// patience says how many times its limit an answer may take, on a machine that does not give it the time.
const patience = 20

func newClock(outside bool) *clock {
	now := time.Now()
	return &clock{outside: outside, begin: now, last: now, cpu: cpuTime(), states: []metrics.Sample{
		{Name: "/sched/goroutines/running:goroutines"}, {Name: "/sched/goroutines/runnable:goroutines"},
	}}
}

// look adds what the answer has got since the last look, and returns the sum.
func (c *clock) look() time.Duration {
	now, cpu := time.Now(), cpuTime()
	got := share(now.Sub(c.last), cpu-c.cpu, c.waits())
	c.last, c.cpu = now, cpu
	return time.Duration(c.given.Add(int64(got)))
}

// share is the part of the time that has passed which a process could use. One that computes has had the CPU time that it used. One
// whose goroutines all wait has lost nothing; but when this look comes late, it is the process that did not run.
func share(passed, cpu time.Duration, waits bool) time.Duration {
	if waits {
		cpu = max(cpu, tick)
	}
	return min(passed, cpu)
}

// waits says whether all goroutines wait, apart from the one that asks, and none of them for another program.
func (c *clock) waits() bool {
	metrics.Read(c.states)
	if c.states[0].Value.Uint64() > 1 || c.states[1].Value.Uint64() > 0 {
		return false
	}
	return !c.outside || !waitsOutside.MatchString(AllStacks())
}

// waitsOutside matches the stack of a goroutine that waits for the answer to a request, or for the end of a command.
var waitsOutside = regexp.MustCompile(`\.\(\*(Transport\)\.getConn|persistConn\)\.roundTrip|(http2)?ClientConn\)\.roundTrip|Cmd\)\.Wait)\(`)

// cpuTime returns the CPU time that this process has used.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // it cannot fail for this process
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// tooBusy is the verdict for an answer that the machine has not given the time: there is none.
func tooBusy(passed, given time.Duration, outside bool) manifest.Verdict {
	what := "the machine"
	if outside {
		what = "the machine or the API server"
	}
	return manifest.Verdict{Broken: true, Busy: true, Seen: fmt.Sprintf("%s was too busy: in %s the answer got %s",
		what, passed.Round(time.Second), given.Round(tick))}
}

// overtime is the verdict for an answer that the machine has given its time.
func overtime(doing string, timeout time.Duration, trace string) manifest.Verdict {
	return manifest.Verdict{Expected: doing, Seen: fmt.Sprintf("nothing within %s; the answer still runs%s", timeout, place(trace)),
		Look: "a loop, a wait or a lock that nothing ends; where there is a ctx, its end must end it"}
}

// time returns what the answer has got so far.
func (c *clock) time() time.Duration { return time.Duration(c.given.Load()) }

// Given returns how much time the machine has given the answer. On a busy machine, more has passed.
func (t *T) Given() time.Duration { return t.g.clock.time() }

// Within reports whether something is done before the machine has given the answer that much time.
func (t *T) Within(limit time.Duration, done <-chan struct{}) bool {
	wait := time.NewTicker(5 * time.Millisecond)
	defer wait.Stop()
	for end := t.Given() + limit; t.Given() < end; {
		select {
		case <-done:
			return true
		case <-wait.C:
		}
	}
	return false
}
