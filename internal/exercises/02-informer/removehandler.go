package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/podinformer"
	"example.com/client-go-workbook/internal/test/testkit"
)

type removeHandlerAnswer = func(context.Context, podinformer.Informer, io.Writer) error

// RemoveHandler grades the answers to "Remove a handler".
var RemoveHandler = grade.Exercise[removeHandlerAnswer]{
	Grade: func(t *grade.T, follow removeHandlerAnswer) {
		t.Bubble(func(t *grade.T) {
			gradeFollow(t, follow)
			gradeTwo(t, follow)
			gradeFollowErrors(t, follow)
		})
		gradeLastLine(t, follow)
	},
}

func gradeFollow(t *grade.T, follow removeHandlerAnswer) {
	server := fakeserver.Start(t)
	pods := 5 + t.Rand.IntN(5)
	lines := map[string]bool{} // those that are expected
	for i := range pods {
		pod := newPod(i)
		server.Create(pod)
		lines[fmt.Sprintf("added %s/%s", pod.Namespace, pod.Name)] = true
	}
	late := 10*time.Minute + time.Duration(t.Rand.Int64N(int64(20*time.Minute)))
	informer := podinformer.Changed{
		SharedIndexInformer: podinformer.New(server.Core().RESTClient(), 0),
		Handler:             func(added cache.ResourceEventHandler) cache.ResourceEventHandler { return lateOnAdd{added, late} },
	}
	go informer.RunWithContext(t.Context())
	synctest.Wait()
	before := runningHandlers()

	var out writer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := make(chan error, 1)
	go func() { returned <- follow(ctx, informer.Typed(), &out) }()
	time.Sleep(2*late + late/2)
	select {
	case err := <-returned:
		t.Reject("Follow prints until ctx ends", fmt.Sprintf("it returned before: %v", err), "Follow's documentation")
	default:
	}
	printed := out.printed.Lines()
	if len(printed) != 2 {
		t.Reject("two lines, when the handler was called for two pods", fmt.Sprintf("%d lines", len(printed)), "Follow's documentation")
	}
	for _, line := range printed {
		if !lines[line] {
			t.Reject("one line for each pod, such as: added shop-0/web-0", fmt.Sprintf("%q", line), "Follow's documentation")
		}
		delete(lines, line)
	}
	t.Doing("Follow returns after ctx has ended")
	cancel() // the third pod's call has begun, and the others wait
	select {
	case <-returned:
		out.closed.Store(true)
	case <-time.After(time.Duration(pods)*late + time.Hour):
		t.Reject("Follow returns after ctx has ended", "it had not returned hours later",
			"what does Follow wait for, and who waits for Follow? See the documentation of cache.ShutDownEventHandler")
	}
	time.Sleep(2 * late)
	if late := out.late.Load(); late != nil {
		t.Reject("nothing is written to out after Follow has returned", fmt.Sprintf("%q was written after Follow had returned", *late),
			"which function of the package cache waits for the handler's last call? Does Follow wait until that has returned?")
	}
	if after := runningHandlers(); after > before {
		t.Reject("the informer has no more handlers than before", fmt.Sprintf("%d more", after-before),
			"AddTypedEventHandler returns a registration: what is it for?")
	}
	server.Create(newPod(pods))
	synctest.Wait()
	if stored := len(informer.GetStore().ListKeys()); stored != pods+1 {
		t.Reject(fmt.Sprintf("the informer runs on, and has %d pods", pods+1), fmt.Sprintf("it has %d", stored), "Follow's documentation")
	}
}

// gradeTwo lets two users follow one informer. One of them, the first or the second, stays when the other one has ended.
func gradeTwo(t *grade.T, follow removeHandlerAnswer) {
	server := fakeserver.Start(t)
	server.Create(newPod(0))
	informer := podinformer.New(server.Core().RESTClient(), 0)
	go informer.RunWithContext(t.Context())
	synctest.Wait()
	for ends := range 2 {
		before := runningHandlers()
		var outs [2]testkit.Buffer
		var cancels [2]context.CancelFunc
		var returned [2]chan error
		for i := range outs {
			var ctx context.Context
			ctx, cancels[i] = context.WithCancel(t.Context())
			returned[i] = make(chan error, 1)
			go func() { returned[i] <- follow(ctx, informer, &outs[i]) }()
			synctest.Wait()
		}
		cancels[ends]()
		<-returned[ends]
		server.Create(newPod(ends + 1))
		synctest.Wait()
		stays, seen := 1-ends, [2]int{len(outs[0].Lines()), len(outs[1].Lines())}
		if want := ends + 1; seen[ends] != want || seen[stays] != want+1 {
			t.Reject("two calls of Follow at once: when one has ended, the other one prints the next pod",
				fmt.Sprintf("lines of the one that has ended: %d, not %d; of the other one: %d, not %d",
					seen[ends], want, seen[stays], want+1),
				"what do two calls of Follow share? A variable of the package?")
		}
		cancels[stays]()
		<-returned[stays]
		synctest.Wait()
		if after := runningHandlers(); after > before {
			t.Reject("after two calls of Follow, the informer has no more handlers than before", fmt.Sprintf("%d more", after-before),
				"what do two calls of Follow share? A variable of the package?")
		}
	}
}

// gradeFollowErrors gives Follow an informer that accepts no handler, and one that removes none.
func gradeFollowErrors(t *grade.T, follow removeHandlerAnswer) {
	client := fakeserver.Start(t).Core().RESTClient()
	podinformer.RejectWithoutError(t, client, "Follow", func(informer podinformer.Informer) error {
		return follow(t.Context(), informer, io.Discard)
	})

	informer := podinformer.Changed{
		SharedIndexInformer: podinformer.New(client, 0), Remove: errors.New("the grader lets this informer keep its handlers"),
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	returned := make(chan error, 1)
	go func() { returned <- follow(ctx, informer.Typed(), io.Discard) }()
	const expected = "Follow returns an error when the informer cannot remove the handler"
	select {
	case err := <-returned:
		if err == nil {
			t.Reject(expected, "Follow returned nil", "RemoveEventHandler and ShutDownEventHandler return an error: who reads it?")
		}
	case <-time.After(time.Hour):
		t.Reject(expected, "it had not returned an hour later", "what does Follow wait for after such an error?")
	}
}

// gradeLastLine lets ctx end while a line is being written. It is not in a bubble, where time stands still while a correct
// answer waits for a mutex.
func gradeLastLine(t *grade.T, follow removeHandlerAnswer) {
	server := fakeserver.Start(t)
	server.Create(newPod(0))
	informer := podinformer.New(server.Core().RESTClient(), 0)
	running, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { informer.RunWithContext(running) })
	t.Cleanup(wg.Wait)
	t.Cleanup(stop)

	out := heldWriter{begun: make(chan struct{}, 1), release: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := make(chan error, 1)
	goroutine := make(chan grade.Goroutine, 1)
	go func() {
		goroutine <- grade.CurrentGoroutine()
		returned <- follow(ctx, informer, out)
	}()
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
	early := t.ReturnsBefore(<-goroutine, returned)
	close(out.release)
	if early {
		t.Reject("Follow returns when no line is being written", "it returned while a line was being written",
			"which function of the package cache waits for a call that is running?")
	}
	t.Doing("Follow returns after ctx has ended, when its last line is written")
	select {
	case <-returned:
	case <-t.Context().Done():
	}
}

// runningHandlers returns how many handlers the informer has: each has one goroutine that calls it.
func runningHandlers() int {
	return strings.Count(grade.AllStacks(), "cache.(*processorListener).run(")
}

// writer keeps what is written until it is closed, and the first line that comes later.
type writer struct {
	printed testkit.Buffer
	closed  atomic.Bool
	late    atomic.Pointer[string]
}

func (w *writer) Write(p []byte) (int, error) {
	if w.closed.Load() {
		w.late.CompareAndSwap(nil, new(strings.TrimSuffix(string(p), "\n")))
		return 0, io.ErrClosedPipe
	}
	return w.printed.Write(p)
}

// lateOnAdd is a handler that is behind the store.
type lateOnAdd struct {
	cache.ResourceEventHandler
	late time.Duration
}

func (h lateOnAdd) OnAdd(object any, isInInitialList bool) {
	time.Sleep(h.late)
	h.ResourceEventHandler.OnAdd(object, isInInitialList)
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
