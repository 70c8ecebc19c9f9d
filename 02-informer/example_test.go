package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// watchPods prints each change of a namespace's pods until ctx ends.
func watchPods(ctx context.Context, clientset kubernetes.Interface, namespace string, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithNamespace(namespace))
	defer factory.Shutdown() // then waits until they have stopped
	defer cancel()           // stops the informers

	pods := factory.Core().V1().Pods()
	registration, err := pods.TypedInformer().AddTypedEventHandler(coreinformers.PodHandlerFuncs{
		AddFunc:    func(pod *corev1.Pod) { fmt.Fprintln(out, "ADD", pod.Name) },
		UpdateFunc: func(old, pod *corev1.Pod) { fmt.Fprintln(out, "UPDATE", pod.Name) },
		DeleteFunc: func(deleted coreinformers.DeletedPod) { fmt.Fprintln(out, "DELETE", deleted.GetName()) },
	})
	if err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	if cache.WaitFor(ctx, "", registration.HasSyncedChecker()) {
		stored, err := pods.Lister().Pods(namespace).List(labels.Everything())
		if err != nil {
			return err
		}
		fmt.Fprintln(out, "SYNCED", len(stored), "pods")
	}
	<-ctx.Done()
	return nil
}

func TestWatchPods(t *testing.T) {
	config := testcluster.Config(t)
	clientset := testkit.Must(kubernetes.NewForConfig(config))(t)
	namespace := testcluster.Namespace(t, config)
	pods := clientset.CoreV1().Pods(namespace)
	create(t, pods, newPod("before"))

	var out testkit.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() {
		if err := watchPods(ctx, clientset, namespace, &out); err != nil {
			t.Error(err)
		}
	})
	out.Await(t, "^ADD before$")
	out.Await(t, "^SYNCED 1 pods$")
	create(t, pods, newPod("after"))
	out.Await(t, "^ADD after$")
	remove(t, clientset, namespace, "after")
	out.Await(t, "^DELETE after$")
}
