package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/features"
	clientfeatures "k8s.io/client-go/features/testing"
	"k8s.io/client-go/kubernetes"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/election"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/testcluster"
)

// TestRights runs the controller as a user who has the permissions of rbac.yaml and no others.
func TestRights(t *testing.T) {
	w := newWorld(t)
	config, check := testcluster.AsRole(t, w.config, w.namespace, "rbac.yaml")
	_, stop := w.run(config, func(s *settings) { s.election = election.Options{Enabled: true, LeaseDuration: 15 * time.Second} })
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

	// The permission list is for servers without streaming lists.
	clientfeatures.SetFeatureDuringTest(t, features.WatchListClient, false)
	_, stop = w.run(config)
	w.make("listed", func(s *dbv1alpha1.DatabaseManagerSpec) { s.Replicas, s.DeploymentName = new(int32(0)), "listed" })
	w.untilReady("listed", reasonScaledToZero)
	stop()
	check()
}

// without returns a manifest with rbac.yaml's ClusterRole that does not allow some verbs for a resource.
func without(t *testing.T, resource string, verbs ...string) string {
	t.Helper()
	var role rbacv1.ClusterRole
	for _, rule := range permissions(t) {
		rule.Verbs = slices.DeleteFunc(rule.Verbs, func(v string) bool { return rule.Resources[0] == resource && slices.Contains(verbs, v) })
		if len(rule.Verbs) > 0 {
			role.Rules = append(role.Rules, rule)
		}
	}
	role.Kind, role.Name = "ClusterRole", fieldManager
	text, err := json.Marshal(role)
	file := filepath.Join(t.TempDir(), "rbac.json")
	if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}

// permissions returns the rules of rbac.yaml, one for each resource.
func permissions(t *testing.T) (rules []rbacv1.PolicyRule) {
	t.Helper()
	manifest, err := os.ReadFile("rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096); role.Kind != "ClusterRole"; {
		role = rbacv1.ClusterRole{}
		if err := decoder.Decode(&role); err != nil {
			t.Fatal(err)
		}
	}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			rules = append(rules, rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: []string{resource}, Verbs: slices.Clone(rule.Verbs)})
		}
	}
	return rules
}

// TestRightMissing shows that the controller ends without the right to one of its kinds, where client-go would go on
// asking.
func TestRightMissing(t *testing.T) {
	w := newWorld(t)
	config, _ := testcluster.AsRole(t, w.config, w.namespace, without(t, "services", "list", "watch"))
	err := run(t.Context(), config, settings{namespace: w.namespace, workers: 2}, program.NewPrinter(&buffer{}))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "services") {
		t.Errorf("run: %v, want Forbidden, about services", err)
	}
}

// TestRetainWithoutPermission lacks what deletionPolicy Retain needs. The status says so, in the end, too.
func TestRetainWithoutPermission(t *testing.T) {
	retain := func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeletionPolicy = dbv1alpha1.DeletionPolicyRetain }
	t.Run("update databasemanagers", func(t *testing.T) {
		w := newWorld(t)
		config, _ := testcluster.AsRole(t, w.config, w.namespace, without(t, "databasemanagers", "update"))
		w.run(config)
		start := time.Now()
		w.make("example", retain)
		message := w.readyMessage("example", "Forbidden")
		if !strings.Contains(message, "finalizers") || !strings.Contains(message, "cannot update resource") {
			t.Errorf("message %q", message)
		}
		t.Logf("%s after it was created: %s", time.Since(start).Round(time.Millisecond), message)
	})
	t.Run("get secrets", func(t *testing.T) {
		w := newWorld(t)
		config, _ := testcluster.AsRole(t, w.config, w.namespace, without(t, "secrets", "get"))
		output, _ := w.run(config)
		w.make("example", retain)
		w.untilReady("example", reasonReplicasReady)
		start := time.Now()
		if err := w.databases.Delete(t.Context(), "example", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		message := w.readyMessage("example", "Forbidden")
		if !strings.Contains(message, "Secret db-root") {
			t.Errorf("message %q", message)
		}
		t.Logf("%s after it was deleted: %s", time.Since(start).Round(time.Millisecond), message)
		for line := range strings.Lines(output.String()) {
			if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "reading ") {
				t.Errorf("a line of its own: %q", line)
			}
		}
		w.release("example")
	})
}

// release removes our finalizer, for which the controller lacks a permission. The namespace could not be deleted.
func (w *world) release(name string) {
	w.Helper()
	got(w.databases.Patch(w.Context(), name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}))(w)
}

// TestSoakPermissions takes away each of the controller's permissions, one at a time. Whatever is not done then must be
// reported: in the status, by a line of the output, or by the error that ends the program.
func TestSoakPermissions(t *testing.T) {
	if os.Getenv(soakVar) == "" {
		t.Skip("takes minutes: run `make soak`")
	}
	for _, rule := range permissions(t) {
		for _, verb := range rule.Verbs {
			resource := rule.Resources[0]
			if resource == "leases" || resource == "events" {
				continue // klog reports these
			}
			t.Run(verb+" "+resource, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				config, _ := testcluster.AsRole(t, w.config, w.namespace, without(t, resource, verb))
				// The API server learns of new roles by a watch.
				leases := kubernetes.NewForConfigOrDie(config).CoordinationV1().Leases(w.namespace)
				until(w, "the role is in force", func(ctx context.Context) (error, error) {
					_, err := leases.Get(ctx, "any", metav1.GetOptions{})
					return err, nil
				}, apierrors.IsNotFound)
				output, ended := &buffer{}, make(chan error, 1)
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					ended <- run(ctx, config, settings{namespace: w.namespace, workers: 2}, program.NewPrinter(output))
				}()
				w.make("example", func(s *dbv1alpha1.DatabaseManagerSpec) {
					s.StorageSize, s.Replicas, s.DeletionPolicy = new(resource1Gi), new(int32(0)), dbv1alpha1.DeletionPolicyRetain
				})
				missing := fmt.Sprintf("cannot %s resource %q", verb, resource)
				how := until(w, "it works, or the failure is reported", func(ctx context.Context) (string, error) {
					d, err := w.databases.Get(ctx, "example", metav1.GetOptions{})
					if err != nil {
						return "", err
					}
					ready := apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady)
					switch {
					case ready != nil && ready.Status == metav1.ConditionTrue:
						return "works", nil
					case ready != nil && strings.Contains(ready.Message, missing):
						return "status", nil
					case strings.Contains(output.String(), missing):
						return "output", nil
					}
					select {
					case err := <-ended:
						ended <- err
						if strings.Contains(fmt.Sprint(err), missing) {
							return "ends", nil
						}
					default:
					}
					return "", nil
				}, func(how string) bool { return how != "" })
				t.Log(how)
				w.release("example")
				cancel()
				<-ended
			})
		}
	}
}

var resource1Gi = resource.MustParse("1Gi")
