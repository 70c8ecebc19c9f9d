package main

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// foreignDeployment is somebody's: other labels, no owner.
func foreignDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": "theirs"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "theirs", Image: "theirs:1.0.0"}}},
			},
		},
	}
}

// TestNameConflict has the name of a child taken by somebody else's object, which must not be touched.
func TestNameConflict(t *testing.T) {
	t.Run("Deployment", func(t *testing.T) {
		w := newWorld(t)
		theirs := got(w.client.AppsV1().Deployments(w.namespace).Create(t.Context(), foreignDeployment(), metav1.CreateOptions{}))(w)
		output, _ := w.run(w.config)
		w.make("example")
		d := w.untilReady("example", reasonNameConflict)
		ready := apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady)
		if !strings.Contains(ready.Message, "Deployment db") || apimeta.IsStatusConditionTrue(d.Status.Conditions, dbv1alpha1.ConditionProgressing) {
			t.Errorf("conditions %+v", d.Status.Conditions)
		}
		if now := w.deployment("db"); !apiequality.Semantic.DeepEqual(theirs.Spec, now.Spec) || !apiequality.Semantic.DeepEqual(theirs.Labels, now.Labels) || now.OwnerReferences != nil {
			t.Errorf("their Deployment is now %+v", now)
		}
		if n := output.lines("STATUS"); n != 1 {
			t.Errorf("%d statuses written, want 1", n)
		}
	})
	t.Run("Service", func(t *testing.T) {
		w := newWorld(t)
		theirs := got(w.client.CoreV1().Services(w.namespace).Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
		}, metav1.CreateOptions{}))(w)
		w.run(w.config)
		w.make("example")
		w.untilReady("example", reasonNameConflict)
		if now := w.service("db"); now.ResourceVersion != theirs.ResourceVersion {
			t.Errorf("their Service is now %+v", now)
		}
	})
	t.Run("Secret with our label", func(t *testing.T) {
		w := newWorld(t)
		theirs := got(w.client.CoreV1().Secrets(w.namespace).Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "db-root", Labels: map[string]string{managedByLabel: fieldManager}},
			Data:       map[string][]byte{"password": []byte("theirs")},
		}, metav1.CreateOptions{}))(w)
		w.run(w.config)
		w.make("example")
		w.untilReady("example", reasonNameConflict)
		if now := w.secret("db-root"); now.ResourceVersion != theirs.ResourceVersion {
			t.Errorf("their Secret is now %+v", now)
		}
	})
}

// TestTwoForOneName has two DatabaseManagers ask for the same Deployment. The second gets it when the first is gone.
func TestTwoForOneName(t *testing.T) {
	w := newWorld(t)
	w.run(w.config)
	first := w.make("first")
	w.untilReady("first", reasonReplicasReady)
	second := w.make("second")
	w.untilReady("second", reasonNameConflict)
	if !metav1.IsControlledBy(w.deployment("db"), first) {
		t.Error("the second has taken the first's Deployment")
	}
	if err := w.databases.Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.untilReady("second", reasonReplicasReady)
	if !metav1.IsControlledBy(w.deployment("db"), second) {
		t.Error("the second has no Deployment")
	}
}

// TestSameNameAgain deletes a DatabaseManager and makes one of the same name at once: not the old one's children.
func TestSameNameAgain(t *testing.T) {
	w := newWorld(t)
	w.run(w.config)
	w.make("example")
	w.untilReady("example", reasonReplicasReady)
	before := w.secret("db-root")
	if err := w.databases.Delete(t.Context(), "example", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again := w.make("example")
	w.untilReady("example", reasonReplicasReady)
	after := w.secret("db-root")
	if !metav1.IsControlledBy(after, again) || !metav1.IsControlledBy(w.deployment("db"), again) || string(before.Data["password"]) == string(after.Data["password"]) {
		t.Errorf("the new one has the old one's children: %v", after.OwnerReferences)
	}
}

func TestRetain(t *testing.T) {
	retain := func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeletionPolicy = dbv1alpha1.DeletionPolicyRetain }

	t.Run("the children stay, ownerless, and as they are", func(t *testing.T) {
		w := newWorld(t)
		w.run(w.config)
		w.make("example", retain)
		d := w.untilReady("example", reasonReplicasReady)
		if len(d.Finalizers) != 1 || d.Finalizers[0] != finalizer {
			t.Errorf("finalizers %v", d.Finalizers)
		}
		deployment, secret := w.deployment("db"), w.secret("db-root")
		if err := w.databases.Delete(t.Context(), "example", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		untilGone(w, "the DatabaseManager", w.databases.Get, "example")
		for _, child := range []metav1.Object{w.deployment("db"), w.service("db"), w.secret("db-root")} {
			if len(child.GetOwnerReferences()) > 0 || child.GetDeletionTimestamp() != nil {
				t.Errorf("%T has owners %v and deletionTimestamp %v", child, child.GetOwnerReferences(), child.GetDeletionTimestamp())
			}
		}
		if w.deployment("db").Generation != deployment.Generation || string(w.secret("db-root").Data["password"]) != string(secret.Data["password"]) {
			t.Error("a child has changed")
		}
		// They belong to nobody now, so the next one of that name can't have them.
		w.make("example")
		w.untilReady("example", reasonNameConflict)
	})
	t.Run("changed to Delete before", func(t *testing.T) {
		w := newWorld(t)
		w.run(w.config)
		w.make("example", retain)
		w.untilReady("example", reasonReplicasReady)
		got(w.databases.Patch(t.Context(), "example", types.MergePatchType, []byte(`{"spec": {"deletionPolicy": "Delete"}}`), metav1.PatchOptions{}))(w)
		if d := w.untilReady("example", reasonReplicasReady); len(d.Finalizers) > 0 {
			t.Errorf("finalizers %v", d.Finalizers)
		}
		if err := w.databases.Delete(t.Context(), "example", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		untilGone(w, "the Deployment", w.client.AppsV1().Deployments(w.namespace).Get, "db")
	})
	t.Run("others' finalizers stay", func(t *testing.T) {
		w := newWorld(t)
		w.run(w.config)
		w.make("example", retain)
		w.untilReady("example", reasonReplicasReady)
		got(w.databases.Patch(t.Context(), "example", types.JSONPatchType, []byte(`[{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/theirs"}]`), metav1.PatchOptions{}))(w)
		if err := w.databases.Delete(t.Context(), "example", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		until(w, "our finalizer is gone", get(w.databases.Get, "example"), func(d *dbv1alpha1.DatabaseManager) bool {
			return len(d.Finalizers) == 1 && d.Finalizers[0] == "example.com/theirs"
		})
		got(w.databases.Patch(t.Context(), "example", types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{}))(w)
		untilGone(w, "the DatabaseManager", w.databases.Get, "example")
		if len(w.deployment("db").OwnerReferences) > 0 {
			t.Error("the Deployment still has an owner")
		}
	})
}
