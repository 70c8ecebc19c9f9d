package exercise_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	exercise "example.com/client-go-workbook/04-workqueue/exercises/01-keys"
	answers "example.com/client-go-workbook/04-workqueue/exercises/answers/01-keys"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler

var grader = grade.Exercise[answer]{
	Learner:  exercise.Handler,
	Accepted: []answer{answers.Handler, answers.ImplementsTheInterface},
	Rejected: []grade.Rejected[answer]{
		{Name: "adds no key for an update", Answer: answers.AddsNoKeyForAnUpdate, Says: "was updated"},
		{Name: "leaves the namespace out of the key", Answer: answers.LeavesTheNamespaceOutOfTheKey, Says: "cache.MetaObjectToName"},
		{Name: "asserts that a deleted object is a pod", Answer: answers.AssertsThatADeletedObjectIsAPod,
			Says: "panicked: interface conversion"},
		{Name: "adds no key for a tombstone", Answer: answers.AddsNoKeyForATombstone, Says: "no key"},
		{Name: "takes the key from the tombstone's object", Answer: answers.TakesTheKeyFromTheTombstonesObject, Says: "Obj is nil"},
	},
	Grade: func(t *grade.T, handlerFor answer) { t.Bubble(func(t *grade.T) { grading(t, handlerFor) }) },
}

func grading(t *grade.T, handlerFor answer) {
	queue := workqueue.NewTyped[cache.ObjectName]()
	defer queue.ShutDown()
	handler := handlerFor(queue)
	if handler == nil {
		t.Reject("a handler", "nil", "the return statement in exercise.go")
	}
	pod := func() *corev1.Pod { // another one for each event: no event depends on the one before
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%d", t.Rand.IntN(1000)), Name: fmt.Sprintf("web-%d", t.Rand.IntN(1000)), ResourceVersion: "1",
		}}
	}
	added, listed, updated, deleted, missed, gone := pod(), pod(), pod(), pod(), pod(), pod()
	newer := updated.DeepCopy()
	newer.ResourceVersion = "2"
	for _, event := range []struct {
		what string
		pod  *corev1.Pod
		look string
		send func()
	}{
		{"was in the first list", listed, "AddFunc", func() { handler.OnAdd(listed, true) }},
		{"was added", added, "AddFunc", func() { handler.OnAdd(added, false) }},
		{"was updated", updated, "UpdateFunc", func() { handler.OnUpdate(updated, newer) }},
		{"was deleted", deleted, "DeleteFunc", func() { handler.OnDelete(deleted) }},
		{
			"was deleted while the informer was cut off (a tombstone)", missed, "DeleteFunc: it gets a cache.DeletedFinalStateUnknown here",
			func() {
				handler.OnDelete(cache.DeletedFinalStateUnknown{Key: cache.MetaObjectToName(missed).String(), Obj: missed})
			},
		},
		{
			"was deleted while the informer was cut off (a tombstone whose Obj is nil)", gone, "the Key of the tombstone",
			func() { handler.OnDelete(cache.DeletedFinalStateUnknown{Key: cache.MetaObjectToName(gone).String()}) },
		},
	} {
		want := cache.MetaObjectToName(event.pod)
		expected := fmt.Sprintf("pod %s %s: the key %s in the queue", want, event.what, want)
		if p := panics(event.send); p != nil {
			t.Reject(expected, fmt.Sprintf("the handler panicked: %v", p), event.look)
		}
		synctest.Wait() // for a handler that adds the key in a goroutine
		if queue.Len() == 0 {
			t.Reject(expected, "no key", event.look)
		}
		if queue.Len() > 1 {
			t.Reject(expected, fmt.Sprintf("%d keys", queue.Len()), "which calls of queue.Add does one event lead to?")
		}
		key, _ := queue.Get()
		queue.Done(key)
		if key != want {
			t.Reject(expected, fmt.Sprintf("the key %q", key), "cache.MetaObjectToName: a key has a namespace and a name")
		}
	}
}

// panics returns what f panics with, or nil.
func panics(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }
