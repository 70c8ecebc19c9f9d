package workqueue

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/exercise/grade"
)

type workersAnswer = func(workqueue.TypedInterface[cache.ObjectName], int, func(cache.ObjectName))

// Workers grades the answers to "Never two workers on one key".
var Workers = grade.Exercise[workersAnswer]{
	Timeout: 10 * time.Second, // for a loop that never waits
	Grade: func(t *grade.T, run workersAnswer) {
		for _, workers := range []int{2 + t.Rand.IntN(4), 1} {
			t.Bubble(func(t *grade.T) { gradeWorkers(t, run, workers) })
		}
		for i := range 10 { // which of the workers gets the slow key is chance
			t.Bubble(func(t *grade.T) { oneIsSlow(t, run, i%2, 2+i/2%2) })
		}
	},
}

// gradeWorkers has syncs that take up to a minute of the bubble's time, and a key whose syncs take a day.
func gradeWorkers(t *grade.T, run workersAnswer, workers int) {
	queue := workqueue.NewTyped[cache.ObjectName]()
	defer queue.ShutDown()
	s := startRun(run, queue, workers)
	// settle waits until all goroutines wait, and returns how many keys were synced, and how many syncs run.
	settle := func(doing string) (synced, running int) {
		t.Helper()
		t.Doing("%s", doing)
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.wrong != "" {
			t.Reject(s.expected, s.wrong, s.look)
		}
		return len(s.count), len(s.running)
	}
	time.Sleep(time.Hour)
	settle("Run waits for a key")
	if s.returned {
		t.Reject("Run returns when the queue is shut down", "Run returned, and the queue was still open", "what waits for the workers?")
	}

	number := t.Rand.IntN(1000)
	key := cache.NewObjectName("default", fmt.Sprintf("web-%d", number))
	queue.Add(key)
	settle("a sync of " + key.String())
	queue.Add(key) // during its sync, and the other workers are free
	settle("the sync of " + key.String() + " ends first")
	time.Sleep(time.Hour)
	settle("a second sync of " + key.String())
	if n := s.of(key); n != 2 {
		t.Reject(key.String()+" was added again during its sync: a second sync after it", fmt.Sprintf("%d sync(s)", n),
			"Done after the sync: until then the queue itself keeps the key back, and then hands it out again")
	}

	many := 2*workers + t.Rand.IntN(5)
	queue.Add(slowKey)
	for i := range many { // all with one name
		queue.Add(cache.NewObjectName(fmt.Sprintf("team-%d", i), key.Name))
	}
	expected := fmt.Sprintf("%d worker(s), %d keys in the queue: %d sync(s) at the same time", workers, 1+many, workers)
	if _, running := settle(expected); running < workers {
		t.Reject(expected, fmt.Sprintf("%d sync(s) at the same time", running), "workers that wait for each other")
	}
	t.Doing("%s; no lock is held during a sync", expected)
	time.Sleep(takesSlow / 2)
	if synced, _ := settle(expected); synced < 2+many && workers > 1 {
		t.Reject(fmt.Sprintf("a sync takes %s: the other workers sync the other %d keys meanwhile", takesSlow, many),
			fmt.Sprintf("%d were synced", synced-2), "workers that wait for each other")
	}
	time.Sleep(takesSlow)
	before, _ := settle("syncs of all keys")

	const last = 10
	queue.Add(slowKey)
	for i := range last {
		queue.Add(cache.NewObjectName("default", fmt.Sprintf("last-%d", i)))
	}
	settle("syncs of the last keys")
	ofSlow := s.of(slowKey)
	queue.Add(slowKey) // during its sync: the queue has it only when that ends, and all other keys are synced by then
	queue.ShutDown()
	time.Sleep(3 * takesSlow)
	const doing = "Run returns when the queue is shut down and empty"
	synced, _ := settle(doing)
	switch synced -= before; {
	case !s.returned:
		t.Reject(doing, "it still runs", "the second result of Get")
	case s.left > 0:
		t.Reject(lastSync, fmt.Sprintf("it returned while %d sync(s) ran", s.left), allOfThem)
	case synced < last:
		t.Reject(fmt.Sprintf("%d keys were queued at ShutDown: %d syncs", last, last), fmt.Sprintf("%d syncs", synced),
			"the second result of Get")
	case s.of(slowKey) == ofSlow:
		t.Reject("a key is added again during its sync, then ShutDown: a second sync", "Run returned, and the key was still queued",
			"Done queues the key when its sync ends: who calls Get after that?")
	}
}

// oneIsSlow shuts the queue down while two workers sync one key each, and the slow one is the first or the second key. If there is a
// third worker, it waits for a key.
func oneIsSlow(t *grade.T, run workersAnswer, place, workers int) {
	queue := workqueue.NewTyped[cache.ObjectName]()
	s := startRun(run, queue, workers)
	time.Sleep(time.Hour) // both wait for a key
	keys := []cache.ObjectName{cache.NewObjectName("default", "quick"), cache.NewObjectName("default", "quick")}
	keys[place] = slowKey
	for _, key := range keys {
		queue.Add(key)
	}
	synctest.Wait()
	quick := keys[1-place]
	queue.Add(quick) // during its sync
	queue.ShutDown()
	t.Doing("Run returns when the queue is shut down and empty")
	time.Sleep(takesSlow / 2)
	synctest.Wait()
	if n := s.of(quick); n != 2 {
		const expected = "the queue is shut down, and one of %d workers has a slow sync: another syncs the key that was added again"
		t.Reject(fmt.Sprintf(expected, workers),
			fmt.Sprintf("%d sync(s) of that key while the slow one runs", n), "after ShutDown, who calls Get, and when?")
	}
	time.Sleep(2 * takesSlow)
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left > 0 {
		t.Reject(lastSync, fmt.Sprintf("it returned while %d sync(s) ran", s.left), allOfThem)
	}
}

const (
	lastSync  = "Run returns when the last sync has ended"
	allOfThem = "what waits for the workers, for all of them?"
)

const takesSlow = 24 * time.Hour

// slowKey is the key whose syncs take so long.
var slowKey = cache.NewObjectName("default", "slow")

// runSyncs counts the syncs of each key, and says what is wrong with them.
type runSyncs struct {
	workers int

	mu                    sync.Mutex
	count, running        map[cache.ObjectName]int
	expected, wrong, look string
	returned              bool // Run has, and:
	left                  int  // so many syncs ran then
}

// startRun runs an answer.
func startRun(run workersAnswer, queue workqueue.TypedInterface[cache.ObjectName], workers int) *runSyncs {
	s := &runSyncs{count: map[cache.ObjectName]int{}, running: map[cache.ObjectName]int{}, workers: workers}
	go func() {
		run(queue, workers, s.handle)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.returned, s.left = true, len(s.running)
	}()
	return s
}

func (s *runSyncs) of(key cache.ObjectName) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[key]
}

func (s *runSyncs) handle(key cache.ObjectName) {
	s.mu.Lock()
	s.count[key]++
	s.running[key]++
	switch {
	case s.wrong != "": // the first is enough
	case s.running[key] > 1:
		s.expected = "never two syncs of one key at the same time"
		s.wrong, s.look = "2 syncs of "+key.String()+" at the same time", "Done: from then on another worker can get the key"
	case len(s.running) > s.workers:
		s.expected = fmt.Sprintf("%d workers: at most %d syncs at the same time", s.workers, s.workers)
		s.wrong, s.look = fmt.Sprintf("%d syncs at the same time", len(s.running)), "what waits until a sync has ended?"
	}
	s.mu.Unlock()
	if key == slowKey {
		time.Sleep(takesSlow)
	} else {
		time.Sleep(time.Second + rand.N(time.Minute))
	}
	s.mu.Lock()
	if s.running[key]--; s.running[key] == 0 {
		delete(s.running, key)
	}
	s.mu.Unlock()
}
