package exercise

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// MakesAnInformerForEachHandler has no factory any more, but still an informer for each handler.
func MakesAnInformerForEachHandler(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	var group sync.WaitGroup
	defer group.Wait()
	for _, handler := range handlers {
		informer := coreinformers.NewPodInformer(clientset, metav1.NamespaceAll, 0, cache.Indexers{})
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
		group.Go(func() { informer.RunWithContext(ctx) })
	}
	return nil
}

// HasABufferForEachHandler has one handler, which fills a buffer for each of the others. When one buffer is full, all others wait.
func HasABufferForEachHandler(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	var group sync.WaitGroup
	defer group.Wait()
	var buffers []chan func(cache.ResourceEventHandler)
	for _, handler := range handlers {
		buffer := make(chan func(cache.ResourceEventHandler), 1000)
		buffers = append(buffers, buffer)
		defer close(buffer)
		group.Go(func() {
			for call := range buffer {
				call(handler)
			}
		})
	}
	send := func(call func(cache.ResourceEventHandler)) {
		for _, buffer := range buffers {
			buffer <- call
		}
	}
	return Run(ctx, clientset, cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInInitialList bool) {
			send(func(handler cache.ResourceEventHandler) { handler.OnAdd(object, isInInitialList) })
		},
		UpdateFunc: func(old, object any) {
			send(func(handler cache.ResourceEventHandler) { handler.OnUpdate(old, object) })
		},
		DeleteFunc: func(object any) {
			send(func(handler cache.ResourceEventHandler) { handler.OnDelete(object) })
		},
	})
}

// StartsAGoroutineForEachCall delays no handler, but calls one several times at once, and in any order.
func StartsAGoroutineForEachCall(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	var calls sync.WaitGroup
	defer calls.Wait()
	return Run(ctx, clientset, cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInInitialList bool) {
			for _, handler := range handlers {
				calls.Go(func() { handler.OnAdd(object, isInInitialList) })
			}
		},
		UpdateFunc: func(old, object any) {
			for _, handler := range handlers {
				calls.Go(func() { handler.OnUpdate(old, object) })
			}
		},
		DeleteFunc: func(object any) {
			for _, handler := range handlers {
				calls.Go(func() { handler.OnDelete(object) })
			}
		},
	})
}

// WaitsUntilTheInformerIsStopped looks at IsStopped, which is true while handlers still run.
func WaitsUntilTheInformerIsStopped(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	informer := informers.NewSharedInformerFactory(clientset, 0).Core().V1().Pods().Informer()
	for _, handler := range handlers {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	go informer.RunWithContext(ctx)
	<-ctx.Done()
	for !informer.IsStopped() {
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}
