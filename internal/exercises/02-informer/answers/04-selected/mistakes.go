package exercise

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// OverwritesTheReflectorsOptions replaces all options, also those of the reflector: it asks for a list again, not for a watch.
func OverwritesTheReflectorsOptions(clientset kubernetes.Interface, namespace, app, node string) informers.SharedInformerFactory {
	return newFactory(clientset, namespace, func(options *metav1.ListOptions) {
		*options = metav1.ListOptions{LabelSelector: "app=" + app, FieldSelector: "spec.nodeName=" + node}
	})
}

// SelectsTheLabelByAField takes the label for a field. The server can select pods by a few fields only.
func SelectsTheLabelByAField(clientset kubernetes.Interface, namespace, app, node string) informers.SharedInformerFactory {
	return newFactory(clientset, namespace, func(options *metav1.ListOptions) {
		options.FieldSelector = "spec.nodeName=" + node + ",metadata.labels.app=" + app
	})
}

// LeavesOutWhatHasEnded selects by the phase, too: a pod leaves the store when it ends.
func LeavesOutWhatHasEnded(clientset kubernetes.Interface, namespace, app, node string) informers.SharedInformerFactory {
	return newFactory(clientset, namespace, func(options *metav1.ListOptions) {
		options.LabelSelector = "app=" + app
		options.FieldSelector = "spec.nodeName=" + node + ",status.phase!=Succeeded,status.phase!=Failed"
	})
}

func newFactory(clientset kubernetes.Interface, namespace string, tweaks ...func(*metav1.ListOptions)) informers.SharedInformerFactory {
	options := []informers.SharedInformerOption{informers.WithNamespace(namespace)}
	for _, tweak := range tweaks {
		options = append(options, informers.WithTweakListOptions(tweak))
	}
	return informers.NewSharedInformerFactoryWithOptions(clientset, 0, options...)
}

var labelSelector, fieldSelector string

// KeepsTheSelectorsInVariables reads them at each request. The next call of NewFactory changes them for this factory, too.
func KeepsTheSelectorsInVariables(clientset kubernetes.Interface, namespace, app, node string) informers.SharedInformerFactory {
	labelSelector, fieldSelector = "app="+app, "spec.nodeName="+node
	return newFactory(clientset, namespace, func(options *metav1.ListOptions) {
		options.LabelSelector, options.FieldSelector = labelSelector, fieldSelector
	})
}

var factories sync.Map // by namespace

// HasOneFactoryForEachNamespace returns an earlier factory, although that has another app and another node.
func HasOneFactoryForEachNamespace(clientset kubernetes.Interface, namespace, app, node string) informers.SharedInformerFactory {
	factory, _ := factories.LoadOrStore(namespace, NewFactory(clientset, namespace, app, node))
	return factory.(informers.SharedInformerFactory)
}
