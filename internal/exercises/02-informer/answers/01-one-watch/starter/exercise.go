// Package exercise answers "Three handlers, one watch". README.md has the task.
package exercise

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Run calls each handler for every pod of the cluster, until ctx ends. It returns when no handler runs any more.
func Run(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	// TODO: the server sends every pod once for each handler. Once is enough for all.
	for _, handler := range handlers {
		factory := informers.NewSharedInformerFactory(clientset, 0)
		if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(handler); err != nil {
			return err
		}
		factory.StartWithContext(ctx)
		defer factory.Shutdown() // waits until the factory's informers and their handlers have ended
	}
	<-ctx.Done()
	return nil
}
