package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/test/testkit"
)

// newCache returns a cache that no informer fills: only what it begins with is in it.
func newCache(t testing.TB, descriptions ...string) podCache {
	t.Helper()
	pods := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Pods()
	c := podCache{pods.Lister(), pods.TypedInformer().GetTypedIndexer()}
	if err := c.indexer.AddTypedIndexers(podIndexers); err != nil {
		t.Fatal(err)
	}
	for _, description := range descriptions {
		if err := c.indexer.Add(newPod(description)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// ask returns the names of the pods that a query finds.
func ask(t *testing.T, pods podCache, text string) []string {
	t.Helper()
	q, err := language.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	found, err := q.list(pods)
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	var names []string
	for _, name := range found.names() {
		names = append(names, name.String())
	}
	return names
}

var somePods = []string{
	"default/web-1 node=n1 image=nginx:1 image=envoy:2 owner=web app=web tier=front",
	"default/web-2 node=n2 image=nginx:1 image=envoy:2 owner=web app=web",
	"default/job node=n1 image=busybox owner=cron owner=web app=job",
	"shop/web-1 node=n3 image=nginx:2 app=web",
	"shop/waiting image=nginx:2 app=web",
}

func TestQueries(t *testing.T) {
	pods := newCache(t, somePods...)
	for text, want := range map[string]struct {
		path  accessPath
		names string
	}{
		"name=web-1":                                   {byKey, "default/web-1 shop/web-1"},
		"name=shop/web-1":                              {byKey, "shop/web-1"},
		"name=nowhere/web-1":                           {byKey, ""},
		"namespace=shop":                               {byIndex, "shop/waiting shop/web-1"},
		"namespace=nowhere":                            {byIndex, ""},
		"node=n1":                                      {byIndex, "default/job default/web-1"},
		"image=nginx":                                  {byIndex, "default/web-1 default/web-2 shop/waiting shop/web-1"},
		"image=nginx:1":                                {byIndex, "default/web-1 default/web-2"},
		"image=envoy":                                  {byIndex, "default/web-1 default/web-2"},
		"owner=web":                                    {byIndex, "default/job default/web-1 default/web-2"},
		"label=app=web":                                {byScan, "default/web-1 default/web-2 shop/waiting shop/web-1"},
		"label=app=web,tier!=front":                    {byScan, "default/web-2 shop/waiting shop/web-1"},
		"label=!tier":                                  {byScan, "default/job default/web-2 shop/waiting shop/web-1"},
		"image=nginx and image=envoy:2":                {byIndex, "default/web-1 default/web-2"},
		"image=nginx and node=n3":                      {byIndex, "shop/web-1"},
		"node=n1 and node=n2":                          {byIndex, ""},
		"label=app=web and node=n1":                    {byIndex, "default/web-1"},
		"node=n1 and label=app=web":                    {byIndex, "default/web-1"},
		"node=n1 and name=web-1":                       {byKey, "default/web-1"},
		"node=n1 or node=n3":                           {byIndex, "default/job default/web-1 shop/web-1"},
		"node=n1 or owner=web":                         {byIndex, "default/job default/web-1 default/web-2"},
		"name=job or label=tier":                       {byScan, "default/job default/web-1"},
		"node=n1 or node=n2 and image=nginx":           {byIndex, "default/job default/web-1 default/web-2"},
		"(node=n1 or node=n2) and image=nginx":         {byIndex, "default/web-1 default/web-2"},
		"namespace=shop and (name=web-1 or label=app)": {byIndex, "shop/waiting shop/web-1"},
	} {
		if got := strings.Join(ask(t, pods, text), " "); got != want.names {
			t.Errorf("%s: got %q, want %q", text, got, want.names)
		}
		if q, _ := language.Parse(text); q.path != want.path {
			t.Errorf("%s: found by %s, want by %s", text, q.path, want.path)
		}
	}
}

func TestWrongTerms(t *testing.T) {
	for text, want := range map[string]string{
		"pod=a":        `at "pod=a", character 1: there is no key "pod": choose from name, namespace, node, image, owner, label`,
		"node!=a":      `at "node!=a", character 1: there is no key "node!": choose from name, namespace, node, image, owner, label`,
		"name=a/b/c":   `at "name=a/b/c", character 1: expected name=NAME or name=NAMESPACE/NAME`,
		"name=a/":      `at "name=a/", character 1: expected name=NAME or name=NAMESPACE/NAME`,
		"label=app=a=": `at "label=app=a=", character 1: found '=', expected: ',' or 'end of string'`,
	} {
		if _, err := language.Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s: got error %v, want %s", text, err, want)
		}
	}
}

// TestEveryAccessPathFindsTheSame compares the answers to random queries with those of the simplest one: to check each pod.
func TestEveryAccessPathFindsTheSame(t *testing.T) {
	pods := newCache(t, somePods...)
	all := testkit.Must(pods.lister.List(labels.Everything()))(t)
	terms := []string{
		"name=web-1", "name=shop/web-1", "name=nobody", "namespace=shop", "namespace=default", "node=n1", "node=n2",
		"image=nginx", "image=nginx:2", "image=envoy", "owner=web", "owner=cron", "label=app=web", "label=!tier",
	}
	random := rand.New(rand.NewPCG(1, 2))
	var compose func(depth int) string
	compose = func(depth int) string {
		if depth == 0 || random.IntN(4) == 0 {
			return terms[random.IntN(len(terms))]
		}
		return fmt.Sprintf("(%s %s %s)", compose(depth-1), []string{"and", "or"}[random.IntN(2)], compose(depth-1))
	}
	for range 1000 {
		text := compose(4)
		q, err := language.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var want []string
		for _, pod := range all {
			if q.matches(pods, pod) {
				want = append(want, cache.MetaObjectToName(pod).String())
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, ask(t, pods, text)); diff != "" {
			t.Fatalf("%s (-by checking each +by %s):\n%s", text, q.path, diff)
		}
	}
}

// TestAndHoldsWhilePodsMove is about two terms and a store that changes between the reading of one and the other.
func TestAndHoldsWhilePodsMove(t *testing.T) {
	pods := newCache(t)
	q := testkit.Must(language.Parse("node=n1 and image=nginx"))(t)
	var group sync.WaitGroup
	done := make(chan struct{})
	for i := range 3 {
		group.Go(func() {
			versions := []*corev1.Pod{ // never both at once
				newPod(fmt.Sprintf("x/%d node=n1 image=httpd", i)),
				newPod(fmt.Sprintf("x/%d node=n2 image=nginx", i)),
			}
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
					if err := pods.indexer.Update(versions[n%2]); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for range 500 {
		found := testkit.Must(q.list(pods))(t)
		if len(found) > 0 {
			t.Errorf("found %v, and no pod was ever on that node with that image", found.names())
			break
		}
	}
	close(done)
	group.Wait()
}
