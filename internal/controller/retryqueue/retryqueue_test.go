package retryqueue

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

var a, b, c = cache.NewObjectName("default", "a"), cache.NewObjectName("default", "b"), cache.NewObjectName("default", "c")

func newQueue() *Queue {
	return New(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName](), workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{})
}

// check compares the keys that wait for a retry, and those that are ready.
func check(t *testing.T, when string, q *Queue, ready int, waiting ...cache.ObjectName) {
	t.Helper()
	if got := q.Waiting(); !slices.Equal(got, waiting) || q.Len() != ready {
		t.Errorf("%s: %v wait and %d are ready; want %v, %d", when, got, q.Len(), waiting, ready)
	}
}

func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		defer q.ShutDown()
		check(t, "at the start", q, 0)
		q.AddAfter(b, time.Minute)
		q.AddRateLimited(a)
		q.Add(c)
		check(t, "a key that is only added does not wait", q, 1, a, b)
		if q.Delay(a) != 5*time.Millisecond || q.Delay(b) != time.Minute || q.Delay(c) != 0 {
			t.Errorf("the delays are %s, %s, %s", q.Delay(a), q.Delay(b), q.Delay(c))
		}
		q.Get()
		q.Done(c)

		time.Sleep(10 * time.Millisecond)
		check(t, "its delay is over, and no worker was free", q, 1, a, b)
		q.Get()
		check(t, "a worker has it", q, 0, b)
		q.AddRateLimited(a)
		q.Done(a)
		if q.Delay(a) != 10*time.Millisecond || q.NumRequeues(a) != 2 {
			t.Errorf("after its second failure its delay is %s", q.Delay(a))
		}
		time.Sleep(20 * time.Millisecond)
		q.Get()
		q.Forget(a)
		q.Done(a)
		q.Add(b)
		q.Get()
		check(t, "a key that is added meanwhile is synced at once", q, 0)
		q.Done(b)
	})
}

// TestAddedDuringShutDown shows that a key is named that client-go's queue discards.
func TestAddedDuringShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		q.Add(a)
		q.Add(b)
		q.Get()
		q.ShutDown()
		q.AddRateLimited(a)
		q.Done(a)
		q.Add(c)
		check(t, "during the drain", q, 1, a)
		if key, shutdown := q.Get(); key != b || shutdown {
			t.Errorf("Get = %s, %t; queued keys are still returned", key, shutdown)
		}
		q.Done(b)
		if key, shutdown := q.Get(); !shutdown {
			t.Errorf("Get = %s, want the end", key)
		}
		check(t, "at the end", q, 0, a)
	})
}

// TestDelays shows that the delays are client-go's.
func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		defer q.ShutDown()
		theirs := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
		defer theirs.ShutDown()
		for i := range 300 {
			key := cache.NewObjectName("default", fmt.Sprint(i%200))
			q.AddRateLimited(key)
			theirs.AddRateLimited(key)
		}
		for range 100 {
			time.Sleep(time.Second)
			synctest.Wait()
			if q.Len() != theirs.Len() {
				t.Fatalf("%d keys are ready, in client-go's queue %d", q.Len(), theirs.Len())
			}
		}
		if q.Len() != 200 {
			t.Errorf("%d keys are ready at the end", q.Len())
		}
	})
}

// TestAddStale shows that a key that goes on meeting a stale store is tried at least every 10 seconds, and that this is no failure.
func TestAddStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		defer q.ShutDown()
		var total time.Duration
		for range 100 {
			delay := q.AddStale(a)
			total += delay
			time.Sleep(delay)
			q.Get()
			q.Done(a)
		}
		if first := q.AddStale(b); first != 50*time.Millisecond || q.AddStale(a) != 10*time.Second || total < 15*time.Minute {
			t.Errorf("the first delay is %s, the 100 first ones are %s", first, total)
		}
		if q.NumRequeues(a) != 0 {
			t.Errorf("%d failures, want 0", q.NumRequeues(a))
		}
		q.AddRateLimited(a)
		if delay := q.AddStale(a); q.NumRequeues(a) != 1 || delay != 50*time.Millisecond {
			t.Errorf("after a failure: %d failures, and a delay of %s, want 1 and 50ms", q.NumRequeues(a), delay)
		}
		q.Forget(a)
		if delay := q.AddStale(a); q.NumRequeues(a) != 0 || delay != 50*time.Millisecond {
			t.Errorf("after Forget: %d failures, and a delay of %s, want 0 and 50ms", q.NumRequeues(a), delay)
		}
	})
}
