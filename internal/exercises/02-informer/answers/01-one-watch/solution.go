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
	// One factory has one informer for each type, however often it is asked for it.
	factory := informers.NewSharedInformerFactory(clientset, 0)
	for _, handler := range handlers {
		// Each handler gets a buffer and a goroutine of its own, so a slow one does not hold up the others.
		if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(handler); err != nil {
			return err
		}
	}
	// After the informer exists: an informer that is created later is not started.
	factory.StartWithContext(ctx)
	defer factory.Shutdown() // waits until the informer and its handlers have ended
	<-ctx.Done()
	return nil
}
