// pods.go: why pods do not become ready, from their own statuses.

package rollout

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cause is why a pod is not ready. The zero Cause means that the pod reports none: it may need more time.
type Cause struct {
	Reason  string // one word, such as ImagePullBackOff
	Message string // the same for as long as the cause is the same: without times, counts and names of pods
}

// CauseOf returns why pods are not ready: of several different causes, the first in order of reason and message. A pod that
// has failed as a whole comes last: it may stay for days beside the one that has taken its place.
func CauseOf(pods ...*corev1.Pod) (first Cause) {
	for _, pod := range pods {
		if cause := causeOfPod(pod); cause != (Cause{}) && (first == Cause{} || compare(cause, first) < 0) {
			first = cause
		}
	}
	return first
}

func compare(a, b Cause) int {
	switch {
	case a.Message == podFailed && b.Message != podFailed:
		return 1
	case b.Message == podFailed && a.Message != podFailed:
		return -1
	}
	return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
}

const podFailed = "a pod has failed, and another one takes its place"

func causeOfPod(pod *corev1.Pod) Cause {
	if pod.DeletionTimestamp != nil {
		return Cause{}
	}
	if pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "" {
		return Cause{pod.Status.Reason, podFailed} // such as Evicted
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse &&
			condition.Reason == corev1.PodReasonUnschedulable {
			return Cause{corev1.PodReasonUnschedulable, unschedulable(condition.Message)}
		}
	}
	for _, container := range slices.Concat(notSucceeded(pod.Status.InitContainerStatuses), pod.Status.ContainerStatuses) {
		if cause := causeOfContainer(container); cause != (Cause{}) {
			return cause
		}
	}
	return Cause{}
}

// notSucceeded returns the init containers that have not succeeded: they are to end, unlike the others.
func notSucceeded(containers []corev1.ContainerStatus) []corev1.ContainerStatus {
	return slices.DeleteFunc(slices.Clone(containers), func(container corev1.ContainerStatus) bool {
		ended := endOf(container)
		return ended != nil && ended.ExitCode == 0
	})
}

// endOf returns how a container has ended, perhaps before it was started again; nil if it has not.
func endOf(container corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	return cmp.Or(container.State.Terminated, container.LastTerminationState.Terminated)
}

// causeOfContainer gives one name to states that alternate: a kubelet reports ErrImagePull at each attempt and ImagePullBackOff between
// them, and a container that ends again and again, with whatever exit code, is waiting, running and terminated in turn.
func causeOfContainer(container corev1.ContainerStatus) Cause {
	ended, waiting := endOf(container), container.State.Waiting
	switch {
	case container.Ready:
		return Cause{}
	case waiting != nil && (waiting.Reason == "ErrImagePull" || waiting.Reason == "ImagePullBackOff"):
		return Cause{"ImagePullBackOff", fmt.Sprintf("the image %s cannot be pulled", container.Image)}
	case ended != nil:
		return Cause{"CrashLoopBackOff", fmt.Sprintf("the container %s ends with exit code %d (%s)",
			container.Name, ended.ExitCode, cmp.Or(ended.Reason, "Error"))}
	case waiting != nil && waiting.Reason != "" && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing":
		return Cause{waiting.Reason, fmt.Sprintf("the container %s cannot be started", container.Name)}
	}
	return Cause{}
}

var counts = regexp.MustCompile(`^\d+(/\d+)? `)

// unschedulable takes the numbers of nodes out of a message such as "0/4 nodes are available: 1 node(s) were
// unschedulable, 3 Insufficient memory. preemption: …": they change with every node and every pod of the cluster.
func unschedulable(message string) string {
	message, _, _ = strings.Cut(message, ". ") // the rest is about preemption
	before, list, found := strings.Cut(strings.TrimSuffix(message, "."), ": ")
	if !found {
		return message
	}
	reasons := strings.Split(list, ", ")
	for i, reason := range reasons {
		reasons[i] = counts.ReplaceAllString(reason, "")
	}
	slices.Sort(reasons)
	before = strings.Replace(counts.ReplaceAllString(before, ""), "nodes are", "node is", 1)
	return "no " + before + ": " + strings.Join(slices.Compact(reasons), ", ")
}

// StripPod is a transform for an informer of pods: whole pods would be the largest part of a controller's stores. It
// keeps of a pod only some metadata, and the part of its status that CauseOf reads.
func StripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil // a tombstone
	}
	status := corev1.PodStatus{
		Phase:                 pod.Status.Phase,
		Reason:                pod.Status.Reason,
		InitContainerStatuses: keepContainers(pod.Status.InitContainerStatuses),
		ContainerStatuses:     keepContainers(pod.Status.ContainerStatuses),
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			status.Conditions = append(status.Conditions, condition)
		}
	}
	*pod = corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			Labels: pod.Labels, DeletionTimestamp: pod.DeletionTimestamp,
		},
		Status: status,
	}
	return pod, nil
}

func keepContainers(statuses []corev1.ContainerStatus) (kept []corev1.ContainerStatus) {
	for _, s := range statuses {
		kept = append(kept, corev1.ContainerStatus{
			Name: s.Name, Image: s.Image, Ready: s.Ready, State: s.State, LastTerminationState: s.LastTerminationState,
		})
	}
	return kept
}
