package exercise

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// CombinesSmallTweaks puts its tweaks together from small ones.
func CombinesSmallTweaks(clientset kubernetes.Interface, namespace, app, node string) informers.SharedInformerFactory {
	tweaks := []func(*metav1.ListOptions){
		func(options *metav1.ListOptions) { options.FieldSelector = "spec.nodeName=" + node },
		func(options *metav1.ListOptions) { options.LabelSelector = fmt.Sprintf("app in (%s)", app) },
	}
	inNamespace := informers.WithNamespace(namespace)
	return informers.NewSharedInformerFactoryWithOptions(clientset, 0, inNamespace,
		informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			for _, tweak := range tweaks {
				tweak(options)
			}
		}))
}
