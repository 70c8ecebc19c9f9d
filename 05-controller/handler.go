package main

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// configMapHandler puts the names of ConfigMaps into the queue.
func configMapHandler(queue workqueue.TypedInterface[cache.ObjectName]) cache.TypedResourceEventHandler[*corev1.ConfigMap] {
	return coreinformers.ConfigMapHandlerFuncs{
		AddFunc:    func(configMap *corev1.ConfigMap) { queue.Add(cache.MetaObjectToName(configMap)) },
		UpdateFunc: func(_, configMap *corev1.ConfigMap) { queue.Add(cache.MetaObjectToName(configMap)) },
		DeleteFunc: func(deleted coreinformers.DeletedConfigMap) { queue.Add(deleted.GetObjectName()) },
	}
}

// deploymentHandler puts the names of Deployments' owners into the same queue: what changes in the world matters
// as much as what changes in the wish. That is how a Deployment that somebody else deletes comes back.
func deploymentHandler(queue workqueue.TypedInterface[cache.ObjectName]) cache.TypedResourceEventHandler[*appsv1.Deployment] {
	addOwner := func(deployment *appsv1.Deployment) {
		if owner, ok := ownerOf(deployment); ok {
			queue.Add(owner)
		}
	}
	return appsinformers.DeploymentHandlerFuncs{
		AddFunc: addOwner,
		UpdateFunc: func(old, deployment *appsv1.Deployment) {
			addOwner(old) // who may have lost it
			addOwner(deployment)
		},
		DeleteFunc: func(deleted appsinformers.DeletedDeployment) {
			if deleted.OptionalObj != nil { // a tombstone has the Deployment as last seen, if it was
				addOwner(deleted.OptionalObj)
			}
		},
	}
}
