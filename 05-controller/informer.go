// informer.go: the factory that creates the informers, and the index of the Deployments.
// Before: handler.go. Next: worker.go.

package main

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// newFactory returns a factory for the informers of the selected objects. It starts none. The factory creates an informer
// when the program first asks for it, and StartWithContext runs it.
//
// There is no transform that strips managedFields: ExtractDeployment reads in them which fields this controller has set.
func newFactory(clientset kubernetes.Interface, s selection) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(clientset, s.resync,
		informers.WithNamespace(s.namespace),
		informers.WithTweakListOptions(s.tweak),
	)
}

// selection says which objects the stores keep.
type selection struct {
	namespace string
	labels    labels.Selector
	resync    time.Duration // hands all objects to the handlers again; 0 never does
}

// tweak asks the server for these objects alone, in each list and watch.
func (s selection) tweak(options *metav1.ListOptions) {
	options.LabelSelector = s.labels.String()
}

// databaseSelector selects the ConfigMaps that describe a database.
var databaseSelector = labels.SelectorFromSet(labels.Set{"workbook/database": "true"})

// ownerIndex is the name of the index that finds Deployments by the name of the ConfigMap that owns them.
const ownerIndex = "owner"

var deploymentIndexers = appsinformers.DeploymentIndexers{
	ownerIndex: func(deployment *appsv1.Deployment) ([]string, error) {
		if owner, ok := ownerOf(deployment); ok {
			return []string{owner.String()}, nil
		}
		return nil, nil
	},
}

// ownerOf returns the name of the ConfigMap that owns a Deployment, if this controller has created the Deployment: other
// controllers can let ConfigMaps own Deployments, too. The name is enough to enqueue the owner. Only the UID shows whether
// it is still the same ConfigMap: reconcile compares UIDs.
func ownerOf(deployment *appsv1.Deployment) (cache.ObjectName, bool) {
	owner := metav1.GetControllerOfNoCopy(deployment)
	if owner == nil || owner.Kind != "ConfigMap" || owner.APIVersion != corev1.SchemeGroupVersion.String() ||
		deployment.Spec.Selector.MatchLabels[uidLabel] != string(owner.UID) {
		return cache.ObjectName{}, false
	}
	return cache.NewObjectName(deployment.Namespace, owner.Name), true
}
