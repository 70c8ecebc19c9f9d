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

// typed returns the object that a server without defaults would make of an apply configuration.
func typed(t *testing.T, configuration any) *appsv1.Deployment {
	t.Helper()
	var object appsv1.Deployment
	if err := convert(configuration, &object); err != nil {
		t.Fatal(err)
	}
	return &object
}

func TestASpecLacksAnElementOfAList(t *testing.T) {
	port := func(number int32) *corev1ac.ContainerPortApplyConfiguration {
		return corev1ac.ContainerPort().WithContainerPort(number)
	}
	mysql := func(ports ...*corev1ac.ContainerPortApplyConfiguration) *corev1ac.ContainerApplyConfiguration {
		return corev1ac.Container().WithName("mysql").WithImage("mysql:8.4.6").WithPorts(ports...)
	}
	none, plain := deployment(), deployment(mysql())
	for name, test := range map[string]struct {
		existing, owned, desired *appsv1ac.DeploymentApplyConfiguration
		want                     bool
	}{
		"the same":                 {plain, plain, plain, false},
		"another value of a field": {deployment(mysql().WithImage("other")), plain, plain, false},
		"an element more":          {deployment(mysql(port(1))), plain, plain, false},
		"others' elements before":  {deployment(mysql().WithName("a"), mysql(port(1), port(2))), none, deployment(mysql(port(2))), false},
		"no container":             {none, none, plain, true},
		"a renamed container":      {deployment(mysql().WithName("renamed")), none, plain, true},
		"no port":                  {plain, plain, deployment(mysql(port(1))), true},
		"another port":             {deployment(mysql(port(2))), plain, deployment(mysql(port(1))), true},
		"another port is desired":  {deployment(mysql(port(2))), deployment(mysql(port(2))), deployment(mysql(port(1))), false},
		"a port's protocol":        {deployment(mysql(port(1).WithProtocol("UDP"))), plain, deployment(mysql(port(1))), true},
		"the default protocol":     {deployment(mysql(port(1).WithProtocol("TCP"))), plain, deployment(mysql(port(1))), false},
		"no spec":                  {appsv1ac.Deployment("example", ""), appsv1ac.Deployment("example", ""), plain, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lacksElement(typed(t, test.existing), test.owned, test.desired); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestOwnedReadsWhatIsThereTwice has others add elements with the keys of elements that are there, one of ours among them.
func TestOwnedReadsWhatIsThereTwice(t *testing.T) {
	config := testcluster.Config(t)
	deployments := kubernetes.NewForConfigOrDie(config).AppsV1().Deployments(testcluster.Namespace(t, config))
	variable := func(name string) *corev1ac.EnvVarApplyConfiguration {
		return corev1ac.EnvVar().WithName(name).WithValue("ours")
	}
	port := corev1ac.ContainerPort().WithContainerPort(3306).WithProtocol("TCP")
	desired := deployment(corev1ac.Container().WithName("mysql").WithImage("mysql:8.4.6").
		WithPorts(port).
		WithEnv(variable("A"), variable("B")))
	options := metav1.ApplyOptions{FieldManager: "ours", Force: true}
	testkit.Must(deployments.Apply(t.Context(), desired, options))(t)
	// patched adds to what is there, and returns it as Extract cannot read it.
	patched := func(patch string) *appsv1.Deployment {
		t.Helper()
		changed := testkit.Must(deployments.Patch(t.Context(), "example", types.JSONPatchType, []byte(patch), metav1.PatchOptions{}))(t)
		if _, err := appsv1ac.ExtractDeployment(changed, "ours"); err == nil {
			t.Fatal("Extract reads an element twice: Owned needs no copy any more")
		}
		return changed
	}
	const container = "/spec/template/spec/containers/0"
	changed := patched(`[{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/twice", "example.com/twice"]},
		{"op": "add", "path": "` + container + `/env/0", "value": {"name": "C", "value": "1"}},
		{"op": "add", "path": "` + container + `/env/0", "value": {"name": "C", "value": "2"}},
		{"op": "add", "path": "` + container + `/ports/0", "value": {"containerPort": 3306, "protocol": "UDP"}},
		{"op": "add", "path": "/spec/template/spec/initContainers", "value": [{"name": "x", "image": "x", "restartPolicy": "Never",
			"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42, 42]}}]}]}]`)
	before := changed.DeepCopy()
	owned := testkit.Must(Owned(changed, appsv1ac.ExtractDeployment, "ours"))(t)
	if diff := cmp.Diff(specOf(desired), specOf(owned)) + cmp.Diff(before, changed); diff != "" {
		t.Errorf("the manager's fields (-desired +owned), and the object (-before +after):\n%s", diff)
	}
	changed = patched(`[{"op": "add", "path": "` + container + `/env/-", "value": {"name": "B", "value": "others"}}]`)
	owned = testkit.Must(Owned(changed, appsv1ac.ExtractDeployment, "ours"))(t)
	if diff := cmp.Diff(desired.Spec.Template.Spec.Containers[0].Env[:1], owned.Spec.Template.Spec.Containers[0].Env); diff != "" {
		t.Errorf("the manager's variables (-expected +owned):\n%s", diff)
	}
	var mended *appsv1.Deployment
	var err error
	testkit.Await(t, "a write without a conflict", func() bool { // the Deployment controller writes, too
		changed, err = deployments.Get(t.Context(), "example", metav1.GetOptions{})
		if err == nil {
			mended, err = Apply(t.Context(), deployments, changed, owned, desired, ReplaceSpec, options)
		}
		return err == nil
	}, &err)
	want := before.Spec.Template.Spec.Containers[0] // with what is others'
	if diff := cmp.Diff(want, mended.Spec.Template.Spec.Containers[0]); diff != "" {
		t.Errorf("the container (-before +mended):\n%s", diff)
	}
	testkit.Must(deployments.Patch(t.Context(), "example", types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`),
		metav1.PatchOptions{}))(t)
}

func TestApplyUndoesByAReplacement(t *testing.T) {
	config := testcluster.Config(t)
	deployments := kubernetes.NewForConfigOrDie(config).AppsV1().Deployments(testcluster.Namespace(t, config))
	password := corev1ac.EnvVarSource().WithSecretKeyRef(corev1ac.SecretKeySelector().WithName("a").WithKey("b"))
	desired := deployment(corev1ac.Container().WithName("mysql").WithImage("mysql:8.4.6").WithEnv(
		corev1ac.EnvVar().WithName("PASSWORD").WithValueFrom(password)))
	options := metav1.ApplyOptions{FieldManager: "ours", Force: true}
	applied := testkit.Must(deployments.Apply(t.Context(), desired, options))(t)
	changed, err := deployments.Patch(t.Context(), "example", types.JSONPatchType, []byte(`[
		{"op": "replace", "path": "/spec/template/spec/containers/0/env/0", "value": {"name": "PASSWORD", "value": "foo"}},
		{"op": "replace", "path": "/spec/template/spec/containers/0/name", "value": "renamed"}]`),
		metav1.PatchOptions{FieldManager: "others"})
	if err != nil {
		t.Fatal(err)
	}
	owned := testkit.Must(appsv1ac.ExtractDeployment(changed, "ours"))(t)
	if !lacksElement(changed, owned, desired) {
		t.Errorf("no element is missing: %+v", changed.Spec)
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
	owned = testkit.Must(appsv1ac.ExtractDeployment(replaced, "ours"))(t)
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
		owned := testkit.Must(Owned(last, appsv1ac.ExtractDeployment, "ours"))(t)
		if diff := cmp.Diff(specOf(desired), specOf(owned)); diff != "" || len(owned.OwnerReferences) > 0 {
			t.Errorf("owner references %v, and the spec (-desired +owned):\n%s", owned.OwnerReferences, diff)
		}
		if _, err := SetOwners(t.Context(), deployments, before, ours.UID, want[1:], "ours"); !apierrors.IsConflict(err) {
			t.Errorf("to an object that has changed since it was read: %v, want a conflict", err)
		}
	}
}
