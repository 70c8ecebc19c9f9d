package exercise

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// CollectsASet collects the values in a map, so each is there once.
func CollectsASet(pod *corev1.Pod) ([]string, error) {
	values := map[string]bool{}
	add := func(name string) { values[pod.Namespace+"/"+name] = true }
	environment := func(containers []corev1.Container) {
		for i := range containers {
			for _, from := range containers[i].EnvFrom {
				if ref := from.ConfigMapRef; ref != nil {
					add(ref.Name)
				}
			}
		}
	}
	environment(pod.Spec.Containers)
	environment(pod.Spec.InitContainers)
	for _, v := range pod.Spec.Volumes {
		if v.VolumeSource.ConfigMap == nil {
			continue
		}
		add(v.ConfigMap.Name)
	}
	return slices.Collect(maps.Keys(values)), nil
}
