package pictures

import (
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/test/browser"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestController follows a sync, shows what it asks for, and lets two programs elect a leader. Chapter 4's test has what the pages have
// in common.
func TestController(t *testing.T) {
	b := browser.Start(t, "05-controller")
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	deployments := kubernetes.NewForConfigOrDie(config).AppsV1().Deployments(namespace)
	args := []string{"--kubeconfig", testcluster.Kubeconfig(t), "--context", "workbook", "-n", namespace, "--leader-elect"}
	leader, page := b.OpenChapter(t, args...)
	page.Await(t, "that it leads", "document.getElementById('leader').textContent === 'This process leads.'")

	page.Press(t, "Create")
	page.Await(t, "the ConfigMap and its Deployment", browser.Count("store")+" === '2 objects'")
	page.Await(t, "a line to the owner", "document.querySelectorAll('#dots path').length === 1")
	apply := "request " + namespace + "/sample PATCH"
	page.AwaitEvent(t, "what the Deployment shall have", apply, browser.Differs+`.includes('spec.replicas\t1\t\t')`)
	page.Axe(t)

	// Somebody else changes a field. The next sync asks for its value, and no other field differs.
	page.Press(t, "Hold a worker")
	patch, options := []byte(`{"spec": {"replicas": 3}}`), metav1.PatchOptions{FieldManager: "somebody"}
	testkit.Must(deployments.Patch(t.Context(), "sample-db", types.MergePatchType, patch, options))(t)
	page.Await(t, "the change in the store", browser.Event("store: MODIFIED Deployment "+namespace+"/sample-db"))
	page.Press(t, "Hold a worker")
	page.AwaitEvent(t, "one field that differs, whose manager is the other", apply,
		browser.Differs+`.join() === 'spec.replicas\t1\t3\tsomebody'`)
	page.Axe(t)
	browser.Do[any](t, page, "document.querySelector('#event table').scrollIntoView(), scrollTo(0, document.body.scrollHeight)")
	page.Illustrate(t, "05-controller", 720)

	// Another process waits, and leads when this one has ended.
	_, other := b.OpenChapter(t, args...)
	other.Await(t, "that it waits", "/^This process waits: .* leads.$/.test(document.getElementById('leader').textContent)")
	leader.Signal(t, syscall.SIGTERM)
	if code := leader.Exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	other.Await(t, "that it leads", "document.getElementById('leader').textContent === 'This process leads.'")
	other.Press(t, "Delete")
	other.Await(t, "an empty store", browser.Count("store")+" === '0 objects'")
	other.Await(t, "no line", "document.querySelectorAll('#dots path').length === 0")
}
