package rollout

import (
	"strings"
	"testing"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestConditions(t *testing.T) {
	complete := appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	empty, unobserved, oldPods := appsv1.DeploymentStatus{ObservedGeneration: 3}, complete, complete
	unobserved.ObservedGeneration = 2
	oldPods.UpdatedReplicas = 0
	incomplete := "False PodsNotReady: 1 of 1 replicas are ready; rollout not complete"
	rejected := `pods "db-1-x" is forbidden: violates PodSecurity "restricted"`
	with := func(conditionType appsv1.DeploymentConditionType, status corev1.ConditionStatus, message string) appsv1.DeploymentStatus {
		return appsv1.DeploymentStatus{ObservedGeneration: 3, Conditions: []appsv1.DeploymentCondition{
			{Type: conditionType, Status: status, Message: message},
		}}
	}
	for name, test := range map[string]struct {
		status             appsv1.DeploymentStatus
		replicas           int32
		cause              Cause
		ready, progressing string
	}{
		"complete":          {complete, 1, Cause{}, "True ReplicasReady: 1 of 1 replicas are ready", "False Complete"},
		"none desired":      {empty, 0, Cause{}, "True ScaledToZero: 0 of 0 replicas are ready", "False Complete"},
		"not observed yet":  {unobserved, 1, Cause{}, incomplete, "True RollingOut"},
		"an old pod runs":   {oldPods, 1, Cause{}, incomplete, "True RollingOut"},
		"more desired":      {complete, 2, Cause{}, "False PodsNotReady: 1 of 2 replicas are ready", "True RollingOut"},
		"no cause is known": {appsv1.DeploymentStatus{}, 1, Cause{}, "False PodsNotReady: 0 of 1 replicas are ready", "True RollingOut"},
		"the pods have a cause": {
			appsv1.DeploymentStatus{}, 1, Cause{"ImagePullBackOff", "the image a cannot be pulled"},
			"False ImagePullBackOff: 0 of 1 replicas are ready: the image a cannot be pulled", "True RollingOut",
		},
		"the cause is no reason": {
			appsv1.DeploymentStatus{}, 1, Cause{"not a word", "x"},
			"False PodsNotReady: 0 of 1 replicas are ready", "True RollingOut",
		},
		"no progress": {
			with(appsv1.DeploymentProgressing, corev1.ConditionFalse, ""), 1, Cause{},
			"False PodsNotReady: 0 of 1 replicas are ready", "False ProgressDeadlineExceeded",
		},
		"pods are rejected": {
			with(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, rejected), 1, Cause{},
			`False PodsRejected: 0 of 1 replicas are ready: violates PodSecurity "restricted"`, "True RollingOut",
		},
		"a webhook rejects the pods": {
			with(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, `admission webhook "x" denied the request: no`), 1, Cause{},
			`False PodsRejected: 0 of 1 replicas are ready: admission webhook "x" denied the request: no`, "True RollingOut",
		},
		"a quota is full": {
			with(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, `pods "db-1-x" is forbidden: exceeded quota: none`), 1, Cause{},
			"False QuotaExceeded: 0 of 1 replicas are ready: exceeded quota: none", "True RollingOut",
		},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Status: test.status}
			ready, progressing := Conditions(deployment, test.replicas, test.cause)
			if got := string(ready.Status) + " " + ready.Reason + ": " + ready.Message; got != test.ready {
				t.Errorf("Ready %s, want %s", got, test.ready)
			}
			if got := string(progressing.Status) + " " + progressing.Reason; got != test.progressing {
				t.Errorf("Progressing %s, want %s", got, test.progressing)
			}
		})
	}
}

func TestMessage(t *testing.T) {
	for text, want := range map[string]string{
		"one\ntwo": "one; two",
		"read tcp 127.0.0.1:40001->127.0.0.1:6443: reset": "read tcp 127.0.0.1:6443: reset",
		"\xff\xfe": "",
	} {
		if got := Message(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if long := Message(strings.Repeat("ü", 40_000)); len(long) > maxMessage || !utf8.ValidString(long) {
		t.Errorf("%d bytes, valid UTF-8: %v", len(long), utf8.ValidString(long))
	}
}
