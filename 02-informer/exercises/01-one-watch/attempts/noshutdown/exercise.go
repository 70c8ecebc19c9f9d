// Package exercise has an answer with a mistake: it does not wait until the handlers have ended.
package exercise

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

func Run(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
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
