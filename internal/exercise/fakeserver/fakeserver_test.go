package fakeserver

import (
	"context"
	"fmt"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/test/testkit"
)

func pod(name, phase string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Status:     corev1.PodStatus{Phase: corev1.PodPhase(phase)},
	}
}

func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case event := <-w.ResultChan():
		return event
	case <-t.Context().Done():
		t.Fatal("no event")
		return watch.Event{}
	}
}

func TestOrders(t *testing.T) {
	s := Start(t)
	pods := s.Core().Pods("default")
	first := s.Create(pod("a", "Pending"))
	listed := testkit.Must(pods.List(t.Context(), metav1.ListOptions{}))(t)
	if listed.ResourceVersion != first || len(listed.Items) != 1 || s.Version() != first {
		t.Errorf("listed %d pods at %s, want 1 at %s", len(listed.Items), listed.ResourceVersion, first)
	}
	watched := testkit.Must(pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: first, AllowWatchBookmarks: true}))(t)
	defer watched.Stop()
	testkit.Await(t, "the watch", func() bool { return s.Watches() == 1 })

	second := s.Update(pod("a", "Running"))
	if event := next(t, watched); event.Type != watch.Modified || event.Object.(*corev1.Pod).ResourceVersion != second ||
		event.Object.(*corev1.Pod).Status.Phase != corev1.PodRunning {
		t.Errorf("got %+v, want the pod in version %s", event, second)
	}
	s.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	if sent := s.Bookmark(); sent != 1 {
		t.Errorf("a bookmark for %d watches, want 1", sent)
	}
	if event := next(t, watched); event.Type != watch.Bookmark || event.Object.(*corev1.Pod).ResourceVersion != s.Version() {
		t.Errorf("got %+v, want a bookmark of version %s", event, s.Version())
	}
	last := s.Delete(pod("a", ""))
	if closed := s.CloseWatches(); closed != 1 || s.Watches() != 0 {
		t.Errorf("closed %d watches, and %d are open, want 1 and 0", closed, s.Watches())
	}
	if event := next(t, watched); event.Type != watch.Deleted || event.Object.(*corev1.Pod).ResourceVersion != last {
		t.Errorf("got %+v, want the deletion before the end", event)
	}
	if event, open := <-watched.ResultChan(); open {
		t.Errorf("got %+v, want the end", event)
	}

	s.Compact()
	expired := testkit.Must(pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: second}))(t)
	defer expired.Stop()
	if event := next(t, expired); event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("got %+v, want 410", event)
	}

	var verbs []string
	for _, request := range s.Requests("list", "watch") {
		if request.Resource != "pods" || request.Namespace != "default" {
			t.Errorf("got %+v, want pods in default", request)
		}
		verbs = append(verbs, request.Verb+request.Query.Get("resourceVersion"))
	}
	if len(verbs) != 3 || verbs[0] != "list" || verbs[1] != "watch"+first || verbs[2] != "watch"+second {
		t.Errorf("requests %q", verbs)
	}
}

func TestSilence(t *testing.T) {
	s := Start(t)
	pods := s.Core().Pods("default")
	watched := testkit.Must(pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: s.Version()}))(t)
	defer watched.Stop()
	s.Create(pod("a", ""))
	next(t, watched)
	if silenced := s.Silence(); silenced != 1 {
		t.Fatalf("silenced %d connections, want 1", silenced)
	}
	s.Create(pod("b", ""))
	// A client of its own, and so another connection, which is not silent.
	other := testkit.Must(typedappsv1.NewForConfig(s.Config()))(t)
	testkit.Must(other.Deployments("default").List(t.Context(), metav1.ListOptions{}))(t)
	select {
	case event := <-watched.ResultChan():
		t.Errorf("got %+v on a silent connection", event)
	default:
	}
}

// TestClients has the clients that chapters use, on resources of two groups.
func TestClients(t *testing.T) {
	s := Start(t)
	deployments := testkit.Must(typedappsv1.NewForConfig(s.Config()))(t).Deployments("default")
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	created := testkit.Must(deployments.Create(t.Context(), web, metav1.CreateOptions{}))(t)
	created.Status.Replicas = 3
	updated := testkit.Must(deployments.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}))(t)
	if updated.Status.Replicas != 3 || updated.UID == "" || updated.ResourceVersion == created.ResourceVersion {
		t.Errorf("got %+v", updated)
	}
	if _, err := deployments.UpdateStatus(t.Context(), created.DeepCopy(), metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an update of the version before: %v, want a conflict", err)
	}

	resource := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	dynamics := testkit.Must(dynamic.NewForConfig(s.Config()))(t).Resource(resource)
	if list := testkit.Must(dynamics.List(t.Context(), metav1.ListOptions{}))(t); len(list.Items) != 1 || list.Items[0].GetName() != "web" {
		t.Errorf("the dynamic client lists %+v", list.Items)
	}
	partial := testkit.Must(metadata.NewForConfig(s.Config()))(t).Resource(resource)
	if list := testkit.Must(partial.List(t.Context(), metav1.ListOptions{}))(t); len(list.Items) != 1 || list.Items[0].UID != updated.UID {
		t.Errorf("the metadata client lists %+v", list.Items)
	}

	if err := deployments.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := deployments.Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted one: %v, want not found", err)
	}
}

// TestInformer: an informer fills its store by a streaming list, and follows.
func TestInformer(t *testing.T) {
	s := Start(t)
	for i := range 100 {
		s.Create(pod(fmt.Sprintf("pod-%d", i), ""))
	}
	informer := cache.NewSharedIndexInformer(
		cache.NewListWatchFromClient(s.Core().RESTClient(), "pods", metav1.NamespaceAll, fields.Everything()), &corev1.Pod{}, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	defer group.Wait()
	defer cancel()
	for _, step := range []func(){
		func() {},
		func() { s.Create(pod("more", "")) },
		func() { s.CloseWatches(); s.Delete(pod("more", "")) },
		func() { s.CloseWatches(); s.Compact(); s.Create(pod("more", "")) },
	} {
		step()
		testkit.Await(t, "the store to have version "+s.Version(), func() bool {
			return informer.HasSynced() && informer.LastSyncResourceVersion() == s.Version()
		})
	}
	if got := len(informer.GetStore().ListKeys()); got != 101 {
		t.Errorf("%d pods in the store, want 101", got)
	}
	if lists := s.Requests("list"); len(lists) != 0 {
		t.Errorf("%d lists, want none: %v", len(lists), lists)
	}
}

func TestNextWrite(t *testing.T) {
	s := Start(t)
	s.NextWrite(10_000_000_000)
	if version := s.Create(pod("a", "")); version != "10000000000" {
		t.Errorf("the version %s, want the one that was ordered", version)
	}
	s.NextWrite(10)
	if version := s.Delete(pod("a", "")); len(version) != 11 || version == "10000000000" {
		t.Errorf("the version %s, want a later one", version)
	}
}
