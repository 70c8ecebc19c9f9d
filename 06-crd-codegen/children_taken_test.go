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
	e := newEnv(t)
	theirs := testkit.Must(e.deployments.Create(t.Context(), foreignDeployment(), metav1.CreateOptions{}))(e)
	service := testkit.Must(e.services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "service"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	}, metav1.CreateOptions{}))(e)
	secret := testkit.Must(e.secrets.Create(t.Context(), &corev1.Secret{ // with our label
		ObjectMeta: metav1.ObjectMeta{Name: "secret-root", Labels: map[string]string{database.ManagedByLabel: database.FieldManager}},
		Data:       map[string][]byte{"password": []byte("theirs")},
	}, metav1.CreateOptions{}))(e)
	output, stop := e.run(e.config)
	for _, name := range []string{"db", "service", "secret"} {
		e.create(name, func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName, s.Replicas = name, new(int32(0)) })
	}
	d := e.untilReady("db", database.ReasonNameConflict)
	e.untilReady("service", database.ReasonNameConflict)
	e.untilReady("secret", database.ReasonNameConflict)
	if !strings.Contains(readyOf(d).Message, "Deployment db") ||
		apimeta.IsStatusConditionTrue(d.Status.Conditions, dbv1alpha1.ConditionProgressing) {
		t.Errorf("conditions %+v", d.Status.Conditions)
	}
	now := e.deployment("db")
	if !apiequality.Semantic.DeepEqual(theirs.Spec, now.Spec) || !apiequality.Semantic.DeepEqual(theirs.Labels, now.Labels) ||
		now.OwnerReferences != nil {
		t.Errorf("their Deployment is now %+v", now)
	}
	if now := e.service("service"); now.ResourceVersion != service.ResourceVersion {
		t.Errorf("their Service is now %+v", now)
	}
	if now := e.secret("secret-root"); now.ResourceVersion != secret.ResourceVersion {
		t.Errorf("their Secret is now %+v", now)
	}
	stop() // which prints the line about the status that the server has
	if n := strings.Count(output.String(), e.namespace+"/db Ready="); n != 1 {
		t.Errorf("%d statuses written, want 1:\n%s", n, output)
	}
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
	e.untilReady("second", database.ReasonNameConflict)
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
	e := newEnv(t)
	e.run(e.config)
	create := func(name string) {
		e.create(name, retain, func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName, s.Replicas = name, new(int32(0)) })
	}
	t.Run("the children stay, ownerless, and as they are", func(t *testing.T) {
		t.Parallel()
		e := e.in(t)
		create("kept")
		d := e.untilReady("kept", rollout.ReasonScaledToZero)
		if len(d.Finalizers) != 1 || d.Finalizers[0] != database.Finalizer {
			t.Errorf("finalizers %v", d.Finalizers)
		}
		deployment, secret := e.deployment("kept"), e.secret("kept-root")
		e.delete("kept")
		untilGone(e, "the DatabaseManager", e.databases.Get, "kept")
		for _, child := range []metav1.Object{e.deployment("kept"), e.service("kept"), e.secret("kept-root")} {
			if len(child.GetOwnerReferences()) > 0 || child.GetDeletionTimestamp() != nil {
				t.Errorf("%T has owners %v and deletionTimestamp %v", child, child.GetOwnerReferences(), child.GetDeletionTimestamp())
			}
		}
		if e.deployment("kept").Generation != deployment.Generation ||
			string(e.secret("kept-root").Data["password"]) != string(secret.Data["password"]) {
			t.Error("a child has changed")
		}
		// They belong to nobody now, so the next one of that name can't have them.
		create("kept")
		e.untilReady("kept", database.ReasonNameConflict)
	})
	t.Run("changed to Delete before", func(t *testing.T) {
		t.Parallel()
		e := e.in(t)
		create("deleted")
		e.untilReady("deleted", rollout.ReasonScaledToZero)
		e.patch("deleted", `{"spec": {"deletionPolicy": "Delete"}}`)
		if d := e.untilReady("deleted", rollout.ReasonScaledToZero); len(d.Finalizers) > 0 {
			t.Errorf("finalizers %v", d.Finalizers)
		}
		e.delete("deleted")
		untilGone(e, "the Deployment", e.deployments.Get, "deleted")
	})
	t.Run("others' finalizers stay, and ours with them", func(t *testing.T) {
		t.Parallel()
		e := e.in(t)
		create("held")
		e.untilReady("held", rollout.ReasonScaledToZero)
		e.patch("held", `{"metadata": {"finalizers": ["`+database.Finalizer+`", "example.com/theirs"]}}`)
		e.delete("held")
		if d := e.untilProcessed("held"); len(d.Finalizers) != 2 {
			t.Errorf("finalizers %v", d.Finalizers)
		}
		e.patch("held", `{"metadata": {"finalizers": ["`+database.Finalizer+`"]}}`)
		untilGone(e, "the DatabaseManager", e.databases.Get, "held")
		if len(e.deployment("held").OwnerReferences) > 0 {
			t.Error("the Deployment still has an owner")
		}
	})
}
