// Package exercise has an answer with a mistake: one handler calls all the others, so each waits for the one before it.
package exercise

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

func Run(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	factory := informers.NewSharedInformerFactory(clientset, 0)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
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
	if err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	<-ctx.Done()
	factory.Shutdown()
	return nil
}
