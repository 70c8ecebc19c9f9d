package exercise

import (
	corelisters "k8s.io/client-go/listers/core/v1"
)

func Image(pods corelisters.PodLister, namespace, name string) (string, error) {
	pod, _ := pods.Pods(namespace).Get(name)
	return pod.Spec.Containers[0].Image, nil
}
