// Package exercise answers "One pod, many values". README.md has the task.
package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ByConfigMap returns the ConfigMaps that a pod uses, each as NAMESPACE/NAME.
func ByConfigMap(pod *corev1.Pod) ([]string, error) {
	var configMaps []string
	for _, volume := range pod.Spec.Volumes {
		if volume.ConfigMap != nil {
			configMaps = append(configMaps, pod.Namespace+"/"+volume.ConfigMap.Name)
		}
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, source := range container.EnvFrom {
			if source.ConfigMapRef != nil {
				configMaps = append(configMaps, pod.Namespace+"/"+source.ConfigMapRef.Name)
			}
		}
	}
	return configMaps, nil // the namespace keeps shop/settings and bank/settings apart
}
