package workqueue

import (
	"fmt"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/exercise/grade"
)

type (
	keyQueue   = workqueue.TypedInterface[cache.ObjectName]
	keysAnswer = func(keyQueue) cache.ResourceEventHandler
)

// Keys grades the answers to "A key for every event".
var Keys = grade.Exercise[keysAnswer]{
	Grade: func(t *grade.T, handlerFor keysAnswer) { t.Bubble(func(t *grade.T) { gradeKeys(t, handlerFor) }) },
}

// gradeKeys has two handlers, each with a queue of its own, and sends all kinds of events to both. The pods of the second have all
// fields set: what a handler changes in them is seen.
func gradeKeys(t *grade.T, handlerFor keysAnswer) {
	queues := []keyQueue{workqueue.NewTyped[cache.ObjectName](), workqueue.NewTyped[cache.ObjectName]()}
	var handlers []cache.ResourceEventHandler
	for _, queue := range queues {
		defer queue.ShutDown()
		handlers = append(handlers, handlerFor(queue))
	}
	for i, handler := range handlers {
		if handler == nil {
			t.Reject("a handler for each queue", "nil", "the return statement in exercise.go")
		}
		sendEvents(t, handler, queues[i], queues[1-i], i == 1)
	}
}

// sendEvents sends one event after the other. Each has a pod of its own, so none depends on the one before.
func sendEvents(t *grade.T, handler cache.ResourceEventHandler, queue, other keyQueue, filled bool) {
	pod := func() *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%d", t.Rand.IntN(1000)), Name: fmt.Sprintf("web-%d", t.Rand.IntN(1000)), ResourceVersion: "1",
		}}
		if filled {
			return grade.Filled(pod)
		}
		return pod
	}
	added, listed, updated, deleted, missed, gone := pod(), pod(), pod(), pod(), pod(), pod()
	newer := updated.DeepCopy()
	newer.ResourceVersion = "2"
	// Each of these two is being deleted, and still has a container that runs.
	ending, leaving := pod(), pod()
	now := metav1.Now()
	ending.DeletionTimestamp, leaving.DeletionTimestamp = &now, &now
	newerLeaving := leaving.DeepCopy()
	newerLeaving.ResourceVersion = "2"
	finished := pod() // has run to its end
	newerFinished := finished.DeepCopy()
	newerFinished.ResourceVersion, newerFinished.Status.Phase = "2", corev1.PodSucceeded
	over := pod() // had run to its end before
	over.Status.Phase = corev1.PodFailed
	newerOver := over.DeepCopy()
	newerOver.ResourceVersion, newerOver.Labels = "2", map[string]string{"app": "web"}
	unchanged := t.Unchanged(
		added, listed, updated, newer, deleted, missed, ending, leaving, newerLeaving, finished, newerFinished, over, newerOver,
	)
	for _, event := range []struct {
		what string
		pod  *corev1.Pod
		look string
		send func()
	}{
		{"was in the first list", listed, "AddFunc", func() { handler.OnAdd(listed, true) }},
		{"was added", added, "AddFunc", func() { handler.OnAdd(added, false) }},
		{"was updated", updated, "UpdateFunc", func() { handler.OnUpdate(updated, newer) }},
		{"was in the first list, and is being deleted", ending, everyState, func() { handler.OnAdd(ending, true) }},
		{"was updated while it is being deleted", leaving, everyState, func() { handler.OnUpdate(leaving, newerLeaving) }},
		{"has succeeded", finished, everyState, func() { handler.OnUpdate(finished, newerFinished) }},
		{"has another label, after it had failed", over, everyState, func() { handler.OnUpdate(over, newerOver) }},
		{"was deleted", deleted, "DeleteFunc", func() { handler.OnDelete(deleted) }},
		{"was added again, with the name of one that was deleted", deleted, everyName, func() { handler.OnAdd(deleted, false) }},
		{"was updated once more", updated, everyName, func() { handler.OnUpdate(updated, newer) }},
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
		if other.Len() > 0 {
			t.Reject(expected, "a key in the queue of another handler", "a variable of the package: Handler is called for each queue")
		}
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
	unchanged()

	const expected = `a tombstone with "a/b/c", which is no key: nothing in the queue`
	for _, object := range []any{nil, pod()} {
		if p := panics(func() { handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "a/b/c", Obj: object}) }); p != nil {
			t.Reject(expected, fmt.Sprintf("the handler panicked: %v", p), "the error of the function that makes the key")
		}
		synctest.Wait()
		if queue.Len() > 0 {
			key, _ := queue.Get()
			t.Reject(expected, fmt.Sprintf("the key %q", key), "the error of the function that makes the key, of the tombstone's Key")
		}
	}
}

const everyName = "what does the handler remember? The queue sees to it that a key is not there twice"

const everyState = "which pods does the handler leave out? The sync looks at how a pod is"

// panics returns what f panics with, or nil.
func panics(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}
