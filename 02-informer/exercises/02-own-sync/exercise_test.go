package exercise_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	exercise "example.com/client-go-workbook/02-informer/exercises/02-own-sync"
	answers "example.com/client-go-workbook/02-informer/exercises/answers/02-own-sync"
	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(context.Context, cache.TypedSharedIndexInformer[*corev1.Pod], func(*corev1.Pod)) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Load,
	Accepted: []answer{answers.Load, answers.Polls},
	Rejected: []grade.Rejected[answer]{
		{Name: "waits for the informer", Answer: answers.WaitsForTheInformer, Says: "when Load returned"},
		{Name: "sleeps", Answer: answers.Sleeps, Says: "1 of them when Load returned"},
		{Name: "ignores that ctx has ended", Answer: answers.IgnoresThatCtxHasEnded, Says: "Load returned nil"},
	},
	Grade: func(t *grade.T, load answer) { t.Bubble(func(t *grade.T) { gradeLoad(t, load) }) },
}

func gradeLoad(t *grade.T, load answer) {
	server := fakeserver.Start(t)
	pods := 3 + t.Rand.IntN(6)
	for i := range pods {
		server.Create(newPod(i))
	}
	informer := newInformer(server)
	go informer.RunWithContext(t.Context())

	var remembered atomic.Int64
	remember := func(*corev1.Pod) { remembered.Add(1) }
	if err := call(t, t.Context(), load, informer, remember); err != nil {
		t.Reject("Load returns nil when the first list is remembered", "it returned: "+err.Error(), "the error's words")
	}
	if seen := remembered.Load(); seen != int64(pods) {
		t.Reject(fmt.Sprintf("all %d pods of the first list are remembered when Load returns", pods),
			fmt.Sprintf("%d of them when Load returned", seen), "chapter 2, Who has synced? What does adding a handler return?")
	}
	server.Create(newPod(pods))
	time.Sleep(time.Minute)
	if seen := remembered.Load(); seen != int64(pods)+1 {
		t.Reject("remember is called for a pod that is created later", "it was not called", "the handler must stay")
	}

	// This informer never has a first list: it does not run.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := call(t, ctx, load, newInformer(server), remember); err == nil {
		t.Reject("an error, because ctx ended before the first list came", "Load returned nil", "what WaitFor returns")
	}
}

// call returns what load returns.
func call(
	t *grade.T, ctx context.Context, load answer, informer cache.TypedSharedIndexInformer[*corev1.Pod], remember func(*corev1.Pod),
) error {
	returned := make(chan error, 1)
	go func() { returned <- load(ctx, informer, remember) }()
	select {
	case err := <-returned:
		return err
	case <-time.After(time.Hour):
		t.Reject("Load returns", "it had not returned an hour later", "what does Load wait for, and what ends that?")
		return nil
	}
}

func newInformer(server *fakeserver.Server) cache.TypedSharedIndexInformer[*corev1.Pod] {
	pods := cache.NewListWatchFromClient(server.Core().RESTClient(), "pods", metav1.NamespaceAll, fields.Everything())
	informer := cache.NewSharedIndexInformer(pods, &corev1.Pod{}, 0, nil)
	return cache.NewTypedSharedIndexInformer[*corev1.Pod](fakeserver.SlowInformer{SharedIndexInformer: informer})
}

func newPod(number int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%d", number)}}
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }
