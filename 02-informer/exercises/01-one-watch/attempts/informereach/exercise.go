// Package exercise has an answer with a mistake: the factory is gone, but there is still an informer for each handler.
package exercise

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

func Run(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
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
