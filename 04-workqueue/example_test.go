package main

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// worker syncs one key after the other, until the queue is shut down and empty.
func worker(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := syncHandler(key); err != nil {
			queue.AddRateLimited(key) // again, after a delay that grows with each failure
		} else {
			queue.Forget(key) // the next failure waits the shortest delay again
		}
		queue.Done(key) // from now on a worker can get this key again
	}
}

func Example_worker() {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	pod := cache.NewObjectName("nginx", "nginx-1")
	queue.Add(pod) // a handler does this for each event
	queue.Add(pod) // merged with the first

	attempts := 0
	worker(queue, func(key cache.ObjectName) error {
		attempts++
		fmt.Println("sync", attempts, "of", key)
		if attempts == 1 {
			return errors.New("the network is down")
		}
		queue.ShutDown()
		return nil
	})
	// Output:
	// sync 1 of nginx/nginx-1
	// sync 2 of nginx/nginx-1
}

// Example_threeFaults uses a queue as many first programs do. It has three faults.
func Example_threeFaults() {
	store, queue := cache.NewStore(cache.MetaNamespaceKeyFunc), workqueue.NewTyped[any]()
	defer queue.ShutDown()
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { queue.Add(object) },
		DeleteFunc: func(object any) { queue.Add(object) },
	}
	// A pod is created, updated and deleted before the worker begins.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "nginx", Name: "nginx-1"}}
	updated := pod.DeepCopy()
	handler.OnAdd(pod, false)
	handler.OnUpdate(pod, updated)
	handler.OnDelete(updated)

	for queue.Len() > 0 {
		object, _ := queue.Get()
		key, _ := cache.MetaNamespaceKeyFunc(object)
		_, exists, _ := store.GetByKey(key)
		fmt.Println(key, "exists:", exists)
	}
	// Output:
	// nginx/nginx-1 exists: false
	// nginx/nginx-1 exists: false
}

// A key waits once, until the earliest of its times. Add does not cancel the wait.
func TestAddAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // its clock moves on when all goroutines wait
		queue := workqueue.NewTypedDelayingQueue[string]()
		defer queue.ShutDown()
		start := time.Now()
		queue.AddAfter("orders", 10*time.Second)
		queue.AddAfter("orders", 5*time.Second)
		queue.AddAfter("orders", time.Minute)
		queue.Add("orders")
		for _, want := range []time.Duration{0, 5 * time.Second} {
			key, _ := queue.Get()
			queue.Done(key)
			if after := time.Since(start); after != want {
				t.Errorf("a worker gets %s after %s, want %s", key, after, want)
			}
		}
		time.Sleep(time.Hour)
		if queue.Len() > 0 {
			t.Error("the later times count, too")
		}
	})
}

// Handlers add a thousand keys at the same moment. With Add, a worker gets the last one immediately. With AddRateLimited, it gets that one
// after 90 seconds: after the first 100 keys, the limiter lets 10 keys through each second.
func TestRateLimitedEventsAreLate(t *testing.T) {
	type rateLimiting = workqueue.TypedRateLimitingInterface[int]
	for name, test := range map[string]struct {
		add  func(rateLimiting, int)
		want time.Duration
	}{
		"Add":            {func(queue rateLimiting, key int) { queue.Add(key) }, 0},
		"AddRateLimited": {func(queue rateLimiting, key int) { queue.AddRateLimited(key) }, 90 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[int]())
				defer queue.ShutDown()
				start := time.Now()
				for key := range 1000 {
					test.add(queue, key)
				}
				for range 1000 {
					key, _ := queue.Get()
					queue.Forget(key)
					queue.Done(key)
				}
				if after := time.Since(start).Round(time.Second); after != test.want {
					t.Errorf("a worker gets the last key after %s, want %s", after, test.want)
				}
			})
		})
	}
}
