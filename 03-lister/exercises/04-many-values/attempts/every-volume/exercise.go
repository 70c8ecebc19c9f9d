package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

func ByConfigMap(pod *corev1.Pod) ([]string, error) {
	var configMaps []string
	for _, volume := range pod.Spec.Volumes {
		configMaps = append(configMaps, pod.Namespace+"/"+volume.ConfigMap.Name)
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, source := range container.EnvFrom {
			if source.ConfigMapRef != nil {
				configMaps = append(configMaps, pod.Namespace+"/"+source.ConfigMapRef.Name)
			}
		}
	}
	return configMaps, nil
}
