package ssa

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

func deployment(containers ...*corev1ac.ContainerApplyConfiguration) *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment("example", "").WithSpec(appsv1ac.DeploymentSpec().
		WithReplicas(0).
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{"app": "example"})).
		WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)).
		WithTemplate(corev1ac.PodTemplateSpec().
			WithLabels(map[string]string{"app": "example"}).
			WithSpec(corev1ac.PodSpec().WithAutomountServiceAccountToken(false).WithContainers(containers...))))
}

func TestOwnedFieldsLackAnElementOfAList(t *testing.T) {
	mysql := corev1ac.Container().WithName("mysql").WithImage("mysql:8.4.6")
	other := corev1ac.Container().WithName("mysql").WithImage("other")
	withPort := corev1ac.Container().WithName("mysql").WithPorts(corev1ac.ContainerPort().WithContainerPort(3306))
	for name, test := range map[string]struct {
		owned, desired any
		want           bool
	}{
		"the same":                 {deployment(mysql), deployment(mysql), false},
		"another value of a field": {deployment(other), deployment(mysql), false},
		"a field less":             {deployment(corev1ac.Container().WithName("mysql")), deployment(mysql), false},
		"an element more":          {deployment(mysql, withPort), deployment(mysql), false},
		"no container":             {deployment(), deployment(mysql), true},
		"no port":                  {deployment(mysql), deployment(withPort), true},
		"no pod spec, because its only container was renamed": {
			appsv1ac.Deployment("example", "").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(0)), deployment(mysql), true,
		},
		"no spec, because it has none":    {corev1ac.Secret("example", ""), corev1ac.Secret("example", ""), false},
		"no spec: nothing is owned of it": {appsv1ac.Deployment("example", ""), deployment(mysql), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lacksElement(test.owned, test.desired); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestApplyUndoesByAReplacement(t *testing.T) {
	config := testcluster.Config(t)
	deployments := kubernetes.NewForConfigOrDie(config).AppsV1().Deployments(testcluster.Namespace(t, config))
	password := corev1ac.EnvVarSource().WithSecretKeyRef(corev1ac.SecretKeySelector().WithName("a").WithKey("b"))
	desired := deployment(corev1ac.Container().WithName("mysql").WithImage("mysql:8.4.6").WithEnv(
		corev1ac.EnvVar().WithName("PASSWORD").WithValueFrom(password)))
	options := metav1.ApplyOptions{FieldManager: "ours", Force: true}
	applied, err := deployments.Apply(t.Context(), desired, options)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := deployments.Patch(t.Context(), "example", types.JSONPatchType, []byte(`[
		{"op": "replace", "path": "/spec/template/spec/containers/0/env/0", "value": {"name": "PASSWORD", "value": "foo"}},
		{"op": "replace", "path": "/spec/template/spec/containers/0/name", "value": "renamed"}]`),
		metav1.PatchOptions{FieldManager: "others"})
	if err != nil {
		t.Fatal(err)
	}
	owned, err := appsv1ac.ExtractDeployment(changed, "ours")
	if err != nil {
		t.Fatal(err)
	}
	if !lacksElement(owned, desired) {
		t.Errorf("no element is missing: %+v", owned.Spec)
	}
	var replaced *appsv1.Deployment
	testkit.Await(t, "a write without a conflict", func() bool { // the Deployment controller writes, too
		changed, err = deployments.Get(t.Context(), "example", metav1.GetOptions{})
		if err == nil {
			replaced, err = Apply(t.Context(), deployments, changed, owned, desired, ReplaceSpec, options)
		}
		return err == nil
	}, &err)
	if diff := cmp.Diff(applied.Spec, replaced.Spec); diff != "" {
		t.Errorf("the spec (-applied +replaced):\n%s", diff)
	}
	owned, err = appsv1ac.ExtractDeployment(replaced, "ours")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(specOf(desired), specOf(owned)); diff != "" {
		t.Errorf("the manager's fields (-desired +owned):\n%s", diff)
	}
	for _, canReplace := range []bool{KeepSpec, ReplaceSpec} {
		if _, err := Apply(t.Context(), deployments, applied, owned, desired, canReplace, options); !apierrors.IsConflict(err) {
			t.Errorf("with canReplace %t, to an object that has changed since it was read: %v, want a conflict", canReplace, err)
		}
	}
}

// TestSetOwnersChangesNothingElse removes a reference that two managers have set, and adds it again. Another owner's stays.
func TestSetOwnersChangesNothingElse(t *testing.T) {
	config := testcluster.Config(t)
	client, namespace := kubernetes.NewForConfigOrDie(config), testcluster.Namespace(t, config)
	deployments := client.AppsV1().Deployments(namespace)
	owner := func(name string) metav1.OwnerReference { // which must exist, or the garbage collector deletes the Deployment
		object := testkit.Must(client.CoreV1().ConfigMaps(namespace).Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))(t)
		return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: object.UID}
	}
	ours, theirs := owner("ours"), owner("theirs")
	ours.Controller = new(true)
	desired := WithOwners(deployment(corev1ac.Container().WithName("mysql").WithImage("mysql:8.4.6")),
		[]metav1.OwnerReference{ours, theirs})
	var last *appsv1.Deployment
	for _, manager := range []string{"ours", "others"} {
		last = testkit.Must(deployments.Apply(t.Context(), desired, metav1.ApplyOptions{FieldManager: manager, Force: true}))(t)
	}
	for _, want := range [][]metav1.OwnerReference{{theirs}, {theirs, ours}} {
		before := last.DeepCopy()
		var err error
		testkit.Await(t, "a write without a conflict", func() bool { // the Deployment controller writes, too
			last, err = deployments.Get(t.Context(), "example", metav1.GetOptions{})
			if err == nil {
				last, err = SetOwners(t.Context(), deployments, last, ours.UID, want[1:], "ours")
			}
			return err == nil
		}, &err)
		if diff := cmp.Diff(want, last.OwnerReferences); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before.Spec, last.Spec); diff != "" {
			t.Errorf("the spec (-before +after):\n%s", diff)
		}
		owned := Owned(last, appsv1ac.ExtractDeployment, "ours")
		if diff := cmp.Diff(specOf(desired), specOf(owned)); diff != "" || len(owned.OwnerReferences) > 0 {
			t.Errorf("owner references %v, and the spec (-desired +owned):\n%s", owned.OwnerReferences, diff)
		}
		if _, err := SetOwners(t.Context(), deployments, before, ours.UID, want[1:], "ours"); !apierrors.IsConflict(err) {
			t.Errorf("to an object that has changed since it was read: %v, want a conflict", err)
		}
	}
}
