package informer

import (
	"fmt"
	"io"
	"slices"
	"strings"
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

type sameNameAnswer = func(podinformer.Informer, io.Writer) error

// SameName grades the answers to "The same name, another pod".
var SameName = grade.Exercise[sameNameAnswer]{
	Grade: func(t *grade.T, track sameNameAnswer) {
		t.Bubble(func(t *grade.T) {
			for range 2 { // with another informer
				gradeTrack(t, track)
			}
		})
	},
}

func gradeTrack(t *grade.T, track sameNameAnswer) {
	server := fakeserver.Start(t)
	pods := make([]*corev1.Pod, 6)
	first := t.Rand.IntN(100)
	for i := range pods {
		pods[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("web-%d", first+i), Labels: map[string]string{"app": "web"},
		}}
	}
	changed, seen, again, gone, replacedAndGone, ending := pods[0], pods[1], pods[2], pods[3], pods[4], pods[5]
	for _, pod := range []*corev1.Pod{changed, seen, gone, replacedAndGone, ending} {
		server.Create(pod)
	}
	// Another namespace has a pod of the same name.
	other := seen.DeepCopy()
	other.Namespace = "other"
	server.Create(other)
	informer := podinformer.Changed{
		SharedIndexInformer: podinformer.New(server.Core().RESTClient(), 0),
		Handler:             func(added cache.ResourceEventHandler) cache.ResourceEventHandler { return lateOnDelete{added} },
	}
	c := trackedLines{server: server, open: map[string]string{}}
	for _, out := range []io.Writer{&c.printed, &c.other} {
		if err := track(informer.Typed(), out); err != nil {
			t.Reject("Track adds a handler", "it returned the error: "+err.Error(), "the error's words")
		}
	}
	go informer.RunWithContext(t.Context())
	synctest.Wait()
	c.check(t, "after the first list")

	const samePod = "which field of metadata is the same as long as the pod exists, and which one does each change set?"
	changed.Labels["tier"] = "front"
	server.Update(changed)
	synctest.Wait()
	c.expectNoLine(t, "after a change of its labels", samePod)
	changed.Status.PodIP = "10.0.0.1"
	server.Update(changed)
	synctest.Wait()
	c.expectNoLine(t, "after a change of its status", samePod)
	ending.DeletionTimestamp, ending.Finalizers = new(metav1.Now()), []string{"example.com/disk"}
	server.Update(ending)
	synctest.Wait()
	c.expectNoLine(t, "after its deletion has begun",
		"a DeletionTimestamp says that the deletion has begun: what is called when the pod has gone?")
	server.Delete(seen)
	server.Create(seen)
	time.Sleep(time.Minute)
	c.check(t, "after a pod was deleted and created again")

	time.Sleep(time.Minute)
	server.Silence() // the informer notices it after 45 seconds
	changed.Labels["tier"] = "back"
	server.Update(changed)
	ending.Status.Phase = corev1.PodSucceeded
	server.Update(ending)
	time.Sleep(5 * time.Minute)
	c.expectNoLine(t, "after an unseen change of its labels", samePod)

	server.Delete(ending)
	time.Sleep(time.Minute)
	c.check(t, "after a pod has gone whose deletion had begun before")

	server.Create(again)
	synctest.Wait()
	server.Silence()
	server.Delete(again)
	server.Create(again)
	again.DeletionTimestamp, again.Finalizers = new(metav1.Now()), []string{"example.com/disk"} // its deletion has begun, too
	server.Update(again)
	time.Sleep(5 * time.Minute)
	c.check(t, "after a pod was replaced unseen, within a second of its creation")
	server.Delete(again)
	time.Sleep(time.Minute)
	c.check(t, "after the pod was deleted that had replaced another one")

	server.Silence()
	for range 2 {
		server.Delete(seen)
		server.Create(seen)
	}
	server.Delete(gone)
	server.Delete(replacedAndGone)
	server.Create(replacedAndGone)
	server.Delete(replacedAndGone)
	time.Sleep(5 * time.Minute)
	c.check(t, "after pods were deleted unseen, and one of them replaced")

	podinformer.RejectWithoutError(t, server.Core().RESTClient(), "Track", func(informer podinformer.Informer) error {
		return track(informer, io.Discard)
	})
}

// lateOnDelete is behind the store when a pod is deleted.
type lateOnDelete struct{ cache.ResourceEventHandler }

func (h lateOnDelete) OnDelete(object any) {
	time.Sleep(time.Second)
	h.ResourceEventHandler.OnDelete(object)
}

// trackedLines follows the lines, of two handlers of one informer.
type trackedLines struct {
	server         *fakeserver.Server
	printed, other testkit.Buffer
	read           int               // lines
	open           map[string]string // UIDs by name
}

// expectNoLine rejects an answer that has printed a line since the last check.
func (c *trackedLines) expectNoLine(t *grade.T, when, look string) {
	if lines := c.printed.Lines()[c.read:]; len(lines) > 0 {
		t.Reject(fmt.Sprintf("no line %s: it is the same pod", when), fmt.Sprintf("%q", lines[0]), look)
	}
}

// check reads the new lines. Then the open pods must be those of the server.
func (c *trackedLines) check(t *grade.T, when string) {
	const look = "chapter 2, No route to the server: what does the handler get for a pod that was created again?"
	lines := c.printed.Lines()
	if others := c.other.Lines(); !slices.Equal(slices.Sorted(slices.Values(lines)), slices.Sorted(slices.Values(others))) {
		t.Reject(when+", two handlers of one informer have printed the same", fmt.Sprintf("%q, and %q", lines, others),
			"what do two calls of Track share? A variable of the package?")
	}
	for _, line := range lines[c.read:] {
		words := strings.Fields(line)
		if len(words) != 3 || (words[0] != "open" && words[0] != "close") {
			t.Reject("lines such as: open shop/web-1 UID", fmt.Sprintf("%q", line), "Track's documentation")
		}
		name, uid := words[1], words[2]
		switch is := c.open[name]; {
		case words[0] == "open" && is != "":
			t.Reject(fmt.Sprintf("%s, %s is closed before it is opened again", when, name), stillOpen(is),
				"your UpdateFunc and DeleteFunc: which one was called for this pod? Its argument says all, and the store may be ahead")
		case words[0] == "close" && is != uid:
			t.Reject(fmt.Sprintf("%s, the pod that is open is closed: %s %.8s...", when, name, is), fmt.Sprintf("%q", line), look)
		case words[0] == "open":
			c.open[name] = uid
		default:
			delete(c.open, name)
		}
	}
	c.read = len(lines)

	list := testkit.Must(c.server.Core().Pods(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{}))(t)
	exists := map[string]bool{}
	for _, pod := range list.Items {
		name := pod.Namespace + "/" + pod.Name
		exists[name] = true
		switch open := c.open[name]; {
		case open == "":
			t.Reject(fmt.Sprintf("%s, %s is open", when, name), "it is not",
				"which of the handler's functions is called? Pods of two namespaces can have the same name")
		case open != string(pod.UID):
			t.Reject(fmt.Sprintf("%s, %s is open with UID %.8s...", when, name, pod.UID), stillOpen(open), look)
		}
	}
	for name, uid := range c.open {
		if !exists[name] {
			t.Reject(fmt.Sprintf("%s, %s is closed", when, name), stillOpen(uid), look)
		}
	}
}

func stillOpen(uid string) string { return fmt.Sprintf("UID %.8s... is still open", uid) }
