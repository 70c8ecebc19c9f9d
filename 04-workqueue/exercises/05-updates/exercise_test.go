package exercise_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	exercise "example.com/client-go-workbook/04-workqueue/exercises/05-updates"
	answers "example.com/client-go-workbook/04-workqueue/exercises/answers/05-updates"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(context.Context, cache.SharedIndexInformer, func(*corev1.Pod)) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Run,
	Accepted: []answer{answers.Run, answers.NeedsNoWorkQueue},
	Rejected: []grade.Rejected[answer]{
		{Name: "puts objects into the queue", Answer: answers.PutsObjectsIntoTheQueue, Says: "saves in the first"},
		{Name: "saves in the handler", Answer: answers.SavesInTheHandler, Says: "saves in the first"},
		{Name: "leaves out what comes too early", Answer: answers.LeavesOutWhatComesTooEarly, Says: "version"},
		{Name: "calls AddRateLimited for each event", Answer: answers.CallsAddRateLimitedForEachEvent,
			Says: "AddRateLimited is for retries"},
		{Name: "starts a goroutine for each event", Answer: answers.StartsAGoroutineForEachEvent, Says: "at the same time"},
		{Name: "saves the state of the first event", Answer: answers.SavesTheStateOfTheFirstEvent, Says: "version"},
		{Name: "does not wait for the worker", Answer: answers.DoesNotWaitForTheWorker, Says: "while a save ran"},
		{Name: "leaves the worker behind", Answer: answers.LeavesTheWorkerBehind, Says: "a goroutine still runs"},
	},
	Grade: func(t *grade.T, run answer) { t.Bubble(func(t *grade.T) { grading(t, run) }) },
}

const (
	updates = 1000
	every   = time.Millisecond / 2   // between two updates
	takes   = 100 * time.Millisecond // a save
)

// grading has a real informer, whose server is a list in memory: the network has no place in a bubble.
func grading(t *grade.T, run answer) {
	ctx, cancel := context.WithCancel(t.Context())
	server := cachetesting.NewFakeControllerSource()
	var pods []*corev1.Pod
	for i := range 2 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("web-%d", 10*t.Rand.IntN(100)+i)}}
		pods = append(pods, pod)
		server.Add(pod)
	}
	informer := cache.NewSharedIndexInformer(server, &corev1.Pod{}, 0, cache.Indexers{})
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	var saves saves
	returned, saving := false, false
	group.Go(func() {
		if err := run(ctx, informer, saves.save); err != nil {
			saves.err = err
		}
		returned, saving = true, saves.run()
	})
	t.Doing("saves of the first pods; no lock is held during a save")
	time.Sleep(3 * takes)
	synctest.Wait()
	if returned {
		t.Reject("Run waits for events until ctx ends", fmt.Sprintf("it returned (%v)", saves.err), "<-ctx.Done()")
	}
	clear(saves.versions)
	saves.count = 0

	t.Doing("saves after %d updates; no lock is held during a save", updates)
	for range updates {
		i := t.Rand.IntN(len(pods))
		pods[i] = pods[i].DeepCopy()
		server.Modify(pods[i])
		time.Sleep(every)
	}
	const rest = 2500 * time.Millisecond
	time.Sleep(rest)
	synctest.Wait()
	if saves.twice != "" {
		t.Reject("never two saves of the same pod at the same time", "two saves of "+saves.twice+" at the same time",
			"Get gives a key to one worker only, until Done")
	}
	// One that begins before the first update ends later, and one is due after the last update.
	if most := len(pods) * (int(updates*every/takes) + 3); saves.count > most {
		t.Reject(fmt.Sprintf("%d updates of %d pods in %s: at most %d saves", updates, len(pods), updates*every, most),
			fmt.Sprintf("%d saves in the first %s", saves.count, updates*every+rest), "what is in the queue? It merges only what is equal")
	}
	for _, pod := range pods {
		if saved := saves.versions[pod.Name]; saved != pod.ResourceVersion {
			look := "each event adds the key with Add (AddRateLimited is for retries); the worker reads the pod from the store"
			if saved == "" {
				saved, look = "none", "AddEventHandler, the handler's two functions, and who calls save"
			}
			t.Reject(fmt.Sprintf("the last save of pod %s has its newest state, version %s", pod.Name, pod.ResourceVersion),
				"version of the last save: "+saved, look)
		}
	}

	server.Modify(pods[0].DeepCopy())
	time.Sleep(takes / 2)
	cancel()
	t.Doing("Run returns when ctx has ended")
	time.Sleep(rest / 2)
	synctest.Wait()
	if !returned {
		t.Reject("Run returns when ctx has ended", fmt.Sprintf("it still runs %s later", rest/2), "ShutDown, after <-ctx.Done()")
	}
	if saving {
		t.Reject("Run waits for the save that runs, and returns", "Run returned while a save ran", "what waits for the worker?")
	}
	group.Wait()
	server.Shutdown()
}

// saves is the database.
type saves struct {
	mu       sync.Mutex
	count    int
	versions map[string]string // by name: the newest that was saved
	running  map[string]bool
	twice    string // a pod of which two saves ran at the same time
	err      error
}

// run tells whether a save runs.
func (s *saves) run() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, running := range s.running {
		if running {
			return true
		}
	}
	return false
}

func (s *saves) save(pod *corev1.Pod) {
	s.mu.Lock()
	if s.running == nil {
		s.versions, s.running = map[string]string{}, map[string]bool{}
	}
	if s.running[pod.Name] {
		s.twice = pod.Name
	}
	s.running[pod.Name] = true
	s.count++
	s.mu.Unlock()
	time.Sleep(takes)
	s.mu.Lock()
	s.versions[pod.Name] = pod.ResourceVersion
	s.running[pod.Name] = false
	s.mu.Unlock()
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }
