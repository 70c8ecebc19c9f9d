package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/testcluster"
)

// TestRights runs the controller as a user who may do what rbac.yaml says, and nothing else.
func TestRights(t *testing.T) {
	w := newWorld(t)
	config, check := testcluster.AsRole(t, w.config, w.namespace, "rbac.yaml")
	_, stop := w.run(config, func(s *settings) { s.leaderElect, s.leaseDuration = true, 3*time.Second })
	w.make("example", func(s *dbv1alpha1.DatabaseManagerSpec) {
		s.StorageSize, s.DeletionPolicy = new(resource.MustParse("1Gi")), dbv1alpha1.DeletionPolicyRetain
	})
	scale := func(replicas, reason string) {
		t.Helper()
		patch := []byte(`{"spec": {"replicas": ` + replicas + `}}`)
		got(w.databases.Patch(t.Context(), "example", types.MergePatchType, patch, metav1.PatchOptions{}))(w)
		w.untilReady("example", reason)
	}
	w.untilReady("example", corev1.PodReasonUnschedulable) // there is no volume
	scale("0", reasonScaledToZero)
	scale("1", corev1.PodReasonUnschedulable)             // the second event of this kind, an update of the first
	for _, policy := range []string{"Delete", "Retain"} { // the children get owner references, and lose them again
		patch := []byte(`{"spec": {"deletionPolicy": "` + policy + `"}}`)
		got(w.databases.Patch(t.Context(), "example", types.MergePatchType, patch, metav1.PatchOptions{}))(w)
		w.untilReady("example", corev1.PodReasonUnschedulable)
	}
	until(w, "an event that counts two", func(ctx context.Context) (*corev1.EventList, error) {
		return w.client.CoreV1().Events(w.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + corev1.PodReasonUnschedulable})
	}, func(events *corev1.EventList) bool { return len(events.Items) == 1 && events.Items[0].Count == 2 })

	// Changes that an apply cannot undo.
	got(w.client.AppsV1().Deployments(w.namespace).Patch(t.Context(), "db", types.MergePatchType, []byte(`{"spec": {"strategy": {"type": "RollingUpdate"}}}`), metav1.PatchOptions{}))(w)
	got(w.client.CoreV1().Services(w.namespace).Patch(t.Context(), "db", types.MergePatchType, []byte(`{"spec": {"ports": [{"port": 1}]}}`), metav1.PatchOptions{}))(w)
	until(w, "the Deployment is as it was", get(w.client.AppsV1().Deployments(w.namespace).Get, "db"), func(d *appsv1.Deployment) bool { return d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType })
	until(w, "the Service is as it was", get(w.client.CoreV1().Services(w.namespace).Get, "db"), func(s *corev1.Service) bool { return s.Spec.Ports[0].Port == port })

	if err := w.databases.Delete(t.Context(), "example", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	untilGone(w, "the DatabaseManager", w.databases.Get, "example")
	lease := get(w.client.CoordinationV1().Leases(w.namespace).Get, leaseName)
	before := got(lease(t.Context()))(w).Spec.RenewTime
	until(w, "the lease is renewed", lease, func(now *coordinationv1.Lease) bool { return now.Spec.RenewTime.After(before.Time) })
	stop()
	check()
}

// TestRightMissing shows that the controller ends without the right to one of its kinds, where client-go would go on
// asking.
func TestRightMissing(t *testing.T) {
	w := newWorld(t)
	manifest, err := os.ReadFile("rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	without := filepath.Join(t.TempDir(), "rbac.yaml")
	if err := os.WriteFile(without, []byte(strings.Replace(string(manifest), "services, ", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	config, _ := testcluster.AsRole(t, w.config, w.namespace, without)
	err = run(t.Context(), config, settings{namespace: w.namespace, workers: 2, leaseDuration: 15 * time.Second}, &printer{out: &buffer{}})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "services") {
		t.Errorf("run: %v, want Forbidden, about services", err)
	}
}
