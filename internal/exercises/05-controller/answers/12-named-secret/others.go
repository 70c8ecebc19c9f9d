package exercise

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// WatchesWithoutTypes does the same with the methods that informers had before v0.37.
func WatchesWithoutTypes(
	configMaps cache.TypedSharedIndexInformer[*corev1.ConfigMap],
	secrets cache.TypedSharedIndexInformer[*corev1.Secret],
	add func(key cache.ObjectName),
) error {
	if err := configMaps.AddIndexers(cache.Indexers{secretIndex: func(object any) ([]string, error) {
		return secretOf(object.(*corev1.ConfigMap))
	}}); err != nil {
		return err
	}
	addKey := func(object any) { add(keyOf(object)) }
	if _, err := configMaps.AddEventHandler(handlerOf(addKey)); err != nil {
		return err
	}
	addUsers := func(object any) {
		users, _ := configMaps.GetIndexer().ByIndex(secretIndex, keyOf(object).String()) // there is such an index
		for _, configMap := range users {
			addKey(configMap)
		}
	}
	_, err := secrets.AddEventHandler(handlerOf(addUsers))
	return err
}

// handlerOf calls f at each event.
func handlerOf(f func(object any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: f, UpdateFunc: func(_, object any) { f(object) }, DeleteFunc: f}
}

// keyOf returns the key of an object or a tombstone.
func keyOf(object any) cache.ObjectName {
	key, _ := cache.DeletionHandlingObjectToName(object) // each object of an informer has a name
	return key
}
