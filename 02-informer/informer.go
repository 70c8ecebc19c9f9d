// informer.go: the factory that creates the informers.
// The same file in chapters 2 to 4.

package main

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/shard"
)

// newFactory returns a factory for the informers of the selected objects. It starts none. The factory creates an informer
// when the program first asks for it, and StartWithContext runs it.
func newFactory(clientset kubernetes.Interface, s selection) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(clientset, s.resync,
		informers.WithNamespace(s.namespace),
		informers.WithTweakListOptions(s.tweak),
		informers.WithTransform(stripManagedFields),
	)
}

// selection says which objects the stores keep.
type selection struct {
	namespace string
	labels    labels.Selector
	shard     shard.Shard   // a part of them
	resync    time.Duration // hands all objects to the handlers again; 0 never does
}

// tweak asks the server for these objects alone, in each list and watch.
func (s selection) tweak(options *metav1.ListOptions) {
	options.LabelSelector, options.ShardSelector = s.labels.String(), s.shard.String()
}
