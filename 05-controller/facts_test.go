package main

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
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

// An owner must be in the namespace of the object, or in none. An owner in another namespace counts as one that is gone, so the garbage
// collector deletes the object. An object without a namespace whose owner has one is never deleted. An event says so in both cases.
func TestOwnerInAnotherNamespace(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	client := kubernetes.NewForConfigOrDie(config)
	namespace := testcluster.Namespace(t, config)
	owner := testkit.Must(client.CoreV1().ConfigMaps(testcluster.Namespace(t, config)).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{}))(t)
	meta := metav1.ObjectMeta{Name: namespace + "-child", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}
	awaitEvent := func(namespace string) {
		t.Helper()
		options := metav1.ListOptions{FieldSelector: "reason=OwnerRefInvalidNamespace,involvedObject.name=" + meta.Name}
		testkit.Await(t, "an event OwnerRefInvalidNamespace", func() bool {
			events, err := client.CoreV1().Events(namespace).List(t.Context(), options)
			return err == nil && len(events.Items) > 0
		})
	}

	create := func(namespace string) {
		t.Helper()
		testkit.Must(client.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: meta}, metav1.CreateOptions{}))(t)
	}
	awaitEnd := func(namespace string) {
		t.Helper()
		testkit.Await(t, "the end of the Secret", func() bool {
			_, err := client.CoreV1().Secrets(namespace).Get(t.Context(), meta.Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}

	create(namespace)
	awaitEvent(namespace)
	awaitEnd(namespace)

	roles := client.RbacV1().ClusterRoles()
	testkit.Must(roles.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta}, metav1.CreateOptions{}))(t)
	t.Cleanup(func() { _ = roles.Delete(context.Background(), meta.Name, metav1.DeleteOptions{}) })
	awaitEvent(metav1.NamespaceDefault) // the events of objects without a namespace are there
	create(owner.Namespace)
	if err := client.CoreV1().ConfigMaps(owner.Namespace).Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitEnd(owner.Namespace) // so the garbage collector knows that the owner is gone
	if _, err := roles.Get(t.Context(), meta.Name, metav1.GetOptions{}); err != nil {
		t.Errorf("the ClusterRole: %v", err)
	}
}

// A change of the spec raises metadata.generation, and so does a deletion that waits for a finalizer. Labels, finalizers and the status do
// not. Annotations do it for a Deployment, and not for a ReplicaSet. All of them raise the resourceVersion. A write that changes nothing
// does not.
func TestWhatRaisesTheGeneration(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	client, namespace := kubernetes.NewForConfigOrDie(config), testcluster.Namespace(t, config)
	deployments, replicaSets := client.AppsV1().Deployments(namespace), client.AppsV1().ReplicaSets(namespace)
	before := exampleDeployment()
	before.Spec.Paused = true // or the cluster's controller would write to it
	before = testkit.Must(deployments.Create(t.Context(), before, metav1.CreateOptions{}))(t)
	testkit.Await(t, "a status", func() bool {
		now, err := deployments.Get(t.Context(), "example", metav1.GetOptions{})
		if err != nil || now.Status.ObservedGeneration == 0 {
			return false
		}
		before = now
		return true
	})
	const annotation = `{"metadata": {"annotations": {"paused": "yes"}}}`
	patch := func(text string, subresources ...string) func() (*appsv1.Deployment, error) {
		return func() (*appsv1.Deployment, error) {
			return deployments.Patch(t.Context(), "example", types.MergePatchType, []byte(text), metav1.PatchOptions{}, subresources...)
		}
	}
	for _, test := range []struct {
		name                   string
		change                 func() (*appsv1.Deployment, error)
		generation, newVersion bool
	}{
		{"nothing", patch(`{"spec": {"replicas": 0}}`), false, false},
		{"a label", patch(`{"metadata": {"labels": {"team": "shop"}}}`), false, true},
		{"an annotation", patch(annotation), true, true},
		{"a finalizer", patch(`{"metadata": {"finalizers": ["example.com/waits"]}}`), false, true},
		{"the status", patch(`{"status": {"collisionCount": 1}}`, "status"), false, true},
		{"the spec", patch(`{"spec": {"minReadySeconds": 1}}`), true, true},
		{"a deletion", func() (*appsv1.Deployment, error) {
			if err := deployments.Delete(t.Context(), "example", metav1.DeleteOptions{}); err != nil {
				return nil, err
			}
			return deployments.Get(t.Context(), "example", metav1.GetOptions{})
		}, true, true},
	} {
		now := testkit.Must(test.change())(t)
		if raised := now.Generation > before.Generation; raised != test.generation {
			t.Errorf("%s: the generation was %d, is %d", test.name, before.Generation, now.Generation)
		}
		if changed := now.ResourceVersion != before.ResourceVersion; changed != test.newVersion {
			t.Errorf("%s: the resourceVersion was %s, is %s", test.name, before.ResourceVersion, now.ResourceVersion)
		}
		before = now
	}
	testkit.Must(patch(`{"metadata": {"finalizers": null}}`)())(t)

	d := exampleDeployment()
	set := testkit.Must(replicaSets.Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: d.ObjectMeta,
		Spec:       appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector, Template: d.Spec.Template},
	}, metav1.CreateOptions{}))(t)
	now := testkit.Must(replicaSets.Patch(t.Context(), set.Name, types.MergePatchType, []byte(annotation), metav1.PatchOptions{}))(t)
	if now.Generation != set.Generation {
		t.Errorf("an annotation of a ReplicaSet: the generation was %d, is %d", set.Generation, now.Generation)
	}

	example := metav1.ObjectMeta{Name: "example"}
	configMap := testkit.Must(client.CoreV1().ConfigMaps(namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: example}, metav1.CreateOptions{}))(t)
	configMap.Data = map[string]string{"a": "b"}
	configMap = testkit.Must(client.CoreV1().ConfigMaps(namespace).Update(t.Context(), configMap, metav1.UpdateOptions{}))(t)
	secret := testkit.Must(client.CoreV1().Secrets(namespace).Create(t.Context(),
		&corev1.Secret{ObjectMeta: example}, metav1.CreateOptions{}))(t)
	if configMap.Generation != 0 || secret.Generation != 0 {
		t.Errorf("the generation of a ConfigMap is %d, of a Secret %d", configMap.Generation, secret.Generation)
	}
}

// A field that an apply leaves out, and that it had before, goes back to its default: the replicas are 1. Not if somebody else has
// applied it, too. So one handover leaves replicas to an autoscaler: another manager applies the number that is there, before the
// field is left out.
func TestReplicasForAnAutoscaler(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	deployments := kubernetes.NewForConfigOrDie(config).AppsV1().Deployments(namespace)
	labels := map[string]string{"app": "example"}
	apply := func(name, manager string, spec *appsv1ac.DeploymentSpecApplyConfiguration) int32 {
		t.Helper()
		desired := appsv1ac.Deployment(name, namespace).WithSpec(spec)
		return *testkit.Must(deployments.Apply(t.Context(), desired, metav1.ApplyOptions{FieldManager: manager}))(t).Spec.Replicas
	}
	spec := func() *appsv1ac.DeploymentSpecApplyConfiguration {
		return appsv1ac.DeploymentSpec().
			WithPaused(true). // no pods
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).
				WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("example").WithImage("nginx:1.28"))))
	}
	for name, test := range map[string]struct {
		handsOver bool
		want      int32
	}{
		"left-out":    {false, 1},
		"handed-over": {true, 3},
	} {
		apply(name, "controller", spec().WithReplicas(3))
		if test.handsOver {
			apply(name, "handover", appsv1ac.DeploymentSpec().WithReplicas(3))
		}
		if got := apply(name, "controller", spec()); got != test.want {
			t.Errorf("%s: %d replicas, want %d", name, got, test.want)
		}
	}
}

// exampleDeployment has no pods. Its container has a variable from a Secret.
func exampleDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": "example"}
	password := &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "example"}, Key: "password",
	}}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "example"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "example", Image: "nginx:1.28", Env: []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: password}},
				}}},
			},
		},
	}
}

// A new ReplicaSet, and so new pods, come from a change of the pod template, and from nothing else. With a hash of a Secret's content in an
// annotation of the template, a change of the Secret is one.
func TestWhatReplacesPods(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	client := kubernetes.NewForConfigOrDie(config)
	namespace := testcluster.Namespace(t, config)
	deployments, secrets := client.AppsV1().Deployments(namespace), client.CoreV1().Secrets(namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "example"}, StringData: map[string]string{"password": "first"}}
	testkit.Must(secrets.Create(t.Context(), secret, metav1.CreateOptions{}))(t)
	testkit.Must(deployments.Create(t.Context(), exampleDeployment(), metav1.CreateOptions{}))(t)
	// replicaSets returns how many there are when the cluster's controller has seen the Deployment as it is.
	replicaSets := func() (count int) {
		t.Helper()
		testkit.Await(t, "the cluster's controller", func() bool {
			d, err := deployments.Get(t.Context(), "example", metav1.GetOptions{})
			if err != nil || d.Status.ObservedGeneration < d.Generation {
				return false
			}
			list, err := client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
			count = len(list.Items)
			return err == nil
		})
		return count
	}
	patch := func(text string) {
		t.Helper()
		testkit.Must(deployments.Patch(t.Context(), "example", types.MergePatchType, []byte(text), metav1.PatchOptions{}))(t)
	}
	if got := replicaSets(); got != 1 {
		t.Fatalf("%d ReplicaSets, want 1", got)
	}
	patch(`{"metadata": {"labels": {"team": "shop"}}, "spec": {"minReadySeconds": 1}}`)
	const change = `{"stringData": {"password": "second"}}`
	testkit.Must(secrets.Patch(t.Context(), "example", types.MergePatchType, []byte(change), metav1.PatchOptions{}))(t)
	if got := replicaSets(); got != 1 {
		t.Errorf("after changes of the Deployment and of the Secret: %d ReplicaSets, want 1", got)
	}
	patch(`{"spec": {"template": {"metadata": {"annotations": {"example.com/secret-hash": "2"}}}}}`)
	if got := replicaSets(); got != 2 {
		t.Errorf("after a change of the template: %d ReplicaSets, want 2", got)
	}
}
