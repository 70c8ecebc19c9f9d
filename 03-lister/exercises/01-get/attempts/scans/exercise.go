package exercise

import (
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
)

func Image(pods corelisters.PodLister, namespace, name string) (string, error) {
	all, err := pods.List(labels.Everything())
	if err != nil {
		return "", err
	}
	for _, pod := range all {
		if pod.Namespace == namespace && pod.Name == name {
			return pod.Spec.Containers[0].Image, nil
		}
	}
	return "", nil
}
