package exercise

import (
	corelisters "k8s.io/client-go/listers/core/v1"
)

func Image(pods corelisters.PodLister, namespace, name string) (string, error) {
	pod, err := pods.Pods(namespace).Get(name)
	if err != nil {
		return "", err
	}
	return pod.Spec.Containers[0].Image, nil
}
