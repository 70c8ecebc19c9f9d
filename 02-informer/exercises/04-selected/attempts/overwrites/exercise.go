// Package exercise has an answer with a mistake: it replaces the reflector's own options.
package exercise

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

func NewFactory(clientset kubernetes.Interface, namespace, app, node string) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(clientset, 0,
		informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			*options = metav1.ListOptions{LabelSelector: "app=" + app, FieldSelector: "spec.nodeName=" + node}
		}))
}
