package rollout

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "back-off 40s, attempt 4"}}
}

func terminated(code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
}

func TestCauseOf(t *testing.T) {
	container := func(state, last corev1.ContainerState, restarts int32) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "mysql", Image: "mysql:0.0.1", State: state, LastTerminationState: last, RestartCount: restarts},
		}}}
	}
	unscheduled := func(message string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message},
		}}}
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ready := container(running, terminated(1, "Error"), 3)
	ready.Status.ContainerStatuses[0].Ready = true
	deleted := container(waiting("ErrImagePull"), corev1.ContainerState{}, 0)
	deleted.DeletionTimestamp = &metav1.Time{}
	none := corev1.ContainerState{}
	pull := Cause{"ImagePullBackOff", "the image mysql:0.0.1 cannot be pulled"}
	crash := Cause{"CrashLoopBackOff", "the container mysql ends with exit code 1 (Error)"}
	killed := Cause{"CrashLoopBackOff", "the container mysql ends with exit code 137 (OOMKilled)"}
	config := Cause{"CreateContainerConfigError", "the container mysql cannot be started"}
	completed := Cause{"CrashLoopBackOff", "the container mysql ends with exit code 0 (Completed)"}
	evictedPod := container(terminated(137, "Error"), none, 0)
	evictedPod.Status.Phase, evictedPod.Status.Reason = corev1.PodFailed, "Evicted"
	evicted := Cause{"Evicted", "a pod has failed, and another one takes its place"}
	initializing := func(state, last corev1.ContainerState) *corev1.Pod {
		pod := container(waiting("PodInitializing"), none, 0)
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "mysql", State: state, LastTerminationState: last}}
		return pod
	}
	failing := container(waiting("ErrImagePull"), none, 0)
	crashing := container(running, terminated(1, "Error"), 2)
	full := "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 Insufficient memory. " +
		"preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
	fuller := "0/9 nodes are available: 3 node(s) had untolerated taint(s), 6 Insufficient memory. " +
		"no new claims to deallocate, preemption: 0/9 nodes"
	memory := Cause{"Unschedulable", "no node is available: Insufficient memory, node(s) had untolerated taint(s)"}

	for name, test := range map[string]struct {
		pods []*corev1.Pod
		want Cause
	}{
		"none":                         {nil, Cause{}},
		"being created":                {[]*corev1.Pod{container(waiting("ContainerCreating"), none, 0)}, Cause{}},
		"running, not ready yet":       {[]*corev1.Pod{container(running, none, 0)}, Cause{}},
		"the image, at an attempt":     {[]*corev1.Pod{container(waiting("ErrImagePull"), none, 0)}, pull},
		"the image, between attempts":  {[]*corev1.Pod{container(waiting("ImagePullBackOff"), none, 0)}, pull},
		"a crash, just now":            {[]*corev1.Pod{container(terminated(1, "Error"), none, 0)}, crash},
		"crashes, between attempts":    {[]*corev1.Pod{container(waiting("CrashLoopBackOff"), terminated(1, "Error"), 1)}, crash},
		"crashes, at an attempt":       {[]*corev1.Pod{container(running, terminated(1, "Error"), 2)}, crash},
		"too much memory":              {[]*corev1.Pod{container(running, terminated(137, "OOMKilled"), 1)}, killed},
		"ready again after a crash":    {[]*corev1.Pod{ready}, Cause{}},
		"being deleted":                {[]*corev1.Pod{deleted}, Cause{}},
		"a missing key of a Secret":    {[]*corev1.Pod{container(waiting("CreateContainerConfigError"), none, 0)}, config},
		"no node":                      {[]*corev1.Pod{unscheduled(full)}, memory},
		"no node, with other numbers":  {[]*corev1.Pod{unscheduled(fuller)}, memory},
		"an unknown message":           {[]*corev1.Pod{unscheduled("no nodes")}, Cause{"Unschedulable", "no nodes"}},
		"ends with 0, just now":        {[]*corev1.Pod{container(terminated(0, "Completed"), none, 0)}, completed},
		"ends with 0, between starts":  {[]*corev1.Pod{container(waiting("CrashLoopBackOff"), terminated(0, "Completed"), 1)}, completed},
		"ends with 0, started again":   {[]*corev1.Pod{container(running, terminated(0, "Completed"), 2)}, completed},
		"an init container succeeded":  {[]*corev1.Pod{initializing(terminated(0, "Completed"), none)}, Cause{}},
		"one that had failed before":   {[]*corev1.Pod{initializing(terminated(0, "Completed"), terminated(1, "Error"))}, Cause{}},
		"an init container fails":      {[]*corev1.Pod{initializing(waiting("CrashLoopBackOff"), terminated(1, "Error"))}, crash},
		"evicted":                      {[]*corev1.Pod{evictedPod}, evicted},
		"evicted, and the next starts": {[]*corev1.Pod{evictedPod, container(waiting("ContainerCreating"), none, 0)}, evicted},
		"evicted, and no node":         {[]*corev1.Pod{evictedPod, unscheduled(full)}, memory},
		"no image, and evicted before": {[]*corev1.Pod{failing, evictedPod}, pull},
		"two causes":                   {[]*corev1.Pod{failing, crashing}, crash},
		"two causes, in another order": {[]*corev1.Pod{crashing, failing}, crash},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CauseOf(test.pods...); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			for _, pod := range test.pods {
				for range 2 { // a watch that is a list transforms objects twice
					if kept, err := StripPod(pod); kept != pod || err != nil {
						t.Errorf("StripPod: %v, %v", kept, err)
					}
				}
			}
			if got := CauseOf(test.pods...); got != test.want {
				t.Errorf("after StripPod: got %+v, want %+v", got, test.want)
			}
		})
	}
}
