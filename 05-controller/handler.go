// handler.go: which event enqueues which key.
// Before: reporter.go. Next: informer.go.

package main

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// configMapHandler enqueues the names of ConfigMaps.
func configMapHandler(queue workqueue.TypedInterface[cache.ObjectName]) cache.TypedResourceEventHandler[*corev1.ConfigMap] {
	return coreinformers.ConfigMapHandlerFuncs{
		AddFunc:    func(configMap *corev1.ConfigMap) { queue.Add(cache.MetaObjectToName(configMap)) },
		UpdateFunc: func(_, configMap *corev1.ConfigMap) { queue.Add(cache.MetaObjectToName(configMap)) },
		DeleteFunc: func(deleted coreinformers.DeletedConfigMap) { queue.Add(deleted.GetObjectName()) },
	}
}

// deploymentHandler enqueues the owners of Deployments, in the same queue: a change of the actual state matters as much as
// one of the desired state. So a Deployment that somebody deletes is created again.
func deploymentHandler(queue workqueue.TypedInterface[cache.ObjectName]) cache.TypedResourceEventHandler[*appsv1.Deployment] {
	enqueueOwner := func(deployment *appsv1.Deployment) {
		if owner, ok := ownerOf(deployment); ok {
			queue.Add(owner)
		}
	}
	return appsinformers.DeploymentHandlerFuncs{
		AddFunc: enqueueOwner,
		UpdateFunc: func(old, deployment *appsv1.Deployment) {
			enqueueOwner(old) // somebody may have removed the owner reference
			enqueueOwner(deployment)
		},
		DeleteFunc: func(deleted appsinformers.DeletedDeployment) {
			if deleted.OptionalObj != nil { // a tombstone has the Deployment's last known state, if there was one
				enqueueOwner(deleted.OptionalObj)
			}
		},
	}
}
