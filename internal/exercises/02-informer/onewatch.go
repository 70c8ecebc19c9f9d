package informer

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testkit"
)

type oneWatchAnswer = func(context.Context, kubernetes.Interface, ...cache.ResourceEventHandler) error

// OneWatch grades the answers to "Three handlers, one watch".
var OneWatch = grade.Exercise[oneWatchAnswer]{
	Grade: func(t *grade.T, run oneWatchAnswer) {
		t.Bubble(func(t *grade.T) {
			gradeRun(t, run, false)
			gradeRun(t, run, true)
			gradeWithoutHandlers(t, run)
		})
		t.Bubble(func(t *grade.T) { gradeManyEvents(t, run) })
		gradeRunningHandler(t, run)
	},
}

// gradeRun has a slow handler: the first one, and in a second call the last one.
func gradeRun(t *grade.T, run oneWatchAnswer, again bool) {
	server := fakeserver.Start(t)
	pods := 3 + t.Rand.IntN(6)
	for i := range pods {
		server.Create(newPod(i))
	}
	slow := slowHandler{takes: 2*time.Minute + time.Duration(t.Rand.Int64N(int64(3*time.Minute)))}
	quick := make([]quickHandler, 1+t.Rand.IntN(3))
	handlers := []cache.ResourceEventHandler{&slow}
	for i := range quick {
		handlers = append(handlers, &quick[i])
	}
	look := "Run's documentation"
	if again {
		slices.Reverse(handlers)
		look = "a second call, with another client: what has the first one left in a variable of the package?"
	}
	// When ctx ends, the informer takes longer to end than the slow handler. Else client-go would hold a mutex meanwhile, and in a
	// bubble time stands still for an answer that waits for it: one that removes its handlers.
	var held atomic.Bool
	clientset := kubernetes.NewForConfigOrDie(testkit.Intercept(server.Config(),
		func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
			if !held.Load() {
				return next.RoundTrip(request)
			}
			<-request.Context().Done()
			time.Sleep(slow.takes + time.Minute)
			return nil, request.Context().Err()
		}))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := make(chan error, 1)
	go func() { returned <- run(ctx, clientset, handlers...) }()
	synctest.Wait()
	select {
	case err := <-returned:
		t.Reject("Run returns after ctx has ended", fmt.Sprintf("it has returned at once: %v", err), look)
	default:
	}

	expected := fmt.Sprintf("1 watch of pods for %d handlers", len(handlers))
	switch watches := len(server.Requests("watch")); watches {
	case 0:
		t.Reject(expected, "no watch", "the factory's StartWithContext: which informers does it start?")
	case 1:
	default:
		t.Reject(expected, fmt.Sprintf("%d watches", watches), "chapter 2, One watch for all handlers: what do the handlers share?")
	}
	// No time has passed: the slow handler is busy with its first pod.
	for i := range quick {
		if called := quick[i].added.Load(); called != int64(pods) {
			t.Reject(fmt.Sprintf("while one handler is busy with its first pod, each other one is called for all %d pods", pods),
				fmt.Sprintf("one was called for %s of them", countOrNone(called)),
				"AddEventHandler: how many handlers does an informer accept?")
		}
	}
	time.Sleep(time.Duration(pods)*slow.takes + time.Minute)
	changed := newPod(0)
	changed.Labels = map[string]string{"tier": "front"}
	server.Update(changed)
	server.Delete(newPod(1))
	server.Create(newPod(pods))
	synctest.Wait()
	for i := range quick {
		q := &quick[i]
		for what, called := range map[string]bool{
			"created later": q.added.Load() == int64(pods)+1, "changed": q.updated.Load() == 1, "deleted": q.deleted.Load() == 1,
		} {
			if !called {
				t.Reject("each handler is called once for a pod that is "+what, "one was not", "Run's documentation")
			}
		}
	}

	held.Store(true)
	server.CloseWatches() // the informer asks for another one
	time.Sleep(10 * time.Second)
	cancel() // while the slow handler runs
	select {
	case <-returned:
	case <-time.After(slow.takes + time.Hour):
		t.Reject("Run returns after ctx has ended", "it had not returned an hour after the last call of a handler",
			"the calls in Run that wait: does each end with ctx?")
	}
	if slow.overlapped.Load() {
		t.Reject("a handler gets one event after the other", "one was called for two pods at the same time",
			"an informer calls each handler in one goroutine: leave that to it")
	}
	if slow.running.Load() > 0 {
		t.Reject("Run returns when no handler runs any more", "Run had returned, but a handler was still running",
			"the factory's Shutdown waits for the handlers. RemoveEventHandler and a sleep do not")
	}
	if called := slow.calls.Load(); called != int64(pods)+1 {
		t.Reject(fmt.Sprintf("the slow handler is called for all %d pods", pods+1),
			fmt.Sprintf("it was called for %s of them", countOrNone(called)),
			"AddEventHandler")
	}
}

// gradeManyEvents changes a pod more often than any buffer has places, while a handler is busy. It has a bubble of its own, in
// which no time passes: client-go's mutation detector would look at all these pods every second.
func gradeManyEvents(t *grade.T, run oneWatchAnswer) {
	server := fakeserver.Start(t)
	server.Create(newPod(0))
	held, quick := heldHandler{begun: make(chan struct{}, 1), release: make(chan struct{})}, quickHandler{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := make(chan error, 1)
	go func() { returned <- run(ctx, kubernetes.NewForConfigOrDie(server.Config()), &held, &quick) }()
	synctest.Wait()
	changes := 1100 + t.Rand.IntN(100)
	for i := range changes {
		changed := newPod(0)
		changed.Labels = map[string]string{"change": fmt.Sprint(i)}
		server.Update(changed)
	}
	synctest.Wait()
	if called := quick.updated.Load(); called != int64(changes) {
		close(held.release)
		t.Reject(fmt.Sprintf("while handler 1 is busy with a pod, handler 2 is called for all %d changes of it", changes),
			fmt.Sprintf("it was called for %s of them", countOrNone(called)),
			"what happens when a buffer is full? An informer gives each handler a buffer that grows")
	}
	close(held.release)
	synctest.Wait()
	if called := held.updated.Load(); called != int64(changes) {
		t.Reject(fmt.Sprintf("handler 1 is called for all %d changes that waited for it", changes),
			fmt.Sprintf("it was called for %s of them", countOrNone(called)), "an informer gives each handler a buffer that grows")
	}
	cancel()
	<-returned
}

// gradeRunningHandler lets ctx end while a handler runs that takes longer than the informer's end. It is not in a bubble, where time
// stands still while a correct answer waits for a mutex.
func gradeRunningHandler(t *grade.T, run oneWatchAnswer) {
	server := fakeserver.Start(t)
	server.Create(newPod(0))
	held := heldHandler{begun: make(chan struct{}, 1), release: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	goroutine, returned := make(chan grade.Goroutine, 1), make(chan error, 1)
	go func() {
		goroutine <- grade.CurrentGoroutine()
		returned <- run(ctx, kubernetes.NewForConfigOrDie(server.Config()), &held)
	}()
	t.Doing("a handler is called")
	select {
	case <-held.begun:
	case <-t.Context().Done():
	}
	cancel()
	t.Doing("Run waits for a handler that runs")
	early := t.ReturnsBefore(<-goroutine, returned)
	close(held.release)
	if early {
		t.Reject("Run returns when no handler runs any more", "it returned when the informer had ended, and a handler was still running",
			"IsStopped is about the informer. The factory's Shutdown waits for the handlers, too")
	}
	t.Doing("Run returns after ctx has ended, when no handler runs any more")
	select {
	case <-returned:
	case <-t.Context().Done():
	}
}

// gradeWithoutHandlers calls Run as a program does in which every handler is switched off.
func gradeWithoutHandlers(t *grade.T, run oneWatchAnswer) {
	const expected = "without any handler, too, Run returns after ctx has ended"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := make(chan error, 1)
	go func() { returned <- run(ctx, kubernetes.NewForConfigOrDie(fakeserver.Start(t).Config())) }()
	select {
	case <-returned:
		t.Reject(expected, "it returned before ctx had ended",
			"what ends this call of Run? Only ctx: a factory without informers has nothing to wait for")
	case <-time.After(time.Hour):
	}
	cancel()
	select {
	case <-returned:
	case <-time.After(time.Hour):
		t.Reject(expected, "it had not returned an hour later", "the calls in Run that wait: does each end with ctx?")
	}
}

func countOrNone(n int64) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

func newPod(number int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("shop-%d", number%2), Name: fmt.Sprintf("web-%d", number)}}
}

// quickHandler counts its calls.
type quickHandler struct{ added, updated, deleted atomic.Int64 }

func (h *quickHandler) OnAdd(any, bool)   { h.added.Add(1) }
func (h *quickHandler) OnUpdate(any, any) { h.updated.Add(1) }
func (h *quickHandler) OnDelete(any)      { h.deleted.Add(1) }

// heldHandler is busy with each new pod until it is released.
type heldHandler struct {
	quickHandler
	begun, release chan struct{}
}

func (h *heldHandler) OnAdd(any, bool) {
	h.begun <- struct{}{}
	<-h.release
}

// slowHandler takes its time for each new pod.
type slowHandler struct {
	cache.ResourceEventHandlerFuncs
	takes          time.Duration
	calls, running atomic.Int64
	overlapped     atomic.Bool // a call began before another one had ended
}

func (h *slowHandler) OnAdd(any, bool) {
	if h.running.Add(1) > 1 {
		h.overlapped.Store(true)
	}
	defer h.running.Add(-1)
	time.Sleep(h.takes)
	h.calls.Add(1)
}
