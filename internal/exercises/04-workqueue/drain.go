package workqueue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/exercise/grade"
)

type drainAnswer = func(
	context.Context, workqueue.TypedInterface[cache.ObjectName], time.Duration, func(context.Context, cache.ObjectName),
) []cache.ObjectName

// Drain grades the answers to "Drain".
var Drain = grade.Exercise[drainAnswer]{
	Timeout: 10 * time.Second, // for a loop that never waits
	Grade: func(t *grade.T, run drainAnswer) {
		t.Bubble(func(t *grade.T) { enoughTime(t, run) })
		for _, before := range []int{1 + t.Rand.IntN(4), 0} { // how many syncs come before the one that hangs
			t.Bubble(func(t *grade.T) { hangingSync(t, run, before) })
		}
		t.Bubble(func(t *grade.T) { nothingToDo(t, run) })
	},
}

const (
	shortestSync = 10 * time.Minute // a sync takes a time between these two
	longestSync  = time.Hour
)

// enoughTime ends ctx while a sync runs and some keys are queued, and all of them can be synced within the limit.
func enoughTime(t *grade.T, run drainAnswer) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := startDraining(t, ctx, run, 48*time.Hour)
	defer p.queue.ShutDown()
	for range 2 {
		p.add("early-", 1)
		t.Doing("a sync of each key")
		time.Sleep(36 * time.Hour)
		synctest.Wait()
	}
	switch p := p.now(); {
	case p.returned || len(p.begun) == 0:
		t.Reject("syncs until ctx ends", fmt.Sprintf("%d sync(s), Run has returned: %t", len(p.begun), p.returned),
			"Get, and when Run returns")
	case len(p.begun) == 1:
		t.Reject("a key that was synced, and is added again: a second sync", "no second sync",
			"Done: without it, no worker gets the key again")
	}

	queued := 3 + t.Rand.IntN(5)
	p.add("web-", queued)
	time.Sleep(shortestSync / 2)
	p.add("web-", 1) // during its sync
	queued++
	cancel()
	synctest.Wait()
	p.add("late-", 1)
	t.Doing("Run returns when the keys are synced")
	time.Sleep(36 * time.Hour)
	synctest.Wait()
	switch p, synced := p.now(), len(p.now().begun)-2; {
	case !p.returned:
		t.Reject("Run returns when ctx has ended and the queue is empty", "it still runs a day later",
			"ShutDown, and the second result of Get")
	case p.early:
		t.Reject("the context of a sync ends when ctx has ended, and then limit is over", "ctx had not ended, a sync's context had",
			"when does the time of limit begin?")
	case p.ended:
		t.Reject("ctx ends: the sync that runs, and the next ones, have a context that has not ended", "a sync's context had ended",
			"context.WithoutCancel, or another context from context.Background()")
	case p.queued > 0:
		t.Reject("Run returns when the queue is empty", fmt.Sprintf("it returned, and %d key(s) were still queued", p.queued),
			"ShutDownWithDrain waits for keys that are being synced, not for those that are queued")
	case synced != queued || len(p.left) > 0:
		look := "after ShutDown, Get still hands out the keys that are queued; it accepts no others"
		if len(p.left) > 0 {
			look = "when does the time of limit begin? Keys are left only when it is over"
		}
		const expected = "%d keys when ctx ended (one of them is being synced, and added again), and enough time: %d syncs, no key is left"
		t.Reject(fmt.Sprintf(expected, queued, queued),
			fmt.Sprintf("%d sync(s), left: %v", synced, p.left), look)
	}
}

// hangingSync ends ctx while a sync runs, whose key is added again. That sync, or one of the next, only ends with its context.
func hangingSync(t *grade.T, run drainAnswer, before int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	limit := time.Duration(10+t.Rand.IntN(10)) * time.Hour
	p := startDraining(t, ctx, run, limit)
	defer p.queue.ShutDown()
	first := "web-"
	if before == 0 {
		first = "hangs-"
	}
	p.add("web-", before)
	p.add("hangs-", 1)
	want := p.add("left-", 2+t.Rand.IntN(3))
	time.Sleep(shortestSync / 2)
	again := p.add(first, 1) // during its sync: it is queued behind all others when that ends
	cancel()
	ended := time.Now()
	t.Doing("Run returns when the limit is over")
	time.Sleep(limit + 48*time.Hour)
	synctest.Wait()
	want = append(again, want...)
	byName := func(a, b cache.ObjectName) int { return strings.Compare(a.Name, b.Name) }
	expected := fmt.Sprintf("a sync hangs: its context ends when ctx has ended and limit, %s, is over", limit)
	if before == 0 {
		expected = fmt.Sprintf("the sync hangs that runs when ctx ends: its context, too, ends when limit, %s, is over", limit)
	}
	switch p, took := p.now(), p.now().stopped.Sub(ended); {
	case p.stopped.IsZero() && p.running:
		t.Reject("Run returns after the last sync", "Run returned while a sync ran, whose context had not ended",
			"what waits for the sync?")
	case p.stopped.IsZero():
		t.Reject(expected, "it has not ended two days later", "a timer that cancels the context of the syncs, of each of them")
	case took.Round(time.Second) != limit:
		t.Reject(expected, fmt.Sprintf("it ends after %s", took.Round(time.Second)), "when does the time begin, and what ends with it?")
	case !p.returned:
		t.Reject("Run returns after the last sync", "it still runs two days later", "ShutDown, and the second result of Get")
	case p.running:
		t.Reject("Run returns after the last sync", "Run returned while a sync ran", "cancel asks the sync to end; and what waits for it?")
	case p.late:
		t.Reject("after the limit, no sync begins: its key is left", "a sync began, and its context had ended already",
			"the context's Err, between Get and syncHandler")
	case p.at.Sub(p.last) > time.Second:
		t.Reject("Run returns after the last sync", fmt.Sprintf("it returned %s later", p.at.Sub(p.last).Round(time.Second)),
			"what waits for the sync?")
	case !slices.Contains(p.left, again[0]):
		t.Reject(fmt.Sprintf("%s is added again during its sync, and is queued when limit is over: it is left", again[0]),
			fmt.Sprintf("left: %v", p.left), "all keys that Get hands out when the limit is over, whatever came before")
	case !slices.Equal(slices.SortedFunc(slices.Values(p.left), byName), slices.SortedFunc(slices.Values(want), byName)):
		t.Reject(fmt.Sprintf("left: %v", want), fmt.Sprintf("left: %v", p.left), "the keys that Get hands out when the limit is over")
	}
}

// nothingToDo ends ctx while the worker waits for a key.
func nothingToDo(t *grade.T, run drainAnswer) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := startDraining(t, ctx, run, time.Hour)
	defer p.queue.ShutDown()
	p.add("early-", 1)
	time.Sleep(2 * longestSync)
	cancel()
	const doing = "ctx ends while the worker waits for a key: Run returns"
	t.Doing(doing)
	time.Sleep(time.Second)
	synctest.Wait()
	switch p := p.now(); {
	case !p.returned:
		t.Reject(doing, "it still runs", "what calls ShutDown when the worker waits in Get? For instance context.AfterFunc")
	case len(p.left) > 0:
		t.Reject("no key is left", fmt.Sprintf("left: %v", p.left), "the second result of Get: if it is true, there is no key")
	case p.open:
		t.Reject("when Run returns, the context of the syncs ends, too", "it has not ended", "defer cancel()")
	}
}

// drainingProgram runs an answer.
type drainingProgram struct {
	queue workqueue.TypedInterface[cache.ObjectName]

	mu    sync.Mutex
	state drainingState
}

// drainingState is what an answer has done until now.
type drainingState struct {
	begun []cache.ObjectName // of which a sync has begun
	ended bool               // the context of a sync ended before the sync
	late  bool               // the context of a sync had ended before the sync began
	early bool               // the context of a sync ended before ctx

	stopped time.Time // when the context of the sync that hangs ended
	last    time.Time // when the last sync ended

	returned bool
	at       time.Time // when Run returned, and:
	running  bool      // a sync ran then
	open     bool      // the context of the last sync had not ended then
	queued   int       // keys were in the queue then
	left     []cache.ObjectName
}

func (p *drainingProgram) now() drainingState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

func startDraining(t *grade.T, ctx context.Context, run drainAnswer, limit time.Duration) *drainingProgram {
	p := &drainingProgram{queue: pausing{workqueue.NewTyped[cache.ObjectName]()}}
	running := 0
	outer, latest := ctx, ctx
	syncHandler := func(ctx context.Context, key cache.ObjectName) {
		p.mu.Lock()
		p.state.begun = append(p.state.begun, key)
		running++
		latest = ctx
		if ctx.Err() != nil {
			p.state.ended, p.state.late = true, true
			p.state.early = p.state.early || outer.Err() == nil
		}
		p.mu.Unlock()
		timer := time.After(shortestSync + rand.N(longestSync-shortestSync))
		if key.Name == "hangs-0" {
			timer = time.After(1000 * time.Hour)
		}
		ended := false
		select {
		case <-timer:
		case <-ctx.Done():
			ended = true
			p.stops(key)
			time.Sleep(shortestSync + rand.N(longestSync-shortestSync)) // it cleans up
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.state.ended = p.state.ended || ended
		p.state.last = time.Now()
		running--
	}
	go func() {
		left := run(ctx, p.queue, limit, syncHandler)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.state.left, p.state.returned, p.state.at = left, true, time.Now()
		p.state.running, p.state.open, p.state.queued = running > 0, latest.Err() == nil, p.queue.Len()
	}()
	return p
}

// stops is called when the context of a sync has ended.
func (p *drainingProgram) stops(key cache.ObjectName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if key.Name == "hangs-0" && p.state.stopped.IsZero() { // the first of its syncs
		p.state.stopped = time.Now()
	}
}

// add adds n keys, and returns them.
func (p *drainingProgram) add(name string, n int) []cache.ObjectName {
	var keys []cache.ObjectName
	for i := range n {
		keys = append(keys, cache.NewObjectName("default", fmt.Sprintf("%s%d", name, i)))
		p.queue.Add(keys[i])
	}
	return keys
}

// pausing is a queue whose workers pause between Done and Get, which can always happen. No key is with a worker then.
type pausing struct {
	workqueue.TypedInterface[cache.ObjectName]
}

func (q pausing) Done(key cache.ObjectName) {
	q.TypedInterface.Done(key)
	time.Sleep(time.Millisecond)
}
