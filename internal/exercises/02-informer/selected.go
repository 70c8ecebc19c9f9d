package informer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type selectedAnswer = func(clientset kubernetes.Interface, namespace, app, node string) informers.SharedInformerFactory

// Selected grades the answers to "Only the pods of one node".
var Selected = grade.Exercise[selectedAnswer]{
	Grade: func(t *grade.T, newFactory selectedAnswer) {
		t.Bubble(func(t *grade.T) {
			for round := range 2 { // with other arguments
				gradeFactory(t, newFactory, 100*round+t.Rand.IntN(100))
			}
		})
	},
}

func gradeFactory(t *grade.T, newFactory selectedAnswer, number int) {
	server := fakeserver.Start(t)
	namespace, app, node := fmt.Sprintf("shop-%d", number), fmt.Sprintf("web-%d", number), fmt.Sprintf("node-%d", number)
	one, two := newAppPod(namespace, "one", app, node), newAppPod(namespace, "two", app, node)
	otherApp, noNode := newAppPod(namespace, "other-app", "db", node), newAppPod(namespace, "no-node", app, "")
	// These two have ended, and the deletion of one of them has begun. They are on the node until they have gone.
	failed, succeeded := newAppPod(namespace, "failed", app, node), newAppPod(namespace, "succeeded", app, node)
	failed.Status.Phase, succeeded.Status.Phase = corev1.PodFailed, corev1.PodSucceeded
	failed.DeletionTimestamp, failed.Finalizers = new(metav1.Now()), []string{"example.com/disk"}
	for _, pod := range []*corev1.Pod{
		one, two, otherApp, noNode, failed, succeeded,
		newAppPod("other-namespace", "one", app, node),
		newAppPod(namespace, "other-node", app, "node-x"),
	} {
		server.Create(pod)
	}

	ctx, cancel := context.WithCancel(t.Context())
	newInformer := func(app, node string) (informers.SharedInformerFactory, cache.SharedIndexInformer) {
		factory := newFactory(kubernetes.NewForConfigOrDie(server.Config()), namespace, app, node)
		if factory == nil {
			t.Reject("a factory", "nil", "NewFactory's documentation")
		}
		t.Cleanup(factory.Shutdown)
		t.Cleanup(cancel)
		return factory, factory.Core().V1().Pods().Informer()
	}
	factory, informer := newInformer(app, node)
	// Another factory is made before the first one has sent a request.
	secondFactory, second := newInformer(otherApp.Labels["app"], node)
	var failure error
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { failure = err })
	if err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(ctx)
	synctest.Wait()
	switch {
	case failure != nil:
		t.Reject("the informer syncs", failure.Error(), "the request's fieldSelector and labelSelector: which part of a pod is a label?")
	case !informer.HasSynced():
		requests := server.Requests("list", "watch")
		t.Reject("the informer syncs",
			"it has not synced after its request with "+strings.Join(queryNames(requests[len(requests)-1]), ", "),
			"the options that the reflector has set before the tweak: watchList in client-go's tools/cache/reflector.go")
	}
	expectPods(t, server, informer, "at first", one, two, failed, succeeded)
	secondFactory.StartWithContext(ctx)
	synctest.Wait()
	if keys, expected := second.GetStore().ListKeys(), namespace+"/"+otherApp.Name; !slices.Equal(keys, []string{expected}) {
		t.Reject("the store of a second factory, with another app, has "+expected, fmt.Sprintf("it has %q", keys),
			"what do two calls of NewFactory share? A variable of the package?")
	}

	moved := two.DeepCopy()
	moved.Labels["app"] = "db"
	server.Update(moved)
	joined := otherApp.DeepCopy()
	joined.Labels["app"] = app
	server.Update(joined)
	synctest.Wait()
	expectPods(t, server, informer, "after the labels of two pods have changed", one, otherApp, failed, succeeded)
	bound := noNode.DeepCopy()
	bound.Spec.NodeName = node
	server.Update(bound)
	unlabelled := otherApp.DeepCopy()
	unlabelled.Labels = nil
	server.Update(unlabelled)
	synctest.Wait()
	expectPods(t, server, informer, "after a pod has got the node, and another one has lost its label", one, bound, failed, succeeded)
	one.Status.Phase, succeeded.Labels["app"] = corev1.PodSucceeded, "db"
	server.Update(one)
	server.Update(succeeded)
	synctest.Wait()
	expectPods(t, server, informer, "after a pod has ended, and another one that had ended has changed its label", one, bound, failed)

	server.CloseWatches() // the next watch must have the selectors, too
	time.Sleep(time.Minute)
	server.Create(newAppPod(namespace, "late-other-app", "db", node))
	late := newAppPod(namespace, "late", app, node)
	server.Create(late)
	synctest.Wait()
	expectPods(t, server, informer, "after the watch was opened again", one, bound, failed, late)
}

func newAppPod(namespace, name, app, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// queryNames returns what a request has asked for.
func queryNames(request fakeserver.Request) []string {
	var names []string
	for name := range request.Query {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func expectPods(t *grade.T, server *fakeserver.Server, informer cache.SharedInformer, when string, pods ...*corev1.Pod) {
	var expected []string
	for _, pod := range pods {
		expected = append(expected, pod.Namespace+"/"+pod.Name)
	}
	slices.Sort(expected)
	seen := informer.GetStore().ListKeys()
	slices.Sort(seen)
	if slices.Equal(expected, seen) {
		return
	}
	has := "the store has no pods"
	if len(seen) > 0 {
		has = "it has " + strings.Join(seen, ", ")
	}
	look := "WithTweakListOptions; LabelSelector and FieldSelector of metav1.ListOptions"
	if sent := server.Requests("list", "watch"); len(sent) > 0 {
		if strings.Contains(sent[len(sent)-1].Query.Get("labelSelector"), "db") {
			look = "the request selects as another factory, which was made later: what do both share? A variable of the package?"
		}
		if sent[len(sent)-1].Namespace == "" {
			look = "the request is for the pods of all namespaces: WithNamespace"
		}
		if strings.Contains(sent[len(sent)-1].Query.Get("fieldSelector"), "status.phase") {
			look = "the request's fieldSelector selects by the phase, too: which pods does the task leave out?"
		}
		for name, other := range map[string]string{"labelSelector": "fieldSelector", "fieldSelector": "labelSelector"} {
			if query := sent[len(sent)-1].Query; query.Get(name) != "" && query.Get(other) == "" {
				look = fmt.Sprintf("the request has a %s, but no %s: where do you set both? WithTweakListOptions keeps one function",
					name, other)
			}
		}
	}
	t.Reject(fmt.Sprintf("%s, the store has %s", when, strings.Join(expected, ", ")), has, look)
}
