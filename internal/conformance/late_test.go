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
		observed   int64         // of generation 2
		statusAge  time.Duration // since the cluster's controller has written it
		isWritten  bool          // by the controller under test, in the next second
		wantIsLate bool
	}{
		"its generation was looked at long ago":            {observed: 2, statusAge: 20 * time.Second},
		"not yet":                                          {observed: 1, statusAge: 20 * time.Second, wantIsLate: true},
		"a moment ago":                                     {observed: 2, statusAge: 5 * time.Second, wantIsLate: true},
		"not yet, and it is written all the time":          {observed: 1, statusAge: 5 * time.Second, isWritten: true},
		"a moment ago, and it is written all the time":     {observed: 2, statusAge: 5 * time.Second, isWritten: true},
		"long ago, and it is written all the time":         {observed: 2, statusAge: 20 * time.Second, isWritten: true},
		"not yet, and the status was never written at all": {statusAge: time.Hour, wantIsLate: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				written := metav1.NewTime(time.Now())
				d := &appsv1.Deployment{
					ObjectMeta: metav1.ObjectMeta{
						Namespace: "test", Name: "db", UID: "1", Generation: 2,
						ManagedFields: []metav1.ManagedFieldsEntry{{Subresource: "status", Time: &written}},
					},
					Status: appsv1.DeploymentStatus{ObservedGeneration: test.observed},
				}
				time.Sleep(test.statusAge) // of the bubble's clock
				client := fake.NewClientset(d)
				w := &World{namespace: "test", client: client, options: options{resource: &Resource{}}}
				if test.isWritten {
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
