package exercise_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	exercise "example.com/client-go-workbook/04-workqueue/exercises/07-drain"
	answers "example.com/client-go-workbook/04-workqueue/exercises/answers/07-drain"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(
	context.Context, workqueue.TypedInterface[cache.ObjectName], time.Duration, func(context.Context, cache.ObjectName),
) []cache.ObjectName

var grader = grade.Exercise[answer]{
	Learner:  exercise.Run,
	Accepted: []answer{answers.Run, answers.X},
	Rejected: []grade.Rejected[answer]{
		{Name: "ends the syncs with ctx", Answer: answers.EndsTheSyncsWithCtx, Says: "context.WithoutCancel"},
		{Name: "begins no sync after ctx has ended", Answer: answers.BeginsNoSyncAfterCtxHasEnded, Says: "sync(s)"},
		{Name: "waits with ShutDownWithDrain", Answer: answers.WaitsWithShutDownWithDrain, Says: "were still queued"},
		{Name: "begins the limit at the start", Answer: answers.BeginsTheLimitAtTheStart, Says: "when does the time"},
		{Name: "has no limit", Answer: answers.HasNoLimit, Says: "no longer than"},
		{Name: "does not wait for the last sync", Answer: answers.DoesNotWaitForTheLastSync, Says: "while a sync ran"},
		{Name: "begins syncs after the limit", Answer: answers.BeginsSyncsAfterTheLimit, Says: "had ended already"},
	},
	Timeout: 10 * time.Second, // for a loop that never waits
	Grade: func(t *grade.T, run answer) {
		t.Bubble(func(t *grade.T) { enoughTime(t, run) })
		t.Bubble(func(t *grade.T) { hangingSync(t, run) })
	},
}

const (
	takes   = time.Second            // a sync
	cleanUp = 200 * time.Millisecond // what a sync does when its context has ended
)

// enoughTime ends ctx while a sync runs and some keys are queued, and all of them can be synced within the limit.
func enoughTime(t *grade.T, run answer) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := start(t, ctx, run, time.Minute)
	defer p.queue.ShutDown()
	p.add("early-", 1)
	t.Doing("a sync of each key")
	time.Sleep(time.Hour)
	synctest.Wait()
	if p := p.now(); p.returned || len(p.begun) == 0 {
		t.Reject("syncs until ctx ends", fmt.Sprintf("%d sync(s), Run has returned: %t", len(p.begun), p.returned),
			"Get, and when Run returns")
	}

	queued := 3 + t.Rand.IntN(5)
	p.add("web-", queued)
	time.Sleep(takes / 2)
	cancel()
	synctest.Wait()
	p.add("late-", 1)
	t.Doing("Run returns when the keys are synced")
	time.Sleep(time.Hour)
	synctest.Wait()
	switch p, synced := p.now(), len(p.now().begun)-1; {
	case !p.returned:
		t.Reject("Run returns when ctx has ended and the queue is empty", "it still runs an hour later",
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
			look = "when does the time of limit begin?"
		}
		t.Reject(fmt.Sprintf("%d keys when ctx ended, and enough time: %d syncs, no key is left", queued, queued),
			fmt.Sprintf("%d sync(s), left: %v", synced, p.left), look)
	}
}

// hangingSync ends ctx while a sync runs. One of the next syncs only ends with its context.
func hangingSync(t *grade.T, run answer) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	limit := time.Duration(10+t.Rand.IntN(10)) * time.Second
	p := start(t, ctx, run, limit)
	defer p.queue.ShutDown()
	hangs := 1 + t.Rand.IntN(4)
	p.add("web-", hangs)
	p.add("hangs-", 1)
	want := p.add("left-", 2+t.Rand.IntN(3))
	time.Sleep(takes / 2)
	cancel()
	ended := time.Now()
	t.Doing("Run returns when the limit is over")
	time.Sleep(2 * time.Hour)
	synctest.Wait()
	byName := func(a, b cache.ObjectName) int { return strings.Compare(a.Name, b.Name) }
	switch p, took := p.now(), p.now().at.Sub(ended); {
	case !p.returned:
		t.Reject(fmt.Sprintf("a sync hangs, and Run takes no longer than limit, %s", limit), "it still runs two hours later",
			"a timer that cancels the context of the syncs")
	case took > limit+cleanUp+time.Second:
		t.Reject(fmt.Sprintf("a sync hangs, and Run takes no longer than limit, %s", limit),
			fmt.Sprintf("it takes %s", took.Round(time.Second)), "a timer that cancels the context of the syncs")
	case took < limit:
		t.Reject(fmt.Sprintf("a sync hangs: its context ends after limit, %s", limit), fmt.Sprintf("Run returned after %s", took),
			"when does the time begin, and what ends with it?")
	case p.running:
		t.Reject("Run returns after the last sync", "Run returned while a sync ran", "cancel asks the sync to end; and what waits for it?")
	case p.late:
		t.Reject("after the limit, no sync begins: its key is left", "a sync began, and its context had ended already",
			"the context's Err, between Get and syncHandler")
	case !slices.Equal(slices.SortedFunc(slices.Values(p.left), byName), want):
		t.Reject(fmt.Sprintf("left: %v", want), fmt.Sprintf("left: %v", p.left), "the keys that Get hands out when the limit is over")
	}
}

// program runs an answer.
type program struct {
	queue workqueue.TypedInterface[cache.ObjectName]

	mu    sync.Mutex
	state state
}

// state is what an answer has done until now.
type state struct {
	begun []cache.ObjectName // of which a sync has begun
	ended bool               // the context of a sync ended before the sync
	late  bool               // the context of a sync had ended before the sync began
	early bool               // the context of a sync ended before ctx

	returned bool
	at       time.Time // when Run returned, and:
	running  bool      // a sync ran then
	queued   int       // keys were in the queue then
	left     []cache.ObjectName
}

func (p *program) now() state {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

func start(t *grade.T, ctx context.Context, run answer, limit time.Duration) *program {
	p := &program{queue: pausing{workqueue.NewTyped[cache.ObjectName]()}}
	running := 0
	outer := ctx
	syncHandler := func(ctx context.Context, key cache.ObjectName) {
		p.mu.Lock()
		p.state.begun = append(p.state.begun, key)
		running++
		if ctx.Err() != nil {
			p.state.ended, p.state.late = true, true
			p.state.early = p.state.early || outer.Err() == nil
		}
		p.mu.Unlock()
		timer := time.After(takes)
		if key.Name == "hangs-0" {
			timer = time.After(time.Hour)
		}
		ended := false
		select {
		case <-timer:
		case <-ctx.Done():
			ended = true
			time.Sleep(cleanUp)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.state.ended = p.state.ended || ended
		running--
	}
	go func() {
		left := run(ctx, p.queue, limit, syncHandler)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.state.left, p.state.returned, p.state.at = left, true, time.Now()
		p.state.running, p.state.queued = running > 0, p.queue.Len()
	}()
	return p
}

// add adds n keys, and returns them.
func (p *program) add(name string, n int) []cache.ObjectName {
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

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }
