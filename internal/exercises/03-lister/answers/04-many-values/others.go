package exercise

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// CollectsASet collects the values in a set, so each is there once.
func CollectsASet(pod *corev1.Pod) ([]string, error) {
	values := sets.New[string]()
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			for _, from := range containers[i].EnvFrom {
				if ref := from.ConfigMapRef; ref != nil {
					values.Insert(pod.Namespace + "/" + ref.Name)
				}
			}
		}
	}
	for _, v := range pod.Spec.Volumes {
		if v.VolumeSource.ConfigMap == nil {
			continue
		}
		values.Insert(pod.Namespace + "/" + v.ConfigMap.Name)
	}
	return values.UnsortedList(), nil
}
