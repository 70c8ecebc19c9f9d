package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
