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

type workerAnswer = func(workqueue.TypedInterface[cache.ObjectName], func(cache.ObjectName))

// Worker grades the answers to "The worker loop".
var Worker = grade.Exercise[workerAnswer]{
	Timeout: 10 * time.Second, // for a loop that never waits
	Grade: func(t *grade.T, worker workerAnswer) {
		t.Bubble(func(t *grade.T) {
			gradeWorker(t, worker)
			for workers := range 4 {
				gradeShutDown(t, worker, 1+workers)
			}
		})
	},
}

// startWorkers runs workers, whose syncs take up to an hour of the bubble's time. The function that it returns waits until all of them
// wait, and rejects the answer if a sync was wrong.
func startWorkers(
	t *grade.T, worker workerAnswer, workers int,
) (workqueue.TypedInterface[cache.ObjectName], *workerSyncs, func(doing string)) {
	queue := workqueue.NewTyped[cache.ObjectName]()
	s := &workerSyncs{count: map[cache.ObjectName]int{}, running: map[cache.ObjectName]int{}}
	for range workers {
		go func() {
			w := &workerState{}
			worker(queue, func(key cache.ObjectName) { s.handle(w, key) })
			s.returns(w)
		}()
	}
	return queue, s, func(doing string) {
		t.Helper()
		t.Doing("%s", doing) // a loop that never waits ends here, when the time is over
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.wrong != "" {
			t.Reject(s.expected, s.wrong, s.look)
		}
	}
}

func gradeWorker(t *grade.T, worker workerAnswer) {
	const workers = 2
	queue, s, settle := startWorkers(t, worker, workers)
	defer queue.ShutDown()
	settle("a worker waits while the queue is empty")
	time.Sleep(time.Hour)
	settle("a worker waits while the queue is empty")
	if s.haveReturned() > 0 {
		t.Reject("a worker waits while the queue is empty", "Worker returned",
			"Get waits for a key, and its second result says when to return")
	}

	key := cache.NewObjectName("default", fmt.Sprintf("web-%d", t.Rand.IntN(1000)))
	queue.Add(key)
	settle("a sync of " + key.String())
	if s.of(key) == 0 {
		t.Reject("a sync of "+key.String()+", which is in the queue", "no sync", "Get, and what it returns")
	}
	queue.Add(key) // during its sync
	settle("the other worker waits: the key is being synced")
	time.Sleep(longestWork)
	settle("a second sync of " + key.String())
	if s.of(key) < 2 {
		t.Reject(key.String()+" was added again during its sync: a second sync after it", "no second sync",
			"Done: is it called after each sync? A defer in a loop runs when Worker returns")
	}
	time.Sleep(10 * longestWork)
	settle("no third sync of " + key.String())
	if n := s.of(key); n > 2 {
		t.Reject(key.String()+" was added twice: 2 syncs", fmt.Sprintf("%d syncs", n), "one call of syncHandler for each key of Get")
	}

	var left []cache.ObjectName
	for i := range 3 + t.Rand.IntN(5) {
		left = append(left, cache.NewObjectName("default", fmt.Sprintf("last-%d", i)))
		queue.Add(left[i])
	}
	settle("syncs of the last keys")
	queue.ShutDown()
	time.Sleep(10 * longestWork)
	settle("the workers return after ShutDown")
	synced := 0
	for _, key := range left {
		synced += s.of(key)
	}
	if synced < len(left) {
		t.Reject(fmt.Sprintf("%d keys were queued at ShutDown: %d syncs", len(left), len(left)), fmt.Sprintf("%d syncs", synced),
			"the second result of Get: it is true when no key is left, ShuttingDown is true at once")
	}
	if s.haveReturned() < workers {
		t.Reject("the workers return when the queue is shut down and empty", "a worker still runs", "the second result of Get")
	}
}

// gradeShutDown shuts the queue down when none, some or all of the workers wait for a key. The others sync one that was added
// again.
func gradeShutDown(t *grade.T, worker workerAnswer, workers int) {
	for busy := range workers + 1 {
		queue, s, settle := startWorkers(t, worker, workers)
		defer queue.ShutDown()
		var keys []cache.ObjectName
		for i := range busy {
			keys = append(keys, cache.NewObjectName(fmt.Sprintf("team-%d", i), "again"))
			queue.Add(keys[i])
		}
		settle("syncs of the keys that are in the queue")
		for _, key := range keys {
			queue.Add(key)
		}
		settle("a key that is being synced waits")
		queue.ShutDown()
		settle("a worker that waits returns after ShutDown")
		time.Sleep(10 * longestWork)
		settle("the workers return after ShutDown")
		for _, key := range keys {
			if n := s.of(key); n != 2 {
				t.Reject(key.String()+" was added again during its sync, and is left at ShutDown: 2 syncs", fmt.Sprintf("%d syncs", n),
					"the second result of Get: it is true when no key is left. Len does not count a key that waits for Done")
			}
		}
		if s.haveReturned() < workers {
			t.Reject("the workers return when the queue is shut down and empty", "a worker still runs", "the second result of Get")
		}
	}
}

const longestWork = time.Hour // a sync

// workerSyncs counts the syncs of each key, and says what is wrong with them.
type workerSyncs struct {
	mu                    sync.Mutex
	count, running        map[cache.ObjectName]int
	returned              int // workers
	expected, wrong, look string
}

// workerState is that of a worker.
type workerState struct {
	running  int // syncs
	returned bool
}

func (s *workerSyncs) of(key cache.ObjectName) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[key]
}

// haveReturned is how many workers have returned.
func (s *workerSyncs) haveReturned() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.returned
}

func (s *workerSyncs) handle(w *workerState, key cache.ObjectName) {
	s.mu.Lock()
	s.count[key]++
	s.running[key]++
	w.running++
	switch {
	case key.Name == "":
		s.reject("each sync has a key", "a sync of the empty key", "the second result of Get: if it is true, there is no key")
	case s.running[key] > 1:
		s.reject("never two syncs of one key at the same time", "2 syncs of "+key.String()+" at the same time",
			"Done: from then on another worker can get the key")
	case w.running > 1:
		s.reject("one sync at a time from each worker", fmt.Sprintf("%d syncs at the same time", w.running), "a go statement does not wait")
	}
	s.checkReturn(w)
	s.mu.Unlock()
	time.Sleep(longestWork/60 + rand.N(longestWork*59/60))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[key]--
	w.running--
}

// returns is called when a worker has returned.
func (s *workerSyncs) returns(w *workerState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returned++
	w.returned = true
	s.checkReturn(w)
}

func (s *workerSyncs) checkReturn(w *workerState) {
	if w.returned && w.running > 0 {
		s.reject("Worker returns when its last sync has ended", "it returned while the sync ran", "a go statement does not wait")
	}
}

// reject keeps the first thing that is wrong.
func (s *workerSyncs) reject(expected, wrong, look string) {
	if s.wrong == "" {
		s.expected, s.wrong, s.look = expected, wrong, look
	}
}
