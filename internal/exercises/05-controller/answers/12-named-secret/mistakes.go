package exercise

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

type (
	configMapInformer = cache.TypedSharedIndexInformer[*corev1.ConfigMap]
	secretInformer    = cache.TypedSharedIndexInformer[*corev1.Secret]
)

// watch adds the handler of ConfigMaps, and one that calls changed with each Secret or tombstone.
func watch(configMaps configMapInformer, secrets secretInformer, add func(cache.ObjectName), changed func(any)) error {
	if _, err := configMaps.AddEventHandler(handlerOf(func(object any) { add(keyOf(object)) })); err != nil {
		return err
	}
	_, err := secrets.AddEventHandler(handlerOf(changed))
	return err
}

// ReadsAll reads all ConfigMaps at each event of a Secret.
func ReadsAll(configMaps configMapInformer, secrets secretInformer, add func(cache.ObjectName)) error {
	lister := corelisters.NewConfigMapLister(configMaps.GetIndexer())
	return watch(configMaps, secrets, add, func(object any) {
		key := keyOf(object)
		all, _ := lister.ConfigMaps(key.Namespace).List(labels.Everything())
		for _, configMap := range all {
			if configMap.Data["secret"] == key.Name {
				add(cache.MetaObjectToName(configMap))
			}
		}
	})
}

// ReadsItsNamespace asks the index by namespace, which a factory's informers have.
func ReadsItsNamespace(configMaps configMapInformer, secrets secretInformer, add func(cache.ObjectName)) error {
	return watch(configMaps, secrets, add, func(object any) {
		key := keyOf(object)
		all, _ := configMaps.GetTypedIndexer().ByTypedIndex(cache.NamespaceIndex, key.Namespace)
		for _, configMap := range all {
			if configMap.Data["secret"] == key.Name {
				add(cache.MetaObjectToName(configMap))
			}
		}
	})
}

// ForgetsTheNamespace looks for the name only.
func ForgetsTheNamespace(configMaps configMapInformer, secrets secretInformer, add func(cache.ObjectName)) error {
	if err := configMaps.AddTypedIndexers(cache.TypedIndexers[*corev1.ConfigMap]{secretIndex: func(c *corev1.ConfigMap) ([]string, error) {
		return []string{c.Data["secret"]}, nil
	}}); err != nil {
		return err
	}
	return watch(configMaps, secrets, add, func(object any) {
		addUsers(configMaps, keyOf(object).Name, add)
	})
}

// JoinsWithADash makes one text of a namespace and a name, and other ones make the same.
func JoinsWithADash(configMaps configMapInformer, secrets secretInformer, add func(cache.ObjectName)) error {
	if err := configMaps.AddTypedIndexers(cache.TypedIndexers[*corev1.ConfigMap]{secretIndex: func(c *corev1.ConfigMap) ([]string, error) {
		return []string{c.Namespace + "-" + c.Data["secret"]}, nil
	}}); err != nil {
		return err
	}
	return watch(configMaps, secrets, add, func(object any) {
		addUsers(configMaps, keyOf(object).Namespace+"-"+keyOf(object).Name, add)
	})
}

// ComparesTheData drops changes of labels, and the beginning of a deletion.
func ComparesTheData(configMaps configMapInformer, secrets secretInformer, add func(cache.ObjectName)) error {
	if err := configMaps.AddTypedIndexers(cache.TypedIndexers[*corev1.ConfigMap]{secretIndex: secretOf}); err != nil {
		return err
	}
	if _, err := configMaps.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.ConfigMap]{
		AddFunc: func(configMap *corev1.ConfigMap) { add(keyOf(configMap)) },
		UpdateFunc: func(before, after *corev1.ConfigMap) {
			if !maps.Equal(before.Data, after.Data) {
				add(keyOf(after))
			}
		},
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.ConfigMap]) { add(deleted.GetObjectName()) },
	}); err != nil {
		return err
	}
	_, err := secrets.AddEventHandler(handlerOf(func(object any) { addUsers(configMaps, keyOf(object).String(), add) }))
	return err
}

func addUsers(configMaps configMapInformer, value string, add func(cache.ObjectName)) {
	users, _ := configMaps.GetTypedIndexer().ByTypedIndex(secretIndex, value)
	for _, configMap := range users {
		add(cache.MetaObjectToName(configMap))
	}
}

// NeedsTheObject leaves out a deletion that the informer has missed.
func NeedsTheObject(configMaps configMapInformer, secrets secretInformer, add func(cache.ObjectName)) error {
	if err := configMaps.AddTypedIndexers(cache.TypedIndexers[*corev1.ConfigMap]{secretIndex: secretOf}); err != nil {
		return err
	}
	return watch(configMaps, secrets, add, func(object any) {
		if secret, ok := object.(*corev1.Secret); ok {
			addUsers(configMaps, cache.MetaObjectToName(secret).String(), add)
		}
	})
}

// KnowsTheFirstName remembers what a ConfigMap has named when it was created.
func KnowsTheFirstName(configMaps configMapInformer, secrets secretInformer, add func(cache.ObjectName)) error {
	first := map[string]string{}
	if err := configMaps.AddTypedIndexers(cache.TypedIndexers[*corev1.ConfigMap]{secretIndex: func(c *corev1.ConfigMap) ([]string, error) {
		key := cache.MetaObjectToName(c).String()
		if first[key] == "" {
			first[key] = c.Namespace + "/" + c.Data["secret"]
		}
		return []string{first[key]}, nil
	}}); err != nil {
		return err
	}
	return watch(configMaps, secrets, add, func(object any) {
		addUsers(configMaps, keyOf(object).String(), add)
	})
}

// TakesTheSecretsName adds the Secret's own key.
func TakesTheSecretsName(configMaps configMapInformer, secrets secretInformer, add func(cache.ObjectName)) error {
	return watch(configMaps, secrets, add, func(object any) {
		add(keyOf(object))
	})
}
