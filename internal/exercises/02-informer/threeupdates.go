package informer

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/podinformer"
	"example.com/client-go-workbook/internal/test/testkit"
)

type threeUpdatesAnswer = func(podinformer.Informer, io.Writer) error

// ThreeUpdates grades the answers to "A change, a resync or a relist?".
var ThreeUpdates = grade.Exercise[threeUpdatesAnswer]{
	Grade: func(t *grade.T, printUpdates threeUpdatesAnswer) {
		t.Bubble(func(t *grade.T) {
			for range 2 { // with another informer
				gradeUpdates(t, printUpdates)
			}
		})
	},
}

// podChanges are changes of all parts of a pod.
var podChanges = []struct {
	part string
	of   func(pod *corev1.Pod, value string)
}{
	{"labels", func(pod *corev1.Pod, value string) { pod.Labels = map[string]string{"tier": value} }},
	{"annotations", func(pod *corev1.Pod, value string) { pod.Annotations = map[string]string{"note": value} }},
	{"finalizers", func(pod *corev1.Pod, value string) { pod.Finalizers = []string{"example.com/" + value} }},
	{"owners", func(pod *corev1.Pod, value string) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: value, UID: types.UID(value)}}
	}},
	{"managedFields", func(pod *corev1.Pod, value string) {
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: value, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1"}}
	}},
	{"spec", func(pod *corev1.Pod, value string) { pod.Spec.NodeName = value }},
	{"status", func(pod *corev1.Pod, value string) { pod.Status.Message = value }},
	{"deletionTimestamp", func(pod *corev1.Pod, value string) { // and its grace period
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = new(metav1.Now()), new(int64(value[0]))
	}},
}

func gradeUpdates(t *grade.T, printUpdates threeUpdatesAnswer) {
	const resync = 20 * time.Minute
	server := fakeserver.Start(t)
	pods := make([]*corev1.Pod, 3+t.Rand.IntN(3))
	for i := range pods {
		pods[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("shop-%d", i%2), Name: fmt.Sprintf("web-%d", i)}}
		server.Create(pods[i])
	}
	lines := func(words ...string) []string { // the words of the pods, in the order of the pods
		for i := range words {
			words[i] += " " + pods[i].Namespace + "/" + pods[i].Name
		}
		return words
	}
	every := func(word string) []string { return slices.Repeat([]string{word}, len(pods)) }
	// The handlers are called without the informer, too.
	var handlers []cache.ResourceEventHandler
	informer := podinformer.Changed{
		SharedIndexInformer: podinformer.New(server.Core().RESTClient(), resync),
		Handler: func(added cache.ResourceEventHandler) cache.ResourceEventHandler {
			handlers = append(handlers, added)
			return added
		},
	}
	var printed, other testkit.Buffer // of two handlers
	for _, out := range []io.Writer{&printed, &other} {
		if err := printUpdates(informer.Typed(), out); err != nil {
			t.Reject("PrintUpdates adds a handler", "it returned the error: "+err.Error(), "the error's words")
		}
	}
	running, stop := context.WithCancel(t.Context())
	defer stop()
	var informs sync.WaitGroup
	informs.Go(func() { informer.RunWithContext(running) })
	synctest.Wait()

	before := 0
	expect := func(when, look string, expected []string) {
		seen, others := printed.Lines()[before:], other.Lines()[before:]
		before += len(seen)
		for _, lines := range [][]string{expected, seen, others} {
			slices.Sort(lines) // a relist and a resync have no order
		}
		if !slices.Equal(seen, others) {
			t.Reject(fmt.Sprintf("%s, two handlers of one informer print the same: %s", when, firstLines(expected)),
				firstLines(seen)+"; and "+firstLines(others), "what do two calls of PrintUpdates share? A variable of the package?")
		}
		if !slices.Equal(expected, seen) {
			t.Reject(fmt.Sprintf("%s: %s", when, firstLines(expected)), firstLines(seen), look)
		}
	}
	const look = "chapter 2, Resync or relist? What are old and new in each case?"
	time.Sleep(resync + resync/4)
	expect("after a resync, before any change", look, lines(every("resync")...))
	for _, change := range podChanges {
		change.of(pods[0], "a")
		server.Update(pods[0])
		synctest.Wait()
		expect("after a change of its "+change.part, "which field of metadata does the server change with every change?", lines("changed"))
	}
	server.Silence() // the informer notices it after 45 seconds
	change := podChanges[t.Rand.IntN(len(podChanges))]
	change.of(pods[0], "b")
	server.Update(pods[0])
	time.Sleep(resync / 2)
	relisted := every("relisted")
	relisted[0] = "changed"
	expect("after a relist that brings a change of its "+change.part, look, lines(relisted...))
	for range 2 {
		time.Sleep(resync)
		expect("after a resync", look, lines(every("resync")...))
	}
	server.Silence()
	time.Sleep(resync / 2)
	expect("after a relist that brings no change", look, lines(every("relisted")...))

	// An informer calls a handler in one goroutine, so a handler needs no lock. From here on, that goroutine is the grader's.
	stop()
	informs.Wait()
	// After version 999 comes 1000, or a greater one.
	length, pod := 3+t.Rand.IntN(12), pods[0].DeepCopy()
	changed := pod.DeepCopy()
	pod.ResourceVersion, changed.ResourceVersion = strings.Repeat("9", length), "1"+strings.Repeat("0", length)
	podChanges[t.Rand.IntN(len(podChanges))].of(changed, "c")
	for _, handler := range handlers {
		handler.OnUpdate(pod, changed)
	}
	expect("after a change whose resourceVersion has one digit more",
		"resourceVersions are numbers: which text comes first, 999 or 1000?", lines("changed"))

	// The event of a resync has waited for a slow handler: its pod, old and new, is not the one that the store has by now.
	waited := pods[1].DeepCopy()
	for _, handler := range handlers {
		handler.OnUpdate(waited, waited)
	}
	expect("after a resync whose pod has changed in the store before the handler was called",
		"what does an event have itself, and what does the store have by then?", lines("", "resync")[1:])

	podinformer.RejectWithoutError(t, server.Core().RESTClient(), "PrintUpdates", func(informer podinformer.Informer) error {
		return printUpdates(informer, io.Discard)
	})
}

// firstLines joins lines, and leaves out the last of many.
func firstLines(lines []string) string {
	switch {
	case len(lines) == 0:
		return "no line"
	case len(lines) > 4:
		return strings.Join(lines[:4], ", ") + " ..."
	}
	return strings.Join(lines, ", ")
}
