package exercise_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	exercise "example.com/client-go-workbook/04-workqueue/exercises/02-worker"
	answers "example.com/client-go-workbook/04-workqueue/exercises/answers/02-worker"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(workqueue.TypedInterface[cache.ObjectName], func(cache.ObjectName))

var grader = grade.Exercise[answer]{
	Learner:  exercise.Worker,
	Accepted: []answer{answers.Worker, answers.DefersDoneInAFunction},
	Rejected: []grade.Rejected[answer]{
		{Name: "never calls Done", Answer: answers.NeverCallsDone, Says: "no second sync"},
		{Name: "defers Done in the loop", Answer: answers.DefersDoneInTheLoop, Says: "when Worker returns"},
		{Name: "ends when the queue is empty", Answer: answers.EndsWhenTheQueueIsEmpty, Says: "Worker returned"},
		{Name: "does not ask for shutdown", Answer: answers.DoesNotAskForShutdown, Says: "a sync of the empty key"},
		{Name: "calls Done before the sync", Answer: answers.CallsDoneBeforeTheSync, Says: "2 syncs of default/"},
		{Name: "leaves the keys that are still queued", Answer: answers.LeavesTheKeysThatAreStillQueued, Says: "ShuttingDown"},
	},
	Timeout: 10 * time.Second, // for a loop that never waits
	Grade:   func(t *grade.T, worker answer) { t.Bubble(func(t *grade.T) { grading(t, worker) }) },
}

// grading runs two workers, whose syncs take a second of the bubble's time.
func grading(t *grade.T, worker answer) {
	queue := workqueue.NewTyped[cache.ObjectName]()
	defer queue.ShutDown()
	var syncs syncs
	var returned atomic.Int32
	for range 2 {
		go func() {
			worker(queue, syncs.handle)
			returned.Add(1)
		}()
	}
	settle := func(doing string) {
		t.Helper()
		t.Doing("%s", doing) // a loop that never waits ends here, when the time is over
		synctest.Wait()
		syncs.mu.Lock()
		defer syncs.mu.Unlock()
		if syncs.wrong != "" {
			t.Reject("one sync at a time from each worker, and never two of one key", syncs.wrong, syncs.look)
		}
	}
	settle("a worker waits while the queue is empty")
	if returned.Load() > 0 {
		t.Reject("a worker waits while the queue is empty", "Worker returned",
			"Get waits for a key, and its second result says when to return")
	}

	key := cache.NewObjectName("default", fmt.Sprintf("web-%d", t.Rand.IntN(1000)))
	queue.Add(key)
	settle("a sync of " + key.String())
	if syncs.of(key) == 0 {
		t.Reject("a sync of "+key.String()+", which is in the queue", "no sync", "Get, and what it returns")
	}
	queue.Add(key) // during its sync
	settle("the other worker waits: the key is being synced")
	time.Sleep(time.Second)
	settle("a second sync of " + key.String())
	if syncs.of(key) < 2 {
		t.Reject(key.String()+" was added again during its sync: a second sync after it", "no second sync",
			"Done: is it called after each sync? A defer in a loop runs when Worker returns")
	}
	time.Sleep(10 * time.Second)

	var left []cache.ObjectName
	for i := range 3 + t.Rand.IntN(5) {
		left = append(left, cache.NewObjectName("default", fmt.Sprintf("last-%d", i)))
		queue.Add(left[i])
	}
	settle("syncs of the last keys")
	queue.ShutDown()
	time.Sleep(10 * time.Second)
	settle("the workers return after ShutDown")
	synced := 0
	for _, key := range left {
		synced += syncs.of(key)
	}
	if synced < len(left) {
		t.Reject(fmt.Sprintf("%d keys were queued at ShutDown: %d syncs", len(left), len(left)), fmt.Sprintf("%d syncs", synced),
			"the second result of Get: it is true when no key is left, ShuttingDown is true at once")
	}
	if returned.Load() < 2 {
		t.Reject("the workers return when the queue is shut down and empty", "a worker still runs", "the second result of Get")
	}
}

// syncs counts the syncs of each key, and says what is wrong with them.
type syncs struct {
	mu             sync.Mutex
	count, running map[cache.ObjectName]int
	all            int // that run now
	wrong, look    string
}

func (s *syncs) of(key cache.ObjectName) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[key]
}

func (s *syncs) handle(key cache.ObjectName) {
	s.mu.Lock()
	if s.count == nil {
		s.count, s.running = map[cache.ObjectName]int{}, map[cache.ObjectName]int{}
	}
	s.count[key]++
	s.running[key]++
	s.all++
	switch {
	case s.wrong != "": // the first is enough
	case key.Name == "":
		s.wrong, s.look = "a sync of the empty key", "the second result of Get: if it is true, there is no key"
	case s.running[key] > 1:
		s.wrong, s.look = "2 syncs of "+key.String()+" at the same time", "Done: from then on another worker can get the key"
	case s.all > 2:
		s.wrong, s.look = fmt.Sprintf("2 workers and %d syncs at the same time", s.all), "a go statement does not wait"
	}
	s.mu.Unlock()
	time.Sleep(time.Second)
	s.mu.Lock()
	s.running[key]--
	s.all--
	s.mu.Unlock()
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }
