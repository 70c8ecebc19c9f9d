package main

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/test/testkit"
)

// foreignDeployment is another user's: other labels, no owner.
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

// TestObjectsOfOthersAreNotTouched has the name of a child taken by another user's object, which the controller must not change.
func TestObjectsOfOthersAreNotTouched(t *testing.T) {
	t.Parallel()
	t.Run("Deployment", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		theirs := testkit.Must(e.deployments.Create(t.Context(), foreignDeployment(), metav1.CreateOptions{}))(e)
		output, stop := e.run(e.config)
		e.create("example")
		d := e.untilReady("example", reasonNameConflict)
		ready := readyOf(d)
		if !strings.Contains(ready.Message, "Deployment db") ||
			apimeta.IsStatusConditionTrue(d.Status.Conditions, dbv1alpha1.ConditionProgressing) {
			t.Errorf("conditions %+v", d.Status.Conditions)
		}
		now := e.deployment("db")
		if !apiequality.Semantic.DeepEqual(theirs.Spec, now.Spec) || !apiequality.Semantic.DeepEqual(theirs.Labels, now.Labels) ||
			now.OwnerReferences != nil {
			t.Errorf("their Deployment is now %+v", now)
		}
		stop() // which prints the line about the status that the server has
		if n := len(output.Lines("STATUS")); n != 1 {
			t.Errorf("%d statuses written, want 1", n)
		}
	})
	t.Run("Service", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		theirs := testkit.Must(e.services.Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
		}, metav1.CreateOptions{}))(e)
		e.run(e.config)
		e.create("example")
		e.untilReady("example", reasonNameConflict)
		if now := e.service("db"); now.ResourceVersion != theirs.ResourceVersion {
			t.Errorf("their Service is now %+v", now)
		}
	})
	t.Run("Secret with our label", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		theirs := testkit.Must(e.secrets.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "db-root", Labels: map[string]string{database.ManagedByLabel: database.FieldManager}},
			Data:       map[string][]byte{"password": []byte("theirs")},
		}, metav1.CreateOptions{}))(e)
		e.run(e.config)
		e.create("example")
		e.untilReady("example", reasonNameConflict)
		if now := e.secret("db-root"); now.ResourceVersion != theirs.ResourceVersion {
			t.Errorf("their Secret is now %+v", now)
		}
	})
}

// TestSecondOwnerGetsTheNameWhenTheFirstIsGone has two DatabaseManagers ask for the same Deployment. The second gets one of
// that name when the first is gone.
func TestSecondOwnerGetsTheNameWhenTheFirstIsGone(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.run(e.config)
	first := e.create("first")
	e.untilReady("first", rollout.ReasonReplicasReady)
	second := e.create("second")
	e.untilReady("second", reasonNameConflict)
	if !metav1.IsControlledBy(e.deployment("db"), first) {
		t.Error("the second has taken the first's Deployment")
	}
	e.delete("first")
	e.untilReady("second", rollout.ReasonReplicasReady)
	if !metav1.IsControlledBy(e.deployment("db"), second) {
		t.Error("the second has no Deployment")
	}
}

func TestRetainKeepsTheChildren(t *testing.T) {
	t.Parallel()
	retain := func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeletionPolicy = dbv1alpha1.DeletionPolicyRetain }

	t.Run("the children stay, ownerless, and as they are", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		e.run(e.config)
		e.create("example", retain)
		d := e.untilReady("example", rollout.ReasonReplicasReady)
		if len(d.Finalizers) != 1 || d.Finalizers[0] != finalizer {
			t.Errorf("finalizers %v", d.Finalizers)
		}
		deployment, secret := e.deployment("db"), e.secret("db-root")
		e.delete("example")
		untilGone(e, "the DatabaseManager", e.databases.Get, "example")
		for _, child := range []metav1.Object{e.deployment("db"), e.service("db"), e.secret("db-root")} {
			if len(child.GetOwnerReferences()) > 0 || child.GetDeletionTimestamp() != nil {
				t.Errorf("%T has owners %v and deletionTimestamp %v", child, child.GetOwnerReferences(), child.GetDeletionTimestamp())
			}
		}
		if e.deployment("db").Generation != deployment.Generation ||
			string(e.secret("db-root").Data["password"]) != string(secret.Data["password"]) {
			t.Error("a child has changed")
		}
		// They belong to nobody now, so the next one of that name can't have them.
		e.create("example")
		e.untilReady("example", reasonNameConflict)
	})
	t.Run("changed to Delete before", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		e.run(e.config)
		e.create("example", retain)
		e.untilReady("example", rollout.ReasonReplicasReady)
		e.patch("example", `{"spec": {"deletionPolicy": "Delete"}}`)
		if d := e.untilReady("example", rollout.ReasonReplicasReady); len(d.Finalizers) > 0 {
			t.Errorf("finalizers %v", d.Finalizers)
		}
		e.delete("example")
		untilGone(e, "the Deployment", e.deployments.Get, "db")
	})
	t.Run("others' finalizers stay, and ours with them", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		e.run(e.config)
		e.create("example", retain)
		e.untilReady("example", rollout.ReasonReplicasReady)
		e.patch("example", `{"metadata": {"finalizers": ["`+finalizer+`", "example.com/theirs"]}}`)
		e.delete("example")
		if d := e.untilProcessed("example"); len(d.Finalizers) != 2 {
			t.Errorf("finalizers %v", d.Finalizers)
		}
		e.patch("example", `{"metadata": {"finalizers": ["`+finalizer+`"]}}`)
		untilGone(e, "the DatabaseManager", e.databases.Get, "example")
		if len(e.deployment("db").OwnerReferences) > 0 {
			t.Error("the Deployment still has an owner")
		}
	})
}
