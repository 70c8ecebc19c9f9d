// Package exercise answers "Change a pod, but not the one in the store". README.md has the task.
package exercise

import (
	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// Prepare returns the pod with another image in its first container and the label reviewed: "true".
func Prepare(pods corelisters.PodLister, namespace, name, image string) (*corev1.Pod, error) {
	pod, err := pods.Pods(namespace).Get(name)
	if err != nil {
		return nil, err
	}
	// TODO: change the image and the label.
	return pod, nil
}
