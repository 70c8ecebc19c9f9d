package exercise_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	exercise "example.com/client-go-workbook/02-informer/exercises/01-one-watch"
	answers "example.com/client-go-workbook/02-informer/exercises/answers/01-one-watch"
	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(context.Context, kubernetes.Interface, ...cache.ResourceEventHandler) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Run,
	Accepted: []answer{answers.Run, answers.RunsOneInformerWithoutAFactory},
	Rejected: []grade.Rejected[answer]{
		{Name: "makes an informer for each handler", Answer: answers.MakesAnInformerForEachHandler, Says: "watches\n"},
		{Name: "calls the handlers one after the other", Answer: answers.CallsTheHandlersOneAfterTheOther, Says: "called for none of"},
		{Name: "does not wait for the handlers", Answer: answers.DoesNotWaitForTheHandlers,
			Says: "Run had returned, but a handler was still running"},
		{Name: "starts before the informer exists", Answer: answers.StartsBeforeTheInformerExists, Says: "no watch"},
	},
	Grade: func(t *grade.T, run answer) { t.Bubble(func(t *grade.T) { gradeRun(t, run) }) },
}

func gradeRun(t *grade.T, run answer) {
	server := fakeserver.Start(t)
	pods := 3 + t.Rand.IntN(6)
	for i := range pods {
		server.Create(newPod(i))
	}
	var slow slowHandler
	quick := make([]quickHandler, 1+t.Rand.IntN(3))
	handlers := []cache.ResourceEventHandler{&slow}
	for i := range quick {
		handlers = append(handlers, &quick[i])
	}
	clientset := kubernetes.NewForConfigOrDie(server.Config())

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := make(chan error, 1)
	go func() { returned <- run(ctx, clientset, handlers...) }()
	synctest.Wait()
	select {
	case err := <-returned:
		t.Reject("Run returns after ctx has ended", fmt.Sprintf("it has returned at once: %v", err), "Run's documentation")
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
		if called := quick[i].calls.Load(); called != int64(pods) {
			t.Reject(fmt.Sprintf("while handler 1 is busy with its first pod, handler %d is called for all %d pods", i+2, pods),
				fmt.Sprintf("it was called for %s of them", count(called)),
				"AddEventHandler: how many handlers does an informer accept?")
		}
	}
	time.Sleep(time.Minute)
	server.Create(newPod(pods))
	synctest.Wait()
	for i := range quick {
		if called := quick[i].calls.Load(); called != int64(pods)+1 {
			t.Reject(fmt.Sprintf("handler %d is called for a pod that is created later", i+2), "it was not called", "Run's documentation")
		}
	}

	cancel() // while the slow handler runs
	select {
	case <-returned:
	case <-time.After(time.Hour):
		t.Reject("Run returns after ctx has ended", "it had not returned an hour later",
			"the calls in Run that wait: does each end with ctx?")
	}
	if slow.running.Load() {
		t.Reject("Run returns when no handler runs any more", "Run had returned, but a handler was still running",
			"the factory's Shutdown")
	}
	if called := slow.calls.Load(); called != int64(pods)+1 {
		t.Reject(fmt.Sprintf("handler 1 is called for all %d pods", pods+1), fmt.Sprintf("it was called for %s of them", count(called)),
			"AddEventHandler")
	}
}

func count(n int64) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

func newPod(number int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%d", number)}}
}

// quickHandler counts the pods.
type quickHandler struct {
	cache.ResourceEventHandlerFuncs
	calls atomic.Int64
}

func (h *quickHandler) OnAdd(any, bool) { h.calls.Add(1) }

// slowHandler takes a second for each pod.
type slowHandler struct {
	cache.ResourceEventHandlerFuncs
	calls   atomic.Int64
	running atomic.Bool
}

func (h *slowHandler) OnAdd(any, bool) {
	h.running.Store(true)
	defer h.running.Store(false)
	time.Sleep(time.Second)
	h.calls.Add(1)
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }
