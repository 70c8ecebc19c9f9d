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

// selection says what to keep in the stores.
type selection struct {
	namespace string
	labels    labels.Selector
	resync    time.Duration
}

// newFactory returns a factory for the informers of all chosen objects. It starts none: an informer exists from
// the moment that somebody asks the factory for it, and runs from StartWithContext on.
func newFactory(clientset kubernetes.Interface, s selection) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(clientset, s.resync,
		informers.WithNamespace(s.namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.LabelSelector = s.labels.String()
		}),
	)
}

// byOwner indexes Deployments by the name of the ConfigMap that owns them.
const byOwner = "owner"

var ownerIndex = appsinformers.DeploymentIndexers{
	byOwner: func(deployment *appsv1.Deployment) ([]string, error) {
		if owner, ok := ownerOf(deployment); ok {
			return []string{owner.String()}, nil
		}
		return nil, nil
	},
}

// ownerOf returns the name of the ConfigMap that controls a Deployment, if the Deployment is this controller's work:
// others may let ConfigMaps own Deployments, too. A name is enough to know whom to wake. Whether it is still the same
// ConfigMap only the UID tells, which reconcile compares: there may have been another one of that name.
func ownerOf(deployment *appsv1.Deployment) (cache.ObjectName, bool) {
	owner := metav1.GetControllerOfNoCopy(deployment)
	if owner == nil || owner.Kind != "ConfigMap" || owner.APIVersion != corev1.SchemeGroupVersion.String() ||
		deployment.Spec.Selector.MatchLabels[uidLabel] != string(owner.UID) {
		return cache.ObjectName{}, false
	}
	return cache.NewObjectName(deployment.Namespace, owner.Name), true
}
