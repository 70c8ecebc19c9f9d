package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// selection says what to keep in the store.
type selection struct {
	namespace string
	labels    labels.Selector
}

func (s selection) modify(options *metav1.ListOptions) {
	options.LabelSelector = s.labels.String()
}

// newFactory returns a factory for the informers of all chosen objects. It starts none: an informer exists from
// the moment that somebody asks the factory for it, and runs from StartWithContext on.
func newFactory(clientset kubernetes.Interface, s selection) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(clientset, 0,
		informers.WithNamespace(s.namespace),
		informers.WithTweakListOptions(s.modify),
		informers.WithTransform(stripManagedFields),
	)
}
