package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

// TestClusterIsLate has a timeout of 30 s, at whose end a Deployment has this state.
func TestClusterIsLate(t *testing.T) {
	for name, test := range map[string]struct {
		observed    int64         // of generation 2
		spec        time.Duration // how long ago it was written
		status      time.Duration // and the status, by the cluster's controller; 0: never
		isRewritten bool          // in the next second, by the controller under test
		wantIsLate  bool
	}{
		"its generation was looked at soon":            {observed: 2, spec: 29 * time.Second, status: 28 * time.Second},
		"not yet":                                      {observed: 1, spec: 29 * time.Second, status: 28 * time.Second, wantIsLate: true},
		"not yet, and the status was never written":    {spec: 29 * time.Second, wantIsLate: true},
		"late, a moment ago":                           {observed: 2, spec: 29 * time.Second, status: 5 * time.Second, wantIsLate: true},
		"late, but long ago":                           {observed: 2, spec: 29 * time.Second, status: 15 * time.Second},
		"soon, a moment ago":                           {observed: 2, spec: 6 * time.Second, status: 5 * time.Second},
		"not yet, and it is written all the time":      {observed: 1, spec: 29 * time.Second, isRewritten: true},
		"late, a moment ago, and written all the time": {observed: 2, spec: 29 * time.Second, status: 5 * time.Second, isRewritten: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := func(ago time.Duration) *metav1.Time { return &metav1.Time{Time: time.Now().Add(-ago)} }
				d := &appsv1.Deployment{
					ObjectMeta: metav1.ObjectMeta{
						Namespace: "test", Name: "db", UID: "1", Generation: 2,
						ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "the tried one", Time: at(test.spec)}},
					},
					Status: appsv1.DeploymentStatus{ObservedGeneration: test.observed},
				}
				if test.status > 0 {
					d.ManagedFields = append(d.ManagedFields, metav1.ManagedFieldsEntry{
						Manager: "kube-controller-manager", Subresource: "status", Time: at(test.status),
					})
				}
				client := fake.NewClientset(d)
				w := &World{namespace: "test", client: client, options: options{resource: &Resource{}}}
				if test.isRewritten {
					time.AfterFunc(500*time.Millisecond, func() {
						next := d.DeepCopy()
						next.Generation++
						_, err := client.AppsV1().Deployments("test").Update(context.Background(), next, metav1.UpdateOptions{})
						if err != nil {
							t.Error(err)
						}
					})
				}
				isLate, err := w.clusterIsLate(t.Context(), 30*time.Second)
				if err != nil || isLate != test.wantIsLate {
					t.Errorf("%t, %v, want %t", isLate, err, test.wantIsLate)
				}
			})
		})
	}
}

// TestPodsAreLate has a Deployment at whose generation the cluster has looked, with one ReplicaSet and one pod.
func TestPodsAreLate(t *testing.T) {
	pending := func(scheduled corev1.ConditionStatus, reasons ...string) corev1.PodStatus {
		status := corev1.PodStatus{
			Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: scheduled}},
		}
		for _, reason := range reasons {
			waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
			status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{State: waiting})
		}
		return status
	}
	ready := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: "True"}}}
	for name, test := range map[string]struct {
		pod           corev1.PodStatus
		observed      int64 // of the ReplicaSet's generation 1
		counted, told int32 // ready pods in the status of the ReplicaSet, and in the Deployment's
		isDeleted     bool  // the pod
		wantIsLate    bool
	}{
		"all is done":                    {pod: ready, observed: 1, counted: 1, told: 1},
		"nobody has looked at the set":   {pod: ready, counted: 1, told: 1, wantIsLate: true},
		"nobody has looked at the pod":   {pod: corev1.PodStatus{Phase: corev1.PodPending}, observed: 1, wantIsLate: true},
		"no kubelet has looked at it":    {pod: pending("True"), observed: 1, wantIsLate: true},
		"a kubelet pulls its image":      {pod: pending("True", "ContainerCreating"), observed: 1, wantIsLate: true},
		"an init container of it runs":   {pod: pending("True", "PodInitializing"), observed: 1, wantIsLate: true},
		"there is no such image":         {pod: pending("True", "ErrImagePull"), observed: 1},
		"no node is right for it":        {pod: pending("False"), observed: 1},
		"the ReplicaSet has not counted": {pod: ready, observed: 1, wantIsLate: true},
		"the Deployment has not counted": {pod: ready, observed: 1, counted: 1, wantIsLate: true},
		"nobody counts what is deleted":  {pod: ready, observed: 1, isDeleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				meta := func(uid, owner types.UID) metav1.ObjectMeta {
					m := metav1.ObjectMeta{Namespace: "test", Name: "db-" + string(uid), UID: uid, Generation: 1}
					if owner != "" {
						m.OwnerReferences = []metav1.OwnerReference{{UID: owner, Controller: new(true)}}
					}
					return m
				}
				pod := &corev1.Pod{ObjectMeta: meta("pod", "set"), Status: test.pod}
				if test.isDeleted {
					pod.DeletionTimestamp = &metav1.Time{Time: time.Now()}
				}
				client := fake.NewClientset(pod,
					&appsv1.ReplicaSet{ObjectMeta: meta("set", "deployment"),
						Status: appsv1.ReplicaSetStatus{ObservedGeneration: test.observed, ReadyReplicas: test.counted}},
					&appsv1.Deployment{ObjectMeta: meta("deployment", ""),
						Status: appsv1.DeploymentStatus{ObservedGeneration: 1, ReadyReplicas: test.told}})
				w := &World{namespace: "test", client: client, options: options{resource: &Resource{}}}
				isLate, err := w.clusterIsLate(t.Context(), 30*time.Second)
				if err != nil || isLate != test.wantIsLate {
					t.Errorf("%t, %v, want %t", isLate, err, test.wantIsLate)
				}
			})
		})
	}
}
