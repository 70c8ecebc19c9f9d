// Package retryqueue has client-go's workqueue, which here also knows the keys that wait for a retry, and has a second delay.
//
// Client-go's queue counts only the keys that are ready. Those that wait are in a heap that nobody can list, and a key that
// is added with a delay while the queue shuts down is discarded without a word.
package retryqueue

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Queue is client-go's rate-limiting queue, and a list of the keys that wait for a retry.
type Queue struct {
	workqueue.TypedRateLimitingInterface[cache.ObjectName]
	limiter workqueue.TypedRateLimiter[cache.ObjectName]
	stale   workqueue.TypedRateLimiter[cache.ObjectName] // see AddStale

	mu     sync.Mutex
	delays map[cache.ObjectName]time.Duration // of the keys that wait for a retry
}

// New returns a queue. It takes the parameters of workqueue.NewTypedRateLimitingQueueWithConfig.
func New(limiter workqueue.TypedRateLimiter[cache.ObjectName], config workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]) *Queue {
	return &Queue{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config),
		limiter:                    limiter,
		stale: workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](
			50*time.Millisecond, 10*time.Second),
		delays: map[cache.ObjectName]time.Duration{},
	}
}

// Limiter returns what decides how long a key waits for a retry.
func (q *Queue) Limiter() workqueue.TypedRateLimiter[cache.ObjectName] { return q.limiter }

// AddRateLimited adds a key after the delay that the limiter returns for it.
func (q *Queue) AddRateLimited(key cache.ObjectName) {
	q.stale.Forget(key)
	q.AddAfter(key, q.limiter.When(key))
}

// AddStale adds a key whose sync has read an old state: after 50 ms, the next time after 100 ms, and so on up to 10 s. It
// returns the delay, which grows by a sync that an event has caused, too; Forget and AddRateLimited let it begin again.
// NumRequeues stays as it is. The limiter is not asked, because that one allows few retries a second, and after a burst of
// writes all keys meet a stale store.
func (q *Queue) AddStale(key cache.ObjectName) time.Duration {
	delay := q.stale.When(key)
	q.AddAfter(key, delay)
	return delay
}

// Forget lets the delays of a key begin again.
func (q *Queue) Forget(key cache.ObjectName) {
	q.stale.Forget(key)
	q.TypedRateLimitingInterface.Forget(key)
}

// AddAfter adds a key after a delay. The key waits for a retry until Get returns it, which is earlier if it is added again.
// While the queue shuts down, the key only joins those that wait.
func (q *Queue) AddAfter(key cache.ObjectName, delay time.Duration) {
	q.mu.Lock()
	q.delays[key] = delay
	q.mu.Unlock()
	q.TypedRateLimitingInterface.AddAfter(key, delay)
}

// Get waits for a key and returns it. When the queue is shut down and empty, it returns true.
func (q *Queue) Get() (key cache.ObjectName, shutdown bool) {
	key, shutdown = q.TypedRateLimitingInterface.Get()
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.delays, key)
	return key, shutdown
}

// Delay returns the delay with which a key was added that waits for a retry.
func (q *Queue) Delay(key cache.ObjectName) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.delays[key]
}

// Waiting returns the keys that wait for a retry, in alphabetical order.
func (q *Queue) Waiting() []cache.ObjectName {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.SortedFunc(maps.Keys(q.delays), func(a, b cache.ObjectName) int {
		return strings.Compare(a.String(), b.String())
	})
}
