package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// Example is the smallest program with an index and a lister.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	// A fake, to have three known pods. A program calls kubernetes.NewForConfig.
	clientset := fake.NewClientset(newPod("shop/web-1 node=n1"), newPod("shop/web-2 node=n2"), newPod("shop/cache-1 node=n2"))
	factory := informers.NewSharedInformerFactory(clientset, 0)
	defer factory.Shutdown()
	defer stop() // runs before Shutdown, which waits for the informer

	pods := factory.Core().V1().Pods()
	lister, informer := pods.Lister(), pods.TypedInformer()
	nodeOf := func(pod *corev1.Pod) ([]string, error) { return []string{pod.Spec.NodeName}, nil }
	if err := informer.AddTypedIndexers(coreinformers.PodIndexers{"node": nodeOf}); err != nil {
		panic(err)
	}
	factory.StartWithContext(ctx)
	if !cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
		return // ctx has ended
	}

	pod, err := lister.Pods("shop").Get("web-1") // by key
	fmt.Println(pod.Name, err)
	onNode, err := informer.GetTypedIndexer().ByTypedIndex("node", "n2") // by index
	fmt.Println(len(onNode), err)
	all, err := lister.List(labels.Everything()) // by scan
	fmt.Println(len(all), err)
	// Output:
	// web-1 <nil>
	// 2 <nil>
	// 3 <nil>
}

// Example_tooEarly asks a lister whose informer was never started.
func Example_tooEarly() {
	clientset := fake.NewClientset(newPod("shop/web-1 node=n1"))
	pods := informers.NewSharedInformerFactory(clientset, 0).Core().V1().Pods().Lister()
	_, err := pods.Pods("shop").Get("web-1")
	fmt.Println(apierrors.IsNotFound(err), err)
	all, err := pods.List(labels.Everything())
	fmt.Println(len(all), err)
	// Output:
	// true pod "web-1" not found
	// 0 <nil>
}
