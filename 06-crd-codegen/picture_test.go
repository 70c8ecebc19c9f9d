package main

import (
	"encoding/base64"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/client-go-workbook/internal/test/browser"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestPicture shows a DatabaseManager with its children, and no password. Chapter 4's and chapter 5's tests have what the pages have in
// common.
func TestPicture(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	b := browser.Start(t)
	// The buttons create a DatabaseManager, which the controller's ServiceAccount may not.
	_, page := b.OpenChapter(t, "--kubeconfig", testcluster.Kubeconfig(t), "--context", "workbook", "-n", e.namespace)
	page.Press(t, "Create")
	for _, kind := range []string{"Secret", "Deployment", "Service"} {
		page.Await(t, "a "+kind, browser.Event("store: ADDED "+kind+" "+e.namespace+"/"))
	}
	page.Await(t, "the pod, which the Deployment does not own itself", browser.Event("store: ADDED Pod "+e.namespace+"/"))
	page.Await(t, "a line from each child to the owner", "document.querySelectorAll('#dots path').length === 3")
	page.Await(t, "the end of the syncs", browser.Count("workers")+" === 'idle' && "+browser.Count("queue")+" === '0 queued, 0 dirty'")
	page.Axe(t)
	browser.Do[any](t, page, "scrollTo(0, 0)")
	page.Illustrate(t, "picture.png", "../internal/picture/page", 720)

	secret := testkit.Must(e.secrets.Get(t.Context(), "sample-db-root", metav1.GetOptions{}))(t)
	page.AwaitEvent(t, "the Secret, without its values", "store: ADDED Secret",
		"/\\(hidden\\)/.test(document.querySelector('#event pre')?.textContent)")
	shown := browser.Do[string](t, page, `fetch('/object?kind=Secret&key=`+e.namespace+`/sample-db-root&seq=999999')
		.then(answer => answer.text()).then(text => text + document.documentElement.textContent)`)
	for name, value := range secret.Data {
		if encoded := base64.StdEncoding.EncodeToString(value); strings.Contains(shown, string(value)) || strings.Contains(shown, encoded) {
			t.Errorf("the page has the Secret's %s", name)
		}
	}
	page.Press(t, "Change")
	until(e, "two replicas", get(e.deployments.Get, "sample-db"), func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == 2 })
	page.AwaitEvent(t, "what the sync has asked for, which differs in one field",
		"sample PATCH /apis/apps/v1/namespaces/"+e.namespace+"/deployments",
		"/^spec.replicas\\t2\\t1\\t[^,]*$/.test("+browser.Differs+".join())")
	page.Press(t, "Delete")
	page.Await(t, "an empty store", browser.Count("store")+" === '0 objects'")
}
