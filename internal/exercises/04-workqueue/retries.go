package workqueue

import (
	"fmt"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/exercise/grade"
)

type retriesAnswer = func(
	workqueue.TypedRateLimitingInterface[cache.ObjectName], int, func(cache.ObjectName) error, func(cache.ObjectName, error),
)

// Retries grades the answers to "Retries with an end".
var Retries = grade.Exercise[retriesAnswer]{
	Timeout: 10 * time.Second, // for a loop that never waits
	Grade: func(t *grade.T, worker retriesAnswer) {
		for _, maxRetries := range []int{3 + t.Rand.IntN(4), 0} {
			t.Bubble(func(t *grade.T) { gradeRetries(t, worker, maxRetries) })
		}
	},
}

// gradeRetries has a key whose syncs all fail, one whose last retry succeeds, and one that never fails. They have the same name,
// in three namespaces.
func gradeRetries(t *grade.T, worker retriesAnswer, maxRetries int) {
	const shortest = 5 * time.Millisecond
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](shortest, 1000*time.Second)
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	defer queue.ShutDown()
	name := fmt.Sprintf("web-%d", t.Rand.IntN(1000))
	hopeless, slow := cache.NewObjectName("hopeless", name), cache.NewObjectName("slow", name)
	good := cache.NewObjectName("good", name)

	start := time.Now()
	attempts := map[cache.ObjectName][]time.Duration{}
	reported := map[cache.ObjectName][]string{}
	returned := false
	go func() {
		worker(queue, maxRetries, func(key cache.ObjectName) error {
			attempts[key] = append(attempts[key], time.Since(start))
			n := len(attempts[key])
			if n < 1000 && (key == hopeless || key == slow && n <= maxRetries) { // 1000: for an answer that never waits
				return fmt.Errorf("attempt %d of %s has failed", n, key)
			}
			return nil
		}, func(key cache.ObjectName, err error) { reported[key] = append(reported[key], fmt.Sprint(err)) })
		returned = true
	}()

	for _, when := range []string{"", "added again: "} { // when it was dropped, or has succeeded
		clear(attempts)
		clear(reported)
		start = time.Now()
		queue.Add(hopeless)
		queue.Add(slow)
		queue.Add(good)
		time.Sleep(time.Hour)
		synctest.Wait()

		if returned {
			t.Reject("Worker returns when the queue is shut down and empty", "it returned, and the queue was open",
				"the second result of Get")
		}
		if n := len(attempts[hopeless]); n != 1+maxRetries {
			look := "NumRequeues is the count of this key: AddRateLimited adds one, Forget clears it"
			switch n {
			case 0:
				look = "Get and Done: without Done, no worker gets the key again"
			case 1:
				look = "AddRateLimited brings the key back after its delay; Forget clears the count of its failures"
			}
			t.Reject(fmt.Sprintf("%skey %s always fails, maxRetries is %d: %d sync(s)", when, hopeless, maxRetries, 1+maxRetries),
				fmt.Sprintf("%d sync(s)", n), look)
		}
		if at := attempts[good]; len(at) == 0 || at[0] > 0 {
			t.Reject(fmt.Sprintf("key %s is synced at once, while %s waits for a retry", good, hopeless), fmt.Sprintf("its syncs: %v", at),
				"AddRateLimited: the key waits beside the queue, and the worker is free")
		}
		for i := range maxRetries {
			if delay := attempts[hopeless][i+1] - attempts[hopeless][i]; delay != shortest<<i {
				look := "AddRateLimited, once for each failure: the delay belongs to the queue"
				if i == 0 && when != "" {
					look = "Forget: it clears the limiter's count, and so the delay"
				}
				t.Reject(fmt.Sprintf("%skey %s waits %s before retry %d", when, hopeless, shortest<<i, i+1),
					"it waits "+delay.String(), look)
			}
		}
		if last := fmt.Sprintf("attempt %d of %s has failed", 1+maxRetries, hopeless); fmt.Sprint(reported[hopeless]) != "["+last+"]" {
			t.Reject(fmt.Sprintf("%sreport is called once for %s, with %q", when, hopeless, last),
				fmt.Sprintf("it got %q", reported[hopeless]), "the case in which no retry is left")
		}
		if n := len(attempts[slow]); n != 1+maxRetries || len(reported[slow]) > 0 {
			t.Reject(fmt.Sprintf("%skey %s succeeds with its last retry: %d sync(s), no report", when, slow, 1+maxRetries),
				fmt.Sprintf("%d sync(s), reported: %q", n, reported[slow]), "NumRequeues is the count of this key, and a success clears it")
		}
		if n := len(attempts[good]); n != 1 || len(reported[good]) > 0 {
			t.Reject(fmt.Sprintf("key %s succeeds: 1 sync, no report", good), fmt.Sprintf("%d sync(s), reported: %q", n, reported[good]),
				"err == nil")
		}
	}
	t.Doing("the worker returns when the queue is shut down and empty")
}
