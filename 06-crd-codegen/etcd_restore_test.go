package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// etcdRestored puts back etcd's data of a while ago under two running controllers. One has something to
// sync: it ends with a line that names the cause. The other one has nothing: its /healthz fails.
func etcdRestored(t *testing.T, cluster *testcluster.Cluster) {
	e := newEnvOn(t, cluster.Config())
	idle := envIn(t, e.admin, testcluster.Namespace(t, e.admin))
	e.create("example", func(s *dbv1alpha1.DatabaseManagerSpec) { s.Version = "8.4.0" })
	// Not the ServiceAccount's: a new API server first forbids all to those whose permissions it has not read yet, and at that
	// informers list again by themselves.
	kubeconfig := cluster.Kubeconfig()
	controller := e.startProcess(kubeconfig)
	e.untilVersion("8.4.0")
	saved := cluster.SaveEtcd(t)

	for i := range 300 { // so that the versions which are lost are not there again at once
		patch := fmt.Appendf(nil, `{"metadata": {"annotations": {"i": "%d"}}}`, i)
		testkit.Must(e.client.CoreV1().Namespaces().Patch(t.Context(), e.namespace, types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	}
	e.patch("example", `{"spec": {"version": "8.4.2"}}`)
	e.untilVersion("8.4.2")
	waiting := idle.startProcess(kubeconfig, listenVar+"=127.0.0.1:0")
	url := waiting.Await(t, `http://\S+`)
	testkit.Await(t, "the second controller to be healthy and ready", func() bool {
		return probe(url+"/healthz") == "200 ok" && probe(url+"/readyz") == "200 ok"
	}, &waiting.Out)
	cluster.RestoreEtcd(t, saved)
	e.patch("example", `{"spec": {"version": "8.4.3"}}`)

	const says = "etcd was restored from a snapshot"
	if code := controller.Exit(t); code != 1 || strings.Count(controller.Err.String(), says) != 1 {
		t.Errorf("the controller has ended with exit code %d:\n%s", code, &controller.Err)
	}
	var health string
	testkit.Await(t, "the second controller's /healthz to fail", func() bool {
		health = probe(url + "/healthz")
		return strings.HasPrefix(health, "503 ") && strings.Contains(health, says)
	}, &health)

	e.startProcess(kubeconfig)
	e.untilVersion("8.4.3")
}

// untilVersion waits until the Deployment runs that version.
func (e *env) untilVersion(version string) {
	e.Helper()
	until(e, "version "+version, get(e.deployments.Get, "db"), func(d *appsv1.Deployment) bool {
		return strings.HasSuffix(d.Spec.Template.Spec.Containers[0].Image, ":"+version)
	})
}

// probe returns the status code and the text of the answer, or the error.
func probe(url string) string {
	response, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(response.StatusCode, " ", strings.TrimSpace(string(body)))
}
