package exercise

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// ReturnsTheFirstValueOnly returns when it has found one.
func ReturnsTheFirstValueOnly(pod *corev1.Pod) ([]string, error) {
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
	if len(configMaps) > 1 {
		configMaps = configMaps[:1]
	}
	return configMaps, nil
}

// JoinsTheValues returns one value, with all names in it.
func JoinsTheValues(pod *corev1.Pod) ([]string, error) {
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
	return []string{strings.Join(configMaps, ",")}, nil
}

// LeavesTheNamespaceOut returns names, which are not unique.
func LeavesTheNamespaceOut(pod *corev1.Pod) ([]string, error) {
	var configMaps []string
	for _, volume := range pod.Spec.Volumes {
		if volume.ConfigMap != nil {
			configMaps = append(configMaps, volume.ConfigMap.Name)
		}
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, source := range container.EnvFrom {
			if source.ConfigMapRef != nil {
				configMaps = append(configMaps, source.ConfigMapRef.Name)
			}
		}
	}
	return configMaps, nil
}

// FailsForAPodWithoutConfigMaps returns an error for a pod that uses none, which ends the program.
func FailsForAPodWithoutConfigMaps(pod *corev1.Pod) ([]string, error) {
	configMaps, _ := ByConfigMap(pod)
	if len(configMaps) == 0 {
		return nil, fmt.Errorf("pod %s uses no ConfigMap", pod.Name)
	}
	return configMaps, nil
}

// ReturnsEarlyWithoutVolumes takes a pod without volumes for one without ConfigMaps.
func ReturnsEarlyWithoutVolumes(pod *corev1.Pod) ([]string, error) {
	if len(pod.Spec.Volumes) == 0 {
		return nil, nil
	}
	return ByConfigMap(pod)
}

// AppendsToASliceOfTheStore puts the containers behind the init containers, into the array of the store's slice where that has room.
func AppendsToASliceOfTheStore(pod *corev1.Pod) ([]string, error) {
	other := *pod
	other.Spec.Containers, other.Spec.InitContainers = append(pod.Spec.InitContainers, pod.Spec.Containers...), nil
	return ByConfigMap(&other)
}
