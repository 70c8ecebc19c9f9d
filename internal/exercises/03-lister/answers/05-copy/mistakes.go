package exercise

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// CopiesTheLabelsOnly shares the containers with the store's pod.
func CopiesTheLabelsOnly(pods corelisters.PodLister, namespace, name, image string) (*corev1.Pod, error) {
	pod, err := pods.Pods(namespace).Get(name)
	if err != nil {
		return nil, err
	}
	other := *pod
	other.Labels = maps.Clone(pod.Labels)
	return change(&other, image), nil
}

// MakesANewPod takes over what it knows, and loses the rest.
func MakesANewPod(pods corelisters.PodLister, namespace, name, image string) (*corev1.Pod, error) {
	stored, err := pods.Pods(namespace).Get(name)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: maps.Clone(stored.Labels)}}
	pod.ResourceVersion, pod.UID = stored.ResourceVersion, stored.UID
	pod.Spec = *stored.Spec.DeepCopy()
	return change(pod, image), nil
}

// LeavesALabelThatIsThere sets the label only if the pod does not have it, whatever its value.
func LeavesALabelThatIsThere(pods corelisters.PodLister, namespace, name, image string) (*corev1.Pod, error) {
	pod, err := pods.Pods(namespace).Get(name)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{"reviewed": "true"}
	maps.Copy(labels, pod.Labels)
	pod = change(pod.DeepCopy(), image)
	pod.Labels = labels
	return pod, nil
}

func change(pod *corev1.Pod, image string) *corev1.Pod {
	pod.Spec.Containers[0].Image = image
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels["reviewed"] = "true"
	return pod
}

// MakesAMapInTheStore gives a pod without labels an empty map before it makes the copy.
func MakesAMapInTheStore(pods corelisters.PodLister, namespace, name, image string) (*corev1.Pod, error) {
	pod, err := pods.Pods(namespace).Get(name)
	if err != nil {
		return nil, err
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	return change(pod.DeepCopy(), image), nil
}
