// Package exercise answers "Sync when a Secret changes that is not yours". README.md has the task.
package exercise

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// secretIndex finds ConfigMaps by the Secret that they name, as NAMESPACE/NAME.
const secretIndex = "secret"

// Watch lets add be called with the key of each ConfigMap to sync. The informers are not started yet.
func Watch(
	configMaps cache.TypedSharedIndexInformer[*corev1.ConfigMap],
	secrets cache.TypedSharedIndexInformer[*corev1.Secret],
	add func(key cache.ObjectName),
) error {
	if err := configMaps.AddTypedIndexers(cache.TypedIndexers[*corev1.ConfigMap]{secretIndex: secretOf}); err != nil {
		return err
	}
	if _, err := configMaps.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.ConfigMap]{
		AddFunc:    func(configMap *corev1.ConfigMap) { add(cache.MetaObjectToName(configMap)) },
		UpdateFunc: func(_, configMap *corev1.ConfigMap) { add(cache.MetaObjectToName(configMap)) },
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.ConfigMap]) { add(deleted.GetObjectName()) },
	}); err != nil {
		return err
	}
	addUsers := func(secret cache.ObjectName) {
		users, _ := configMaps.GetTypedIndexer().ByTypedIndex(secretIndex, secret.String()) // there is such an index
		for _, configMap := range users {
			add(cache.MetaObjectToName(configMap))
		}
	}
	_, err := secrets.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Secret]{
		AddFunc:    func(secret *corev1.Secret) { addUsers(cache.MetaObjectToName(secret)) },
		UpdateFunc: func(_, secret *corev1.Secret) { addUsers(cache.MetaObjectToName(secret)) },
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Secret]) { addUsers(deleted.GetObjectName()) },
	})
	return err
}

// secretOf is an index function. A ConfigMap that names none is found under a name that no Secret has.
func secretOf(configMap *corev1.ConfigMap) ([]string, error) {
	return []string{cache.NewObjectName(configMap.Namespace, configMap.Data["secret"]).String()}, nil
}
