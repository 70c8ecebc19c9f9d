package exercise

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// RunsOneInformerWithoutAFactory needs no factory: it runs the informer itself.
func RunsOneInformerWithoutAFactory(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
	informer := coreinformers.NewPodInformer(clientset, metav1.NamespaceAll, 0, cache.Indexers{})
	for _, handler := range handlers {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	informer.RunWithContext(ctx) // returns when the handlers have ended, too
	return nil
}
