package informer

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/podinformer"
	"example.com/client-go-workbook/internal/test/testkit"
)

type missedDeletionAnswer = func(podinformer.Informer, io.Writer) error

// MissedDeletion grades the answers to "A deletion that was missed".
var MissedDeletion = grade.Exercise[missedDeletionAnswer]{
	Grade: func(t *grade.T, printDeletions missedDeletionAnswer) {
		t.Bubble(func(t *grade.T) {
			for range 2 { // with another informer
				gradeDeletions(t, printDeletions)
			}
		})
	},
}

func gradeDeletions(t *grade.T, printDeletions missedDeletionAnswer) {
	server := fakeserver.Start(t)
	namespace := fmt.Sprintf("shop-%d", t.Rand.IntN(100))
	phases := []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}
	t.Rand.Shuffle(len(phases), func(i, j int) { phases[i], phases[j] = phases[j], phases[i] })
	number := t.Rand.IntN(100)
	stays, missed := newRunningPod(namespace, "stays", number), newRunningPod(namespace, "missed", number)
	elsewhere := newRunningPod("other", "missed", number)
	server.Create(stays)
	server.Create(missed)
	server.Create(elsewhere)
	c := deletionLines{}
	// The handlers are called without the informer, too.
	var handlers []cache.ResourceEventHandler
	informer := podinformer.Changed{
		SharedIndexInformer: podinformer.New(server.Core().RESTClient(), 0),
		Handler: func(added cache.ResourceEventHandler) cache.ResourceEventHandler {
			handlers = append(handlers, added)
			return added
		},
	}
	for _, out := range []io.Writer{&c.printed, &c.other} {
		if err := printDeletions(informer.Typed(), out); err != nil {
			t.Reject("PrintDeletions adds a handler", "it returned the error: "+err.Error(), "the error's words")
		}
	}
	running, stop := context.WithCancel(t.Context())
	defer stop()
	var informs sync.WaitGroup
	informs.Go(func() { informer.RunWithContext(running) })
	synctest.Wait()

	const terminating = "a DeletionTimestamp says that the deletion has begun: which function is called when the pod has gone?"
	for i, phase := range phases {
		pod := newRunningPod(namespace, fmt.Sprintf("seen-%d", i/2), number) // two have the same name, one after the other
		server.Create(pod)
		pod.Status.Phase = phase
		server.Update(pod)
		stays.Status.Phase = phase
		server.Update(stays)
		synctest.Wait()
		c.expect(t, "a pod that ends is still in the store: which function is called when it leaves?")
		if i%2 == 1 { // it gets a grace period, and ends in another phase
			pod.DeletionTimestamp, pod.Finalizers = new(metav1.Now()), []string{"example.com/disk"}
			server.Update(pod)
			synctest.Wait()
			c.expect(t, terminating)
			phase = phases[i-1]
			pod.Status.Phase = phase
			server.Update(pod)
			synctest.Wait()
			c.expect(t, terminating)
		}
		server.Delete(pod)
		synctest.Wait()
		c.expect(t, "AddTypedEventHandler, and its DeleteFunc; a name can come again",
			fmt.Sprintf("deleted %s/%s: %s", namespace, pod.Name, phase))
	}
	const look = "chapter 2, No route to the server; the fields of cache.DeletedObject"
	elsewhere.Status.Phase = []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}[t.Rand.IntN(2)]
	elsewhere.DeletionTimestamp, elsewhere.Finalizers = new(metav1.Now()), []string{"example.com/disk"}
	server.Update(elsewhere)
	synctest.Wait()
	c.expect(t, terminating)
	server.Silence() // the informer notices it after 45 seconds
	for _, pod := range []*corev1.Pod{missed, elsewhere} {
		pod.Status.Phase = phases[0]
		server.Update(pod)
		server.Delete(pod)
	}
	time.Sleep(5 * time.Minute)
	c.expect(t, look, fmt.Sprintf("deleted %s/%s: phase unknown", namespace, missed.Name),
		fmt.Sprintf("deleted other/%s: phase unknown", elsewhere.Name))

	// An informer calls a handler in one goroutine, so a handler needs no lock. From here on, that goroutine is the grader's.
	stop()
	informs.Wait()
	gradeBehind(t, handlers, &c, stays)
	var lines []string
	for i := range 100 { // a goroutine can be quick enough once
		key := fmt.Sprintf("%s/never-seen-%d", namespace, i)
		lines = append(lines, fmt.Sprintf("deleted %s: phase unknown", key))
		for _, handler := range handlers {
			handler.OnDelete(cache.DeletedFinalStateUnknown{Key: key})
		}
		before := len(c.printed.Lines())
		synctest.Wait()
		if len(c.printed.Lines()) > before {
			t.Reject("the line is written when the handler returns", "it was written after the handler had returned",
				"who writes the lines? A goroutine that nobody waits for can be too late, or lose some")
		}
	}
	c.expect(t, look, lines...)

	podinformer.RejectWithoutError(t, server.Core().RESTClient(), "PrintDeletions", func(informer podinformer.Informer) error {
		return printDeletions(informer, io.Discard)
	})
}

// gradeBehind calls the handlers for a pod whose last change comes with its deletion. They are behind: the store has the next pod
// of that name.
func gradeBehind(t *grade.T, handlers []cache.ResourceEventHandler, c *deletionLines, next *corev1.Pod) {
	deleted := next.DeepCopy()
	deleted.UID, deleted.Status.Phase = "uid-of-the-one-before", corev1.PodPending
	if next.Status.Phase == corev1.PodPending {
		deleted.Status.Phase = corev1.PodRunning
	}
	line := fmt.Sprintf("deleted %s/%s: %s", deleted.Namespace, deleted.Name, deleted.Status.Phase)
	for _, handler := range handlers {
		handler.OnDelete(deleted)
	}
	synctest.Wait()
	switch lines := c.printed.Lines()[c.read:]; {
	case len(lines) == 0:
		t.Reject(fmt.Sprintf("the line %q, also if the store already has the next pod of that name", line), "no line",
			"a handler can be behind the store: what does its argument say?")
	case lines[0] != line:
		t.Reject(fmt.Sprintf("the line %q", line), fmt.Sprintf("%q", lines[0]),
			"the last change can come with the deletion: the pod in the handler's argument has the last phase")
	}
	c.expect(t, "a deletion is one call of the handler", line)
}

// deletionLines reads what an answer prints, with two handlers of one informer.
type deletionLines struct {
	printed, other testkit.Buffer
	read           int // lines
}

// expect rejects the answer if it has printed other lines since the last call.
func (c *deletionLines) expect(t *grade.T, look string, expected ...string) {
	seen, others := c.printed.Lines()[c.read:], c.other.Lines()[c.read:]
	c.read += len(seen)
	for _, lines := range [][]string{expected, seen, others} {
		slices.Sort(lines) // what was missed has no order
	}
	if !slices.Equal(seen, others) {
		t.Reject("two handlers of one informer print the same lines", fmt.Sprintf("%q, and %q", seen, others),
			"what do two calls of PrintDeletions share? A variable of the package?")
	}
	switch {
	case len(seen) > len(expected):
		t.Reject("one line for each deletion", fmt.Sprintf("%d deletions, and %q", len(expected), seen), look)
	case len(seen) < len(expected):
		t.Reject(fmt.Sprintf("the line %q", expected[len(seen)]), "no line", look)
	}
	for i := range expected {
		if seen[i] != expected[i] {
			t.Reject(fmt.Sprintf("the line %q", expected[i]), fmt.Sprintf("%q", seen[i]), look)
		}
	}
}

func newRunningPod(namespace, name string, number int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, number)},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}
