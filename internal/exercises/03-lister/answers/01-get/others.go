package exercise

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// ComparesTheReason compares the reason of the error.
func ComparesTheReason(pods corelisters.PodLister, namespace, name string) (string, error) {
	pod, err := pods.Pods(namespace).Get(name)
	if err == nil {
		return pod.Spec.Containers[0].Image, nil
	}
	if apierrors.ReasonForError(err) == metav1.StatusReasonNotFound {
		err = nil
	}
	return "", err
}
