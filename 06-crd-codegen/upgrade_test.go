package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// newerVersion is what a newer version of this chapter changes, for a field spec.port, a field of the status, and one of its
// conditions: in each file, texts, and after each one what takes its place. The README has the first field as an exercise.
var newerVersion = map[string][]string{
	"crd/coolops.cn_databasemanagers.yaml": {
		"              replicas:\n                default: 1\n", `              port:
                default: 3306
                format: int32
                maximum: 65535
                minimum: 1024
                type: integer
              replicas:
                default: 1
`,
		"              availableReplicas:\n                description: How many", `              backups:
                type: integer
              availableReplicas:
                description: How many`,
		"                    lastTransitionTime:\n", `                    severity:
                      type: string
                    lastTransitionTime:
`,
	},
	"pkg/apis/databasemanager/v1alpha1/types.go": {
		"type DatabaseManagerSpec struct {\n",
		"type DatabaseManagerSpec struct {\n\tPort int32 `json:\"port,omitempty\"`\n",
	},
	"database/database.go": {"WithPort(Port).\n", "WithPort(d.Spec.Port).\n"},
}

// newerFile returns a file of the newer version.
func newerFile(t *testing.T, name string) []byte {
	t.Helper()
	old := string(testkit.Must(os.ReadFile(name))(t))
	for pair := range slices.Chunk(newerVersion[name], 2) {
		if strings.Count(old, pair[0]) != 1 {
			t.Fatalf("%q is not once in %s: correct this test", pair[0], name)
		}
	}
	return []byte(strings.NewReplacer(newerVersion[name]...).Replace(old))
}

// newerProgram builds the newer version's program, as `make chapter 6` builds this one.
func newerProgram(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {}}
	for name := range newerVersion {
		if filepath.Ext(name) == ".go" {
			path := filepath.Join(folder, filepath.Base(name))
			if err := os.WriteFile(path, newerFile(t, name), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay["Replace"][testkit.Must(filepath.Abs(name))(t)] = path
		}
	}
	file := filepath.Join(folder, "overlay.json")
	text, err := json.Marshal(overlay)
	if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return testcluster.Build(t, "./06-crd-codegen", "-overlay", file)
}

// appliedTo returns what changes when the controller writes to a Deployment. The resourceVersion also changes with each status, which
// Kubernetes' Deployment controller writes when it gets to it.
func appliedTo(deployment *appsv1.Deployment) string {
	owners, _ := json.Marshal(deployment.OwnerReferences) // which have pointers
	all := fmt.Sprintln(deployment.UID, deployment.Generation, deployment.Labels, string(owners))
	for _, entry := range deployment.ManagedFields {
		if entry.Manager == database.FieldManager {
			all += fmt.Sprintln(entry.Operation, entry.Time, entry.FieldsV1.GetRawString())
		}
	}
	return all
}

// newerVersionAndBack gives the CRD one more field while objects exist and this version's controller runs. Then a newer
// controller takes over, which uses the field, and this one again.
func newerVersionAndBack(t *testing.T, cluster *testcluster.Cluster) {
	newer := newerProgram(t)
	e := newEnvOn(t, cluster.Config())
	_, stop := e.run(e.config)
	for _, name := range []string{"unchanged", "changed"} {
		e.create(name, func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = name })
		e.untilReady(name, rollout.ReasonReplicasReady)
	}
	versions := func() []string {
		return []string{
			appliedTo(e.deployment("unchanged")), e.service("unchanged").ResourceVersion, e.secret("unchanged-root").ResourceVersion,
			string(e.secret("changed-root").UID), // immutable, so it has the same password; only its owner reference comes and goes
		}
	}
	before := versions()
	resource := schema.GroupVersionResource{Group: dbv1alpha1.GroupName, Version: "v1alpha1", Resource: "databasemanagers"}
	objects := dynamic.NewForConfigOrDie(e.admin).Resource(resource).Namespace(e.namespace)
	specPort := func(name string) int64 {
		t.Helper()
		object := testkit.Must(objects.Get(t.Context(), name, metav1.GetOptions{}))(t)
		port, _, err := unstructured.NestedInt64(object.Object, "spec", "port")
		if err != nil {
			t.Fatal(err)
		}
		return port
	}
	servicePort := func(want int32) {
		t.Helper()
		until(e, "the Service's port, and others' session affinity", get(e.services.Get, "changed"), func(s *corev1.Service) bool {
			return s.Spec.Ports[0].Port == want && s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP
		})
	}
	const affinity = `{"spec": {"sessionAffinity": "ClientIP"}}`
	testkit.Must(e.services.Patch(t.Context(), "changed", types.MergePatchType, []byte(affinity), metav1.PatchOptions{}))(t)

	// The CRD is the first to change: the server drops a field that it does not know.
	if err := testcluster.InstallCRD(t.Context(), e.admin, newerFile(t, "crd/coolops.cn_databasemanagers.yaml")); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the default, in an object that was stored without the field", func() bool {
		return specPort("unchanged") == database.Port
	})

	// Others set the fields. This version's controller does not know them, and writes the finalizer and the status.
	const theirs = `[{"op": "add", "path": "/status/backups", "value": 3},
		{"op": "add", "path": "/status/conditions/0/severity", "value": "low"}]`
	testkit.Must(objects.Patch(t.Context(), "changed", types.JSONPatchType, []byte(theirs), metav1.PatchOptions{}, "status"))(t)
	e.patch("changed", `{"spec": {"port": 3307, "deletionPolicy": "Retain"}}`)
	if d := e.untilReady("changed", rollout.ReasonReplicasReady); len(d.Finalizers) != 1 || specPort("changed") != 3307 {
		t.Errorf("finalizers %q, port %d, want the finalizer and the port 3307", d.Finalizers, specPort("changed"))
	}
	status, _, err := unstructured.NestedMap(testkit.Must(objects.Get(t.Context(), "changed", metav1.GetOptions{}))(t).Object, "status")
	severity := status["conditions"].([]any)[0].(map[string]any)["severity"]
	if err != nil || status["backups"] != int64(3) || severity != "low" {
		t.Errorf("%v backups, severity %v, want 3 and low, as before this version has written the status", status["backups"], severity)
	}
	stop()

	process := testkit.Start(t, exec.Command(newer, "--kubeconfig="+cluster.Kubeconfig(), "--namespace="+e.namespace))
	servicePort(3307)
	process.Signal(t, syscall.SIGTERM)
	if code := process.Exit(t); code != 0 {
		t.Errorf("the newer version ends with exit code %d", code)
	}

	e.run(e.config)
	servicePort(database.Port)
	e.patch("changed", `{"spec": {"deletionPolicy": "Delete"}}`)
	if d := e.untilReady("changed", rollout.ReasonReplicasReady); len(d.Finalizers) != 0 || specPort("changed") != 3307 {
		t.Errorf("finalizers %q, port %d, want none and the port 3307", d.Finalizers, specPort("changed"))
	}
	if diff := cmp.Diff(before, versions()); diff != "" {
		t.Errorf("what does not depend on the field (-before +after):\n%s", diff)
	}
}
