package exercise_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	exercise "example.com/client-go-workbook/02-informer/exercises/08-remove-handler"
	answers "example.com/client-go-workbook/02-informer/exercises/answers/08-remove-handler"
	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(context.Context, cache.TypedSharedIndexInformer[*corev1.Pod], io.Writer) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Follow,
	Accepted: []answer{answers.Follow, answers.SilencesItsHandlerFirst},
	Rejected: []grade.Rejected[answer]{
		{Name: "waits for the sync", Answer: answers.WaitsForTheSync, Says: "1 more"},
		{Name: "removes without a wait", Answer: answers.RemovesWithoutAWait, Says: "was written after Follow had returned"},
		{Name: "silences the handler", Answer: answers.SilencesTheHandler, Says: "1 more"},
		{Name: "silences and removes the handler", Answer: answers.SilencesAndRemovesTheHandler, Says: "while a line was being written"},
		{Name: "removes the handler from itself", Answer: answers.RemovesTheHandlerFromItself, Says: "it had not returned an hour later"},
	},
	Grade: func(t *grade.T, follow answer) {
		t.Bubble(func(t *grade.T) { gradeFollow(t, follow) })
		gradeLastLine(t, follow)
	},
}

func gradeFollow(t *grade.T, follow answer) {
	server := fakeserver.Start(t)
	pods := 5 + t.Rand.IntN(5)
	for i := range pods {
		server.Create(newPod(i))
	}
	informer := cache.NewTypedSharedIndexInformer[*corev1.Pod](fakeserver.SlowInformer{SharedIndexInformer: newInformer(server)})
	go informer.RunWithContext(t.Context())
	synctest.Wait()
	before := handlers()

	var out writer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := make(chan error, 1)
	go func() { returned <- follow(ctx, informer, &out) }()
	time.Sleep(2500 * time.Millisecond)
	if lines := out.lines.Load(); lines != 2 {
		t.Reject("after 2.5 seconds, 2 lines", fmt.Sprintf("%d lines", lines), "Follow's documentation")
	}
	t.Doing("Follow returns after ctx has ended")
	cancel() // the third pod's call has begun, and the others wait
	select {
	case <-returned:
		out.closed.Store(true)
	case <-time.After(time.Hour):
		t.Reject("Follow returns after ctx has ended", "it had not returned an hour later",
			"what does Follow wait for, and who waits for Follow? See the documentation of cache.ShutDownEventHandler")
	}
	time.Sleep(time.Minute)
	if late := out.late.Load(); late != nil {
		t.Reject("nothing is written to out after Follow has returned", fmt.Sprintf("%q was written after Follow had returned", *late),
			"RemoveEventHandler's documentation: what does it wait for?")
	}
	if after := handlers(); after > before {
		t.Reject("the informer has no more handlers than before", fmt.Sprintf("%d more", after-before),
			"AddTypedEventHandler returns a registration: what is it for?")
	}
	server.Create(newPod(pods))
	synctest.Wait()
	if stored := len(informer.GetStore().ListKeys()); stored != pods+1 {
		t.Reject(fmt.Sprintf("the informer runs on, and has %d pods", pods+1), fmt.Sprintf("it has %d", stored), "Follow's documentation")
	}
}

// gradeLastLine lets ctx end while a line is being written. It is not in a bubble, where time stands still while a correct
// answer waits for a mutex.
func gradeLastLine(t *grade.T, follow answer) {
	server := fakeserver.Start(t)
	server.Create(newPod(0))
	informer := cache.NewTypedSharedIndexInformer[*corev1.Pod](newInformer(server))
	running, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { informer.RunWithContext(running) })
	t.Cleanup(wg.Wait)
	t.Cleanup(stop)

	out := heldWriter{begun: make(chan struct{}, 1), release: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := make(chan error, 1)
	header := make(chan string, 1)
	go func() {
		header <- stackHeader()
		returned <- follow(ctx, informer, out)
	}()
	followHeader := <-header
	t.Doing("Follow writes a line")
	select {
	case <-out.begun:
	case <-returned:
		t.Reject("Follow prints until ctx ends", "it returned before", "Follow's documentation")
	case <-t.Context().Done():
		return
	}
	cancel()
	t.Doing("Follow waits for its last line")
	// On a busy machine, Follow may get no CPU for long, and has not returned for that reason only. So its goroutine must have
	// been seen waiting, 20 times in a row.
	for waiting := 0; waiting < 20; {
		select {
		case <-returned:
			close(out.release)
			t.Reject("Follow returns when no line is being written", "it returned while a line was being written",
				"which function of the package cache waits for a call that is running?")
		case <-t.Context().Done():
			close(out.release)
			return
		case <-time.After(10 * time.Millisecond):
		}
		if isWaiting(followHeader) {
			waiting++
		} else {
			waiting = 0
		}
	}
	close(out.release)
	t.Doing("Follow returns after ctx has ended, when its last line is written")
	select {
	case <-returned:
	case <-t.Context().Done():
	}
}

func newInformer(server *fakeserver.Server) cache.SharedIndexInformer {
	listWatch := cache.NewListWatchFromClient(server.Core().RESTClient(), "pods", metav1.NamespaceAll, fields.Everything())
	return cache.NewSharedIndexInformer(listWatch, &corev1.Pod{}, 0, nil)
}

// handlers returns how many handlers the informer has: each has one goroutine that calls it.
func handlers() int { return strings.Count(allStacks(), "cache.(*processorListener).run(") }

// stackHeader returns how the stack of the calling goroutine begins, such as "goroutine 7 [".
func stackHeader() string {
	stack := make([]byte, 64)
	stack = stack[:runtime.Stack(stack, false)]
	return string(stack[:bytes.IndexByte(stack, '[')+1])
}

// isWaiting returns whether a goroutine neither runs nor could run.
func isWaiting(header string) bool {
	_, state, _ := strings.Cut("\n"+allStacks(), "\n"+header)
	return !strings.HasPrefix(state, "run") // running or runnable
}

func allStacks() string {
	stacks := make([]byte, 1<<20)
	return string(stacks[:runtime.Stack(stacks, true)])
}

func newPod(number int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%d", number)}}
}

// writer counts the lines until it is closed, and keeps the first that comes later.
type writer struct {
	closed atomic.Bool
	lines  atomic.Int64
	late   atomic.Pointer[string]
}

func (w *writer) Write(p []byte) (int, error) {
	if w.closed.Load() {
		w.late.CompareAndSwap(nil, new(strings.TrimSuffix(string(p), "\n")))
		return 0, io.ErrClosedPipe
	}
	w.lines.Add(int64(strings.Count(string(p), "\n")))
	return len(p), nil
}

// heldWriter says when a line begins, and ends it when it is released.
type heldWriter struct {
	begun   chan struct{}
	release chan struct{}
}

func (w heldWriter) Write(p []byte) (int, error) {
	select {
	case w.begun <- struct{}{}:
	default:
	}
	<-w.release
	return len(p), nil
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }
