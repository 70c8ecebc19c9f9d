package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// newClientset returns a client for the cluster in a kubeconfig file. An empty path stands for the cluster whose pod the
// program runs in.
func newClientset(kubeconfig string) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// listAndWatch prints a namespace's pods, and then each change of one, until the watch ends.
func listAndWatch(ctx context.Context, clientset kubernetes.Interface, namespace string, out io.Writer) error {
	pods := clientset.CoreV1().Pods(namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, pod := range list.Items {
		fmt.Fprintln(out, "LISTED", pod.Name)
	}
	changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for event := range changes.ResultChan() {
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		fmt.Fprintln(out, event.Type, event.Object.(*corev1.Pod).Name)
	}
	return nil
}

func TestListAndWatch(t *testing.T) {
	clientset := testkit.Must(newClientset(testcluster.Kubeconfig(t)))(t)
	namespace := testcluster.Namespace(t, testcluster.Config(t))
	create := func(name string) {
		testkit.Must(clientset.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PodSpec{
				SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/never"}},
				Containers:      []corev1.Container{{Name: "main", Image: "nginx:1.28"}},
			},
		}, metav1.CreateOptions{}))(t)
	}
	create("before")

	var out testkit.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() {
		if err := listAndWatch(ctx, clientset, namespace, &out); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	out.Await(t, "^LISTED before$")
	create("after")
	out.Await(t, "^ADDED after$")
}
