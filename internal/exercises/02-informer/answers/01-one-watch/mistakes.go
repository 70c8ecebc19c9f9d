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

// CallsTheHandlersOneAfterTheOther has one handler that calls all the others, so each waits for the one before it.
func CallsTheHandlersOneAfterTheOther(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	return Run(ctx, clientset, cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, isInInitialList bool) {
			for _, handler := range handlers {
				handler.OnAdd(object, isInInitialList)
			}
		},
		UpdateFunc: func(old, object any) {
			for _, handler := range handlers {
				handler.OnUpdate(old, object)
			}
		},
		DeleteFunc: func(object any) {
			for _, handler := range handlers {
				handler.OnDelete(object)
			}
		},
	})
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

// DoesNotWaitForTheHandlers returns when ctx has ended, while a handler can still run.
func DoesNotWaitForTheHandlers(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	factory := informers.NewSharedInformerFactory(clientset, 0)
	for _, handler := range handlers {
		if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(handler); err != nil {
			return err
		}
	}
	factory.StartWithContext(ctx)
	<-ctx.Done()
	return nil
}

// StartsBeforeTheInformerExists starts the factory while it has no informer yet.
func StartsBeforeTheInformerExists(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	factory := informers.NewSharedInformerFactory(clientset, 0)
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	for _, handler := range handlers {
		if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(handler); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
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

// Sleeps hopes that each handler has ended ten seconds later.
func Sleeps(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	defer time.Sleep(10 * time.Second)
	return DoesNotWaitForTheHandlers(ctx, clientset, handlers...)
}

// WaitsForTheInformersOnly does not wait for ctx itself. Without handlers it has no informer, and returns at once.
func WaitsForTheInformersOnly(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	factory := informers.NewSharedInformerFactory(clientset, 0)
	for _, handler := range handlers {
		if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(handler); err != nil {
			return err
		}
	}
	factory.StartWithContext(ctx)
	factory.Shutdown()
	return nil
}

// RemovesTheHandlers removes each handler when ctx has ended. That does not wait for its last call.
func RemovesTheHandlers(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	factory := informers.NewSharedInformerFactory(clientset, 0)
	informer := factory.Core().V1().Pods().Informer()
	var registrations []cache.ResourceEventHandlerRegistration
	for _, handler := range handlers {
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return err
		}
		registrations = append(registrations, registration)
	}
	factory.StartWithContext(ctx)
	<-ctx.Done()
	for _, registration := range registrations {
		if err := informer.RemoveEventHandler(registration); err != nil {
			return err
		}
	}
	return nil
}

var (
	once   sync.Once
	shared informers.SharedInformerFactory
)

// KeepsTheFactory has one factory for all calls. A second call gets an informer of the first one's server, which has ended.
func KeepsTheFactory(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	once.Do(func() { shared = informers.NewSharedInformerFactory(clientset, 0) })
	for _, handler := range handlers {
		if _, err := shared.Core().V1().Pods().Informer().AddEventHandler(handler); err != nil {
			return err
		}
	}
	shared.StartWithContext(ctx)
	defer shared.Shutdown()
	<-ctx.Done()
	return nil
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
