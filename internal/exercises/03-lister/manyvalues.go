package lister

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/podstore"
)

type manyValuesAnswer = func(pod *corev1.Pod) ([]string, error)

// ManyValues grades the answers to "One pod, many values".
var ManyValues = grade.Exercise[manyValuesAnswer]{Grade: gradeByConfigMap}

const configMapIndex = "configMap"

func gradeByConfigMap(t *grade.T, byConfigMap manyValuesAnswer) {
	store := podstore.New()
	indexer := func(pod *corev1.Pod) ([]string, error) {
		values, err := byConfigMap(pod)
		if err != nil {
			t.Reject(fmt.Sprintf("no error for pod %s/%s: the store would panic", pod.Namespace, pod.Name), err.Error(),
				`"Index functions" in the chapter's README`)
		}
		return values, nil
	}
	if err := store.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{configMapIndex: indexer}); err != nil {
		t.Fatal(err)
	}

	// Each pod uses some ConfigMaps. Both namespaces have ConfigMaps of these names.
	want := map[string]map[string]string{} // by ConfigMap and pod: where the pod uses it
	var pods []any
	for number, namespace := range []string{"shop", "bank", "shop", "bank"} {
		pod := emptyPod(namespace, fmt.Sprintf("web-%d", number))
		// The state of a pod does not count.
		pod.Status.Phase = []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed, corev1.PodRunning, corev1.PodPending}[number]
		if number%2 == 0 {
			pod.DeletionTimestamp = new(metav1.Now())
		}
		configMaps := t.Rand.Perm(100)
		use := func(where string) string {
			name := fmt.Sprintf("settings-%d", configMaps[0])
			configMaps = configMaps[1:]
			key := namespace + "/" + name
			if want[key] == nil {
				want[key] = map[string]string{}
			}
			want[key][namespace+"/"+pod.Name] = where
			return name
		}
		pod.Spec.Volumes = []corev1.Volume{configMapVolume(use(inOptional)), otherVolume(t), configMapVolume(use(inVolume))}
		pod.Spec.Volumes[0].ConfigMap.Optional = new(true)
		for range 2 {
			name := use(inContainer)
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{EnvFrom: configMapEnv(name, use(inContainer))})
			name = use(inInit)
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{EnvFrom: configMapEnv(name, use(inInit))})
		}
		pod.Spec.InitContainers[1].RestartPolicy = new(corev1.ContainerRestartPolicyAlways) // a sidecar
		pods = append(pods, pod)
	}
	// These use ConfigMaps in one place only.
	for number, where := range []string{inVolume, inContainer, inInit} {
		pod := emptyPod("shop", fmt.Sprintf("only-%d", number))
		name, second := fmt.Sprintf("only-%d", t.Rand.IntN(100)), fmt.Sprintf("only-%d", 100+t.Rand.IntN(100))
		switch where {
		case inVolume:
			pod.Spec.Volumes = []corev1.Volume{configMapVolume(name), configMapVolume(second)}
		case inContainer:
			pod.Spec.Containers = []corev1.Container{{EnvFrom: configMapEnv(name, second)}}
		case inInit:
			pod.Spec.InitContainers = []corev1.Container{{EnvFrom: configMapEnv(name, second)}}
		}
		for _, name := range []string{name, second} {
			if want["shop/"+name] == nil {
				want["shop/"+name] = map[string]string{}
			}
			want["shop/"+name]["shop/"+pod.Name] = where
		}
		pods = append(pods, pod)
	}
	none := emptyPod("shop", "none")
	none.Spec.Volumes = []corev1.Volume{otherVolume(t)}
	none.Spec.Containers = []corev1.Container{{Name: "a"}}
	pods = append(pods, none)
	for _, pod := range pods {
		grade.Room(pod.(*corev1.Pod))
	}
	unchanged := t.Unchanged(pods...)
	for _, pod := range pods {
		if err := store.Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	checkConfigMapIndex(t, store, want)

	// A pod is replaced by one of the same name, which uses one ConfigMap of the first one and one of another pod.
	old := pods[0].(*corev1.Pod)
	kept, settings := old.Spec.Volumes[2].ConfigMap.Name, pods[2].(*corev1.Pod).Spec.Volumes[0].ConfigMap.Name
	for _, users := range want {
		delete(users, "shop/"+old.Name)
	}
	replaced := emptyPod("shop", old.Name)
	replaced.Spec.Volumes = []corev1.Volume{configMapVolume(kept)}
	replaced.Spec.InitContainers = []corev1.Container{{EnvFrom: configMapEnv(settings, kept)}}
	want["shop/"+kept]["shop/"+old.Name], want["shop/"+settings]["shop/"+old.Name] = inVolume, inInit
	if err := store.Update(replaced); err != nil {
		t.Fatal(err)
	}
	checkConfigMapIndex(t, store, want)
	unchanged()
}

const (
	inVolume    = "a volume"
	inOptional  = "a volume, which is optional"
	inContainer = "a container's envFrom"
	inInit      = "an init container's envFrom"
)

// checkConfigMapIndex compares the index with the ConfigMaps that are used.
func checkConfigMapIndex(t *grade.T, store *podstore.Store, want map[string]map[string]string) {
	t.Helper()
	const look = `"Index functions" in the chapter's README`
	for _, configMap := range slices.Sorted(maps.Keys(want)) {
		users := want[configMap]
		found, err := store.Indexer.IndexKeys(configMapIndex, configMap)
		if err != nil {
			t.Fatal(err)
		}
		for pod, where := range users {
			if !slices.Contains(found, pod) {
				t.Reject(fmt.Sprintf("the index finds pod %s under %s: the pod uses it in %s", pod, configMap, where),
					fmt.Sprintf("under %s it finds %q; the pod is under %s", configMap, found, under(store, pod)), look)
			}
		}
		for _, pod := range found {
			if users[pod] == "" {
				t.Reject(fmt.Sprintf("the index does not find pod %s under %s: the pod does not use it", pod, configMap),
					fmt.Sprintf("under %s it finds %q", configMap, found), look)
			}
		}
	}
	for _, value := range store.Indexer.ListIndexFuncValues(configMapIndex) {
		if want[value] == nil {
			t.Reject("entries of ConfigMaps that a pod uses", fmt.Sprintf("the entry %q", value), "the values that you return")
		}
	}
}

// under returns the values under which the index has a pod.
func under(store *podstore.Store, pod string) string {
	var values []string
	for _, value := range store.Indexer.ListIndexFuncValues(configMapIndex) {
		if keys, err := store.Indexer.IndexKeys(configMapIndex, value); err == nil && slices.Contains(keys, pod) {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	if len(values) == 0 {
		return "no value"
	}
	return fmt.Sprintf("%.50q (1 of %d)", values[0], len(values))
}

func emptyPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// configMapVolume is a volume with a ConfigMap. Its own name is another one.
func configMapVolume(configMap string) corev1.Volume {
	source := corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Optional: new(false)}
	return corev1.Volume{Name: "volume-of-" + configMap, VolumeSource: corev1.VolumeSource{ConfigMap: &source}}
}

// otherVolume is a volume of another kind.
func otherVolume(t *grade.T) corev1.Volume {
	if t.Rand.IntN(2) == 0 {
		return corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	}
	secret := &corev1.SecretVolumeSource{SecretName: "password"}
	return corev1.Volume{Name: "key", VolumeSource: corev1.VolumeSource{Secret: secret}}
}

// configMapEnv has two ConfigMaps, the first of which is optional, and a Secret between them.
func configMapEnv(first, second string) []corev1.EnvFromSource {
	source := func(configMap string) corev1.EnvFromSource {
		ref := &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}
		return corev1.EnvFromSource{ConfigMapRef: ref}
	}
	secret := &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "password"}}
	sources := []corev1.EnvFromSource{source(first), {SecretRef: secret}, source(second)}
	sources[0].ConfigMapRef.Optional, sources[2].Prefix = new(true), "SHOP_"
	return sources
}
