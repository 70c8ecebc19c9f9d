// Package exercise has an answer with a mistake: the node is a field of the pod, not a label.
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
			options.LabelSelector = "app=" + app + ",spec.nodeName=" + node
		}))
}
