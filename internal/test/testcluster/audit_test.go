package testcluster

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
)

// TestAudit makes requests as a user who has one permission too many, and lacks some.
func TestAudit(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "role.yaml")
	if err := os.WriteFile(manifest, []byte(`
kind: ClusterRole
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [watch, get, create, patch, delete]}
---
kind: Role
rules:
- {apiGroups: [""], resources: [secrets], verbs: [patch]}
- {apiGroups: [""], resources: [pods, pods/status], verbs: [get]}
- {apiGroups: ["", apps], resources: [deployments], verbs: [get]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	admin := Config(t)
	namespace := Namespace(t, admin)
	rules, err := Rules(manifest)
	if err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(AsServiceAccount(t, admin, namespace, "audited", rules))
	core, apply := client.CoreV1(), metav1.ApplyOptions{FieldManager: "audited"}
	expect := func(what string, err error, is func(error) bool) {
		t.Helper()
		if !is(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	allowed := func(err error) bool { return err == nil }

	_, err = core.ConfigMaps(namespace).Apply(t.Context(), corev1ac.ConfigMap("a", namespace), apply)
	expect("an apply that creates", err, allowed)
	watch, err := core.ConfigMaps(namespace).Watch(t.Context(), metav1.ListOptions{})
	expect("watch", err, allowed)
	watch.Stop()
	_, err = core.ConfigMaps(namespace).Get(t.Context(), "a", metav1.GetOptions{})
	expect("get", err, allowed)
	_, err = core.ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
	expect("list", err, apierrors.IsForbidden)
	_, err = core.Secrets(namespace).Apply(t.Context(), corev1ac.Secret("a", namespace), apply)
	expect("an apply that would create", err, apierrors.IsForbidden)
	err = core.RESTClient().Get().Namespace(namespace).Resource("pods").Name("a").SubResource("status").Do(t.Context()).Error()
	expect("get a subresource", err, apierrors.IsNotFound)
	_, err = client.AppsV1().Deployments(namespace).Get(t.Context(), "a", metav1.GetOptions{})
	expect("get a Deployment", err, apierrors.IsNotFound)

	usage, err := Audit("audited", namespace)
	if errors.Is(err, ErrOtherCluster) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	missing, unused := usage.Compare(rules)
	if want := []string{"create secrets", "list configmaps"}; !slices.Equal(missing, want) {
		t.Errorf("missing %q, want %q", missing, want)
	}
	if want := []string{"delete configmaps", "get deployments", "get pods"}; !slices.Equal(unused, want) {
		t.Errorf("unused %q, want %q", unused, want)
	}
	if missing, _ := usage.Compare(rules[1:]); !slices.Contains(missing, "watch configmaps") {
		t.Errorf("without the first rule: missing %q", missing)
	}
}
