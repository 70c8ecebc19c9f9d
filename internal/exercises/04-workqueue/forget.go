package workqueue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/exercise/grade"
)

type forgetAnswer = func(workqueue.TypedRateLimitingInterface[cache.ObjectName], func(cache.ObjectName) error)

// Forget grades the answers to "The delay that never shrinks".
var Forget = grade.Exercise[forgetAnswer]{
	Timeout: 10 * time.Second, // for a loop that never waits
	Grade: func(t *grade.T, worker forgetAnswer) {
		for few := 1; few <= 2; few++ { // a second worker begins anew
			t.Bubble(func(t *grade.T) { gradeForget(t, worker, few) })
		}
	},
}

// gradeForget lets two keys fail, one of them a few times in a row, the other one many times, and again after an hour and a success. One
// succeeds while the other one still fails. Both have the same name, in two namespaces.
func gradeForget(t *grade.T, worker forgetAnswer, few int) {
	const shortest = 5 * time.Millisecond
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](shortest, 1000*time.Second)
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	defer queue.ShutDown()
	name := fmt.Sprintf("web-%d", t.Rand.IntN(1000))
	keys := []cache.ObjectName{cache.NewObjectName("shop", name), cache.NewObjectName("stock", name)}
	failures := map[cache.ObjectName]int{} // how many syncs are still to fail
	attempts := map[cache.ObjectName][]time.Time{}
	returned := false
	go func() {
		worker(queue, func(key cache.ObjectName) error {
			attempts[key] = append(attempts[key], time.Now())
			if len(attempts[key]) > 1000 { // an answer that goes on and on
				time.Sleep(24 * time.Hour)
				return nil
			}
			if failures[key] == 0 {
				return nil
			}
			failures[key]--
			return problems[len(attempts[key])%len(problems)]
		})
		returned = true
	}()

	for _, first := range []bool{true, false} {
		clear(attempts)
		inARow := map[cache.ObjectName]int{keys[0]: few, keys[1]: 12 + t.Rand.IntN(2)}
		maps.Copy(failures, inARow) // before the worker begins to read
		for _, key := range keys {
			queue.Add(key)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if returned {
			t.Reject("the worker returns when the queue is shut down and empty", "it returned, and the queue was open",
				"the second result of Get")
		}
		for _, key := range keys {
			var delays []time.Duration // how long each retry has waited
			for i := 1; i < len(attempts[key]); i++ {
				delays = append(delays, attempts[key][i].Sub(attempts[key][i-1]))
			}
			switch n := inARow[key]; {
			case len(attempts[key]) == 0 && first:
				t.Reject("a sync of "+key.String()+", which is in the queue", "no sync", "Get")
			case len(attempts[key]) == 0:
				t.Reject("an hour after a success the key is added: a sync", "no sync", "Done: without it, no worker gets the key again")
			case len(delays) < n:
				t.Reject(fmt.Sprintf("%d syncs fail in a row: %d retries", n, n), fmt.Sprintf("%d retries", len(delays)),
					"AddRateLimited, and Done")
			case len(delays) > n:
				t.Reject("no retry after a success", fmt.Sprintf("a sync, %s after a success", delays[n]), "when AddRateLimited is called")
			}
			if delays[0] != shortest && !first {
				t.Reject(fmt.Sprintf("a failure after a success: the retry waits %s, as the very first", shortest),
					"it waits "+delays[0].String(), "the table of five calls in the chapter's README: what clears the count of failures?")
			}
			for i, delay := range delays {
				if delay != shortest<<i {
					t.Reject(fmt.Sprintf("failures in a row: the first retry waits %s, and each twice as long as the one before", shortest),
						fmt.Sprintf("the retries of %s wait %v", key, delays),
						"AddRateLimited, once for each failure; what Forget clears; the count belongs to the key")
				}
			}
		}
	}
	t.Doing("the worker returns when the queue is shut down and empty")
}

// problems are what syncs fail with, one after the other.
var problems = []error{
	errors.New("the server is too busy"),
	context.DeadlineExceeded,
	apierrors.NewNotFound(corev1.Resource("pods"), "web"),
	apierrors.NewConflict(corev1.Resource("pods"), "web", errors.New("it has changed")),
	apierrors.NewForbidden(corev1.Resource("pods"), "web", errors.New("it is not allowed")),
}
