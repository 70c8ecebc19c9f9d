package pictures

import (
	"encoding/base64"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/test/browser"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestCRD shows a DatabaseManager with its children, and no password. Chapter 4's and chapter 5's tests have what the pages have in
// common.
func TestCRD(t *testing.T) {
	b := browser.Start(t, "06-crd-codegen")
	config := testcluster.Config(t)
	testcluster.InstallDatabaseManagers(t, config)
	namespace := testcluster.Namespace(t, config)
	testcluster.IdleContainers(t, config, namespace)
	client := kubernetes.NewForConfigOrDie(config)
	_, page := b.OpenChapter(t, "--kubeconfig", testcluster.Kubeconfig(t), "--context", "workbook", "-n", namespace)
	page.Press(t, "Create")
	for _, kind := range []string{"Secret", "Deployment", "Service"} {
		page.Await(t, "a "+kind, browser.Event("store: ADDED "+kind+" "+namespace+"/"))
	}
	page.Await(t, "the pod, which the Deployment does not own itself", browser.Event("store: ADDED Pod "+namespace+"/"))
	page.Await(t, "a line from each child to the owner", "document.querySelectorAll('#dots path').length === 3")
	page.Await(t, "the end of the syncs", browser.Count("workers")+" === 'idle' && "+browser.Count("queue")+" === '0 queued, 0 dirty'")
	page.Axe(t)
	browser.Do[any](t, page, "scrollTo(0, 0)")
	page.Illustrate(t, "06-crd-codegen", 720)

	secret := testkit.Must(client.CoreV1().Secrets(namespace).Get(t.Context(), "sample-db-root", metav1.GetOptions{}))(t)
	page.AwaitEvent(t, "the Secret, without its values", "store: ADDED Secret",
		"/\\(hidden\\)/.test(document.querySelector('#event pre')?.textContent)")
	shown := browser.Do[string](t, page, `fetch('/object?kind=Secret&key=`+namespace+`/sample-db-root&seq=999999')
		.then(answer => answer.text()).then(text => text + document.documentElement.textContent)`)
	for name, value := range secret.Data {
		if encoded := base64.StdEncoding.EncodeToString(value); strings.Contains(shown, string(value)) || strings.Contains(shown, encoded) {
			t.Errorf("the page has the Secret's %s", name)
		}
	}
	page.Press(t, "Change")
	testkit.Await(t, "two replicas", func() bool {
		d := testkit.Must(client.AppsV1().Deployments(namespace).Get(t.Context(), "sample-db", metav1.GetOptions{}))(t)
		return *d.Spec.Replicas == 2
	})
	page.AwaitEvent(t, "what the sync has asked for, which differs in one field",
		"sample PATCH /apis/apps/v1/namespaces/"+namespace+"/deployments",
		"/^spec.replicas\\t2\\t1\\t[^,]*$/.test("+browser.Differs+".join())")
	page.Press(t, "Delete")
	page.Await(t, "an empty store", browser.Count("store")+" === '0 objects'")
}
