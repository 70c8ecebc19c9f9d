package main

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// backoff is the queue's rate limiter: it decides how long a key that failed waits for its next attempt.
//
// The decision is client-go's: 5 ms for a key's first failure, twice as much for each one after, and no more than
// 10 retries a second of all keys together, once the first 100 are through. Ours is the memory: a queue tells
// nobody which keys it holds back. And a limit: a key is never dropped here, and client-go would let one whose
// server was away for an hour wait for a quarter of an hour more.
type backoff struct {
	workqueue.TypedRateLimiter[cache.ObjectName]

	mu     sync.Mutex
	delays map[cache.ObjectName]time.Duration
}

func newBackoff() *backoff {
	return &backoff{
		TypedRateLimiter: workqueue.NewTypedWithMaxWaitRateLimiter(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName](), time.Minute),
		delays:           map[cache.ObjectName]time.Duration{},
	}
}

// When counts a failure. The queue's AddRateLimited calls it.
func (b *backoff) When(key cache.ObjectName) time.Duration {
	delay := b.TypedRateLimiter.When(key)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.delays[key] = delay
	return delay
}

// Forget clears the count, and with it the delays: the next failure is a first one again.
func (b *backoff) Forget(key cache.ObjectName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, failed := b.delays[key]; failed { // most keys never do, and have nothing to clear
		b.TypedRateLimiter.Forget(key)
		delete(b.delays, key)
	}
}

// delay returns how long the key was last told to wait.
func (b *backoff) delay(key cache.ObjectName) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.delays[key]
}

// failed returns the keys that have failed and not succeeded since.
func (b *backoff) failed() []cache.ObjectName {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedFunc(maps.Keys(b.delays), func(a, b cache.ObjectName) int {
		return strings.Compare(a.String(), b.String())
	})
}
