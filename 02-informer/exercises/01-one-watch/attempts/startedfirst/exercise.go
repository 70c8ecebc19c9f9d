// Package exercise has an answer with a mistake: the factory is started while it has no informer yet.
package exercise

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

func Run(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	factory := informers.NewSharedInformerFactory(clientset, 0)
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	informer := factory.Core().V1().Pods().Informer()
	for _, handler := range handlers {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}
