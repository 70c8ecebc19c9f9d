package exercise

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
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

// ShutsDownEachHandler removes each handler, and waits for it. The informer ends by itself.
func ShutsDownEachHandler(ctx context.Context, clientset kubernetes.Interface, handlers ...cache.ResourceEventHandler) error {
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
	var errs []error
	for _, registration := range registrations {
		errs = append(errs, cache.ShutDownEventHandler(informer, registration))
	}
	return errors.Join(errs...)
}
