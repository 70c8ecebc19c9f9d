package exercise_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	exercise "example.com/client-go-workbook/04-workqueue/exercises/03-forget"
	answers "example.com/client-go-workbook/04-workqueue/exercises/answers/03-forget"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(workqueue.TypedRateLimitingInterface[cache.ObjectName], func(cache.ObjectName) error)

var grader = grade.Exercise[answer]{
	Learner:  exercise.Worker,
	Accepted: []answer{answers.Worker, answers.HasALimiterOfItsOwn},
	Rejected: []grade.Rejected[answer]{
		{Name: "calls Forget after a failure, too", Answer: answers.CallsForgetAfterAFailureToo, Says: "longer than the one before"},
		{Name: "calls Forget instead of Done", Answer: answers.CallsForgetInsteadOfDone, Says: "Done"},
		{Name: "retries at once", Answer: answers.RetriesAtOnce, Says: "longer than the one before"},
		{Name: "does not retry", Answer: answers.DoesNotRetry, Says: "0 retries"},
		{Name: "adds the key after a success, too", Answer: answers.AddsTheKeyAfterASuccessToo, Says: "after a success"},
	},
	Timeout: 10 * time.Second, // for a loop that never waits
	Grade:   func(t *grade.T, worker answer) { t.Bubble(func(t *grade.T) { grading(t, worker) }) },
}

// grading lets a key fail some times in a row, twice, with an hour and a success between.
func grading(t *grade.T, worker answer) {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, 1000*time.Second)
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	defer queue.ShutDown()
	key := cache.NewObjectName("default", fmt.Sprintf("web-%d", t.Rand.IntN(1000)))
	failures := 0 // how many syncs are still to fail
	var attempts []time.Time
	go worker(queue, func(cache.ObjectName) error {
		attempts = append(attempts, time.Now())
		if len(attempts) > 1000 { // an answer that goes on and on
			time.Sleep(24 * time.Hour)
		}
		if failures == 0 || len(attempts) > 1000 {
			return nil
		}
		failures--
		return errors.New("the server is too busy")
	})
	// retries adds the key, and returns how long each of its retries was waited for.
	retries := func(inARow int) []time.Duration {
		attempts, failures = nil, inARow
		queue.Add(key)
		time.Sleep(time.Hour)
		synctest.Wait()
		var delays []time.Duration
		for i := 1; i < len(attempts); i++ {
			delays = append(delays, attempts[i].Sub(attempts[i-1]))
		}
		return delays
	}

	inARow := 4 + t.Rand.IntN(4)
	first := retries(inARow)
	switch {
	case len(attempts) == 0:
		t.Reject("a sync of "+key.String()+", which is in the queue", "no sync", "Get")
	case len(first) < inARow:
		t.Reject(fmt.Sprintf("%d syncs fail in a row: %d retries", inARow, inARow), fmt.Sprintf("%d retries", len(first)),
			"AddRateLimited, and Done")
	case len(first) > inARow:
		t.Reject("no retry after a success", fmt.Sprintf("a sync, %s after a success", first[inARow]), "when AddRateLimited is called")
	}
	for i := 1; i < inARow; i++ {
		if first[i] <= first[i-1] {
			t.Reject("failures in a row: each retry waits longer than the one before",
				fmt.Sprintf("they wait %s, then %s", first[i-1], first[i]), "AddRateLimited, and what Forget clears")
		}
	}
	second := retries(2)
	if len(attempts) == 0 {
		t.Reject("an hour after a success the key is added: a sync", "no sync", "Done: without it, no worker gets the key again")
	}
	if len(second) != 2 {
		t.Reject("2 syncs fail in a row: 2 retries", fmt.Sprintf("%d retries", len(second)), "AddRateLimited, and Done")
	}
	if second[0] != first[0] {
		t.Reject(fmt.Sprintf("a failure after a success: the retry waits %s, as the very first", first[0]), "it waits "+second[0].String(),
			"the table of five calls in the chapter's README: what clears the count of failures?")
	}
	t.Doing("the worker returns when the queue is shut down and empty")
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }
