package exercise_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	exercise "example.com/client-go-workbook/04-workqueue/exercises/08-add-after"
	answers "example.com/client-go-workbook/04-workqueue/exercises/answers/08-add-after"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(workqueue.TypedRateLimitingInterface[cache.ObjectName], func(cache.ObjectName) (time.Duration, error))

var grader = grade.Exercise[answer]{
	Learner:  exercise.Worker,
	Accepted: []answer{answers.Worker, answers.HasTimersOfItsOwn},
	Rejected: []grade.Rejected[answer]{
		{Name: "sleeps in the worker", Answer: answers.SleepsInTheWorker, Says: "holds its key"},
		{Name: "starts a timer for each sync", Answer: answers.StartsATimerForEachSync, Says: "adds another one"},
		{Name: "calls AddAfter with 0", Answer: answers.CallsAddAfterWith0, Says: "AddAfter with 0"},
		{Name: "does not retry after a failure", Answer: answers.DoesNotRetryAfterAFailure, Says: "succeeds with its second retry"},
		{Name: "calls AddRateLimited after a success", Answer: answers.CallsAddRateLimitedAfterASuccess, Says: "comes after that time"},
		{Name: "does not forget a key that comes again", Answer: answers.DoesNotForgetAKeyThatComesAgain, Says: "after each success"},
		{Name: "comes back only once", Answer: answers.ComesBackOnlyOnce, Says: "not at all"},
	},
	Timeout: 10 * time.Second, // for a loop that never waits
	Grade:   func(t *grade.T, worker answer) { t.Bubble(func(t *grade.T) { grading(t, worker) }) },
}

// grading has a key that comes again after some minutes, one that does not, and two whose syncs fail twice: one of these
// comes again, too.
func grading(t *grade.T, worker answer) {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, 1000*time.Second)
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	defer queue.ShutDown()
	number := t.Rand.IntN(1000)
	key := func(name string) cache.ObjectName {
		return cache.NewObjectName("default", fmt.Sprintf("%s-%d", name, number))
	}
	old, never, failing, renewed := key("certificate"), key("config"), key("failing"), key("renewed")
	period := time.Duration(20+t.Rand.IntN(40)) * time.Minute
	var mu sync.Mutex
	syncs := map[cache.ObjectName][]time.Time{}
	syncsOf := func(key cache.ObjectName) []time.Time {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(syncs[key])
	}
	go worker(queue, func(key cache.ObjectName) (time.Duration, error) {
		mu.Lock()
		syncs[key] = append(syncs[key], time.Now())
		n := len(syncs[key])
		mu.Unlock()
		if n > 1000 { // an answer that goes on and on
			time.Sleep(1000 * time.Hour)
		}
		switch {
		case key == failing && n <= 2, key == renewed && n <= 2:
			return 0, errors.New("the server is too busy")
		case key == old, key == renewed:
			return period, nil
		}
		return 0, nil
	})

	t.Doing("syncs of the keys")
	queue.Add(old)
	queue.Add(never)
	queue.Add(failing)
	queue.Add(renewed)
	time.Sleep(time.Second)
	synctest.Wait()
	if n := len(syncsOf(old)); n > 1 {
		t.Reject(fmt.Sprintf("a sync returns %s: its key comes after that time", period), fmt.Sprintf("%d sync(s) in the first second", n),
			"which method adds a key after a time that you choose?")
	}
	if n := len(syncsOf(never)); n != 1 {
		look := "a worker that sleeps holds its key, and can sync no other"
		if n > 1 {
			look = "AddAfter with 0 is the same as Add"
		}
		t.Reject(fmt.Sprintf("the sync of %s returns 0: 1 sync", never), fmt.Sprintf("%d sync(s)", n), look)
	}
	for _, key := range []cache.ObjectName{failing, renewed} {
		if n := len(syncsOf(key)); n != 3 {
			t.Reject(key.String()+" succeeds with its second retry: 3 syncs", fmt.Sprintf("%d sync(s)", n), "err, AddRateLimited")
		}
	}

	// Some changes, a few minutes apart.
	changes := 5 + t.Rand.IntN(5)
	for range changes {
		time.Sleep(time.Duration(2+t.Rand.IntN(3)) * time.Minute)
		synctest.Wait()
		before := len(syncsOf(old))
		queue.Add(old)
		synctest.Wait()
		if len(syncsOf(old)) == before {
			t.Reject(old.String()+" is added while it waits: a sync at once", "no sync",
				"a worker that sleeps holds its key, and can sync no other")
		}
	}
	const quietPeriods = 20
	t.Doing("syncs of the key that comes again and again")
	time.Sleep((quietPeriods + 1) * period)
	synctest.Wait()
	all := append(syncsOf(old), time.Now())
	for i := 1; i < len(all); i++ {
		if gap := all[i].Sub(all[i-1]); gap > period {
			what := gap.Round(time.Second).String() + " later"
			if i == len(all)-1 {
				what = "not at all"
			}
			t.Reject(fmt.Sprintf("%s is synced, and again within %s", old, period), what, "what happens after each successful sync?")
		}
	}
	quiet := 0 // the syncs since the last change, and one period
	for _, at := range syncsOf(old) {
		if time.Since(at) < quietPeriods*period {
			quiet++
		}
	}
	if quiet > 2*quietPeriods {
		t.Reject(fmt.Sprintf("%d changes, then nothing for %s: about %d syncs", changes, quietPeriods*period, quietPeriods),
			fmt.Sprintf("%d syncs", quiet), "what a change does to the time that the key still waits for, and whether each sync adds another one")
	}
	if n := len(syncsOf(never)); n != 1 {
		t.Reject(fmt.Sprintf("the sync of %s returns 0: 1 sync", never), fmt.Sprintf("%d sync(s)", n), "again == 0")
	}

	// The count of failures was cleared: the delay is the shortest again.
	for _, key := range []cache.ObjectName{failing, renewed} {
		if n := queue.NumRequeues(key); n > 0 {
			t.Reject("a success clears the count of failures", fmt.Sprintf("%s has succeeded, and NumRequeues is %d", key, n),
				"Forget: is it called after each success?")
		}
	}
	t.Doing("the worker returns when the queue is shut down and empty")
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }
