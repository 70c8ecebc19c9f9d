// Package exercise answers "Get a pod, or learn that there is none". README.md has the task.
package exercise

import (
	corelisters "k8s.io/client-go/listers/core/v1"
)

// Image returns the image of the pod's first container. It returns "" if there is no such pod.
func Image(pods corelisters.PodLister, namespace, name string) (string, error) {
	// TODO: get the pod.
	return "", nil
}
