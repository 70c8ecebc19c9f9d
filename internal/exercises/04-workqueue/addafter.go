package workqueue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/exercise/grade"
)

type addAfterAnswer = func(workqueue.TypedRateLimitingInterface[cache.ObjectName], func(cache.ObjectName) (time.Duration, error))

// AddAfter grades the answers to "Again in an hour, at once when it changes".
var AddAfter = grade.Exercise[addAfterAnswer]{
	Timeout: 10 * time.Second, // for a loop that never waits
	Grade: func(t *grade.T, worker addAfterAnswer) {
		name := fmt.Sprintf("web-%d", t.Rand.IntN(1000))
		for range 2 { // a second worker begins anew
			t.Bubble(func(t *grade.T) { gradeAddAfter(t, worker, name) })
		}
	},
}

// gradeAddAfter has a key that comes again after some minutes, one that does not, and two whose syncs fail some times: one of these
// comes again, too. They have the same name, in four namespaces.
func gradeAddAfter(t *grade.T, worker addAfterAnswer, name string) {
	const shortest = 5 * time.Millisecond
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](shortest, 1000*time.Second)
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	defer queue.ShutDown()
	old, never := cache.NewObjectName("certificate", name), cache.NewObjectName("config", name)
	failing, renewed := cache.NewObjectName("failing", name), cache.NewObjectName("renewed", name)
	s := keySyncs{
		again: []cache.ObjectName{old, renewed}, long: old,
		all: map[cache.ObjectName][]attempt{}, fail: map[cache.ObjectName]int{},
	}
	returned := false
	go func() {
		worker(queue, s.handle)
		returned = true
	}()
	// retried adds the two keys whose syncs fail.
	retried := func(when, look string) {
		t.Helper()
		before := map[cache.ObjectName]int{}
		inARow := 3 + t.Rand.IntN(3)
		for _, key := range []cache.ObjectName{failing, renewed} {
			before[key] = len(s.of(key))
			s.fails(key, inARow)
			queue.Add(key)
		}
		time.Sleep(20 * time.Second) // longer than the delays, were the count of the first failures still there
		synctest.Wait()
		for _, key := range []cache.ObjectName{failing, renewed} {
			attempts := s.of(key)[before[key]:]
			if n := len(attempts); n != 1+inARow {
				t.Reject(fmt.Sprintf("%s%s succeeds with its last retry: %d syncs", when, key, 1+inARow), fmt.Sprintf("%d sync(s)", n),
					"err, before all else; AddRateLimited")
			}
			for i := range inARow {
				if delay := attempts[i+1].at.Sub(attempts[i].at); delay != shortest<<i {
					t.Reject(fmt.Sprintf("%s%s waits %s before retry %d", when, key, shortest<<i, i+1), "it waits "+delay.String(), look)
				}
			}
		}
	}

	t.Doing("syncs of the keys")
	queue.Add(old)
	queue.Add(never)
	time.Sleep(time.Second)
	synctest.Wait()
	if returned {
		t.Reject("Worker returns when the queue is shut down and empty", "it returned, and the queue was open", "the second result of Get")
	}
	if syncs := s.of(old); len(syncs) > 1 {
		t.Reject(fmt.Sprintf("a sync returns %s: its key comes after that time", syncs[0].again),
			fmt.Sprintf("%d sync(s) in the first second", len(syncs)), "which method adds a key after a time that you choose?")
	}
	if n := len(s.of(never)); n != 1 {
		look := "a worker that sleeps holds its key, and can sync no other"
		if n > 1 {
			look = "AddAfter with 0 is the same as Add"
		}
		t.Reject(fmt.Sprintf("the sync of %s returns 0: 1 sync", never), fmt.Sprintf("%d sync(s)", n), look)
	}
	retried("", "AddRateLimited after each failure; the time of a failed sync does not count; Forget only after a success")
	ofFailing := len(s.of(failing))

	// Some changes, a few minutes apart.
	changes := 5 + t.Rand.IntN(5)
	for range changes {
		time.Sleep(time.Duration(2+t.Rand.IntN(3)) * time.Minute)
		synctest.Wait()
		before := len(s.of(old))
		queue.Add(old)
		synctest.Wait()
		if len(s.of(old)) == before {
			t.Reject(old.String()+" is added while it waits: a sync at once", "no sync",
				"a worker that sleeps holds its key, and can sync no other")
		}
	}
	const quietTime = 20 * latestAgain
	t.Doing("syncs of the key that comes again and again")
	time.Sleep(latestAgain + quietTime)
	synctest.Wait()
	all := append(s.of(old), attempt{at: time.Now()})
	for i := 1; i < len(all); i++ {
		if gap := all[i].at.Sub(all[i-1].at); gap > all[i-1].again {
			what := gap.Round(time.Second).String() + " later"
			if i == len(all)-1 {
				what = "not at all"
			}
			t.Reject(fmt.Sprintf("%s is synced, and again within %s", old, all[i-1].again), what,
				"what happens after each successful sync? A shorter time counts, too, while the key waits")
		}
	}
	quiet := 0 // the syncs since the last change, and the longest time that a key waits
	for _, attempt := range s.of(old) {
		if time.Since(attempt.at) < quietTime {
			quiet++
		}
	}
	if most := int(quietTime/soonestAgain) + 1; quiet > most {
		t.Reject(fmt.Sprintf("%d changes, then nothing for %s: at most %d syncs", changes, quietTime, most), fmt.Sprintf("%d syncs", quiet),
			"what a change does to the time that the key still waits for, and whether each sync adds another one")
	}
	if n := len(s.of(never)); n != 1 {
		t.Reject(fmt.Sprintf("the sync of %s returns 0: 1 sync", never), fmt.Sprintf("%d sync(s)", n), "again == 0")
	}
	if more := len(s.of(failing)) - ofFailing; more > 0 {
		t.Reject(fmt.Sprintf("%s has succeeded, and returned 0: no sync after that", failing), fmt.Sprintf("%d sync(s)", more),
			"the time of a failed sync does not count")
	}
	retried("added again: ", "Forget: is it called after each success?")
	t.Doing("the worker returns when the queue is shut down and empty")
}

const (
	soonestAgain = 30 * time.Minute // a sync returns a time between these two
	latestAgain  = 45 * time.Minute
)

// keySyncs are those of each key.
type keySyncs struct {
	again []cache.ObjectName // the keys that come again
	long  cache.ObjectName   // a key whose first sync returns a long time

	mu   sync.Mutex
	all  map[cache.ObjectName][]attempt
	fail map[cache.ObjectName]int // how many syncs are still to fail
}

// attempt is a sync.
type attempt struct {
	at    time.Time
	again time.Duration // that it returned
}

func (s *keySyncs) of(key cache.ObjectName) []attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all[key])
}

func (s *keySyncs) fails(key cache.ObjectName, inARow int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[key] = inARow
}

func (s *keySyncs) handle(key cache.ObjectName) (again time.Duration, err error) {
	s.mu.Lock()
	if slices.Contains(s.again, key) {
		again = soonestAgain + time.Duration(rand.IntN(16))*time.Minute
	}
	if key == s.long && len(s.all[key]) == 0 { // the changes come earlier, and the times that their syncs return are shorter
		again = 10 * latestAgain
	}
	if s.fail[key] > 0 {
		s.fail[key]--
		again, err = latestAgain, errors.New("the server is too busy")
		if s.fail[key]%2 == 0 {
			again = time.Millisecond // less than its delay
		}
	}
	s.all[key] = append(s.all[key], attempt{time.Now(), again})
	n := len(s.all[key])
	s.mu.Unlock()
	if n > 1000 { // an answer that goes on and on
		time.Sleep(1000 * time.Hour)
	}
	return again, err
}
