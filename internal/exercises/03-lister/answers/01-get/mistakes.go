package exercise

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// ReadsTheWholeStore goes through all pods for one.
func ReadsTheWholeStore(pods corelisters.PodLister, namespace, name string) (string, error) {
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

var images = map[string]string{}

// KeepsWhatItHasRead has a store of its own, which nobody updates.
func KeepsWhatItHasRead(pods corelisters.PodLister, namespace, name string) (string, error) {
	if image := images[namespace+"/"+name]; image != "" {
		return image, nil
	}
	pod, err := pods.Pods(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	images[namespace+"/"+name] = pod.Spec.Containers[0].Image
	return images[namespace+"/"+name], nil
}

// TriesAgain asks three times. A store does not change its mind in between, and the worker's queue does the retries.
func TriesAgain(pods corelisters.PodLister, namespace, name string) (image string, err error) {
	for range 3 {
		if image, err = Image(pods, namespace, name); err == nil {
			break
		}
	}
	return image, err
}

// TakesGoneForNotFound takes an error that sounds alike for NotFound.
func TakesGoneForNotFound(pods corelisters.PodLister, namespace, name string) (string, error) {
	pod, err := pods.Pods(namespace).Get(name)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsGone(err):
		return "", nil
	case err != nil:
		return "", err
	}
	return pod.Spec.Containers[0].Image, nil
}

// TakesTheImageFromTheStatus takes the first status for that of the first container.
func TakesTheImageFromTheStatus(pods corelisters.PodLister, namespace, name string) (string, error) {
	pod, err := pods.Pods(namespace).Get(name)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", err
	case len(pod.Status.ContainerStatuses) > 0:
		return pod.Status.ContainerStatuses[0].Image, nil
	}
	return pod.Spec.Containers[0].Image, nil
}
