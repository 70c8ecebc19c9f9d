package lister

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/podstore"
)

type indexer = cache.TypedIndexer[*corev1.Pod]

// NodeIndexAnswer is what exercise.go has.
type NodeIndexAnswer struct {
	AddIndex func(pods indexer) error
	PodsOn   func(pods indexer, node string) ([]string, error)
}

// NodeIndex grades the answers to "An index by node".
var NodeIndex = grade.Exercise[NodeIndexAnswer]{Grade: gradeNodeIndex}

const podsOnNodes = 1000

func gradeNodeIndex(t *grade.T, a NodeIndexAnswer) {
	store := newNodeCluster(t, podsOnNodes)
	unchanged := t.Unchanged(store.Indexer.List()[:podsOnNodes/10]...)
	if err := addNodeIndex(a, store.Store); err != nil {
		t.Reject("an index that takes every pod, one without a node too", err.Error(),
			`"Index functions" in the chapter's README`)
	}
	store.check(a, "", "AddTypedIndexers, IndexKeys and ByTypedIndex of the store")
	for index := range store.GetIndexers() {
		for _, value := range store.Indexer.ListIndexFuncValues(index) {
			keys, err := store.Indexer.IndexKeys(index, value)
			if err != nil {
				t.Fatal(err)
			}
			if index != cache.NamespaceIndex && slices.Contains(keys, pending) {
				t.Reject("an index of the pods that have a node",
					fmt.Sprintf("in index %s, an entry for %q with pod %s, which has no node yet", index, value, pending),
					`"Index functions" in the chapter's README`)
			}
		}
	}

	node := store.nodes[t.Rand.IntN(len(store.nodes))]
	store.put(pending, node)
	store.want[node] = append(store.want[node], pending)
	store.check(a, " after pod "+pending+" has got node "+node, "does PodsOn ask the store each time?")

	gone := store.want[node][0]
	deleted, exists, err := store.Indexer.GetByKey(gone)
	if err != nil || !exists {
		t.Fatal(gone, exists, err)
	}
	if err := store.Delete(deleted); err != nil {
		t.Fatal(err)
	}
	store.want[node] = store.want[node][1:]
	store.check(a, " after pod "+gone+" was deleted", "does PodsOn ask the store each time?")
	elsewhere := store.nodes[(slices.Index(store.nodes, node)+1)%len(store.nodes)]
	store.put(gone, elsewhere)
	store.want[elsewhere] = append(store.want[elsewhere], gone)
	store.check(a, " after pod "+gone+" was created again on "+elsewhere, "does your index function read the pod each time?")
	unchanged()

	other := newNodeCluster(t, podsOnNodes/10)
	if err := addNodeIndex(a, other.Store); err != nil {
		t.Reject("another store gets the index, too", err.Error(), "what your AddIndex keeps from its first call")
	}
	const look = "which store do AddIndex and PodsOn use? It is their first argument, and nothing is kept from another"
	other.check(a, " of another store", look)
	store.check(a, " after another store has got an index", look)

	for index := range store.GetIndexers() {
		taken := podstore.New()
		if err := taken.AddIndexers(cache.Indexers{index: func(any) ([]string, error) { return nil, nil }}); err != nil {
			continue // the index by namespace, which each store has
		}
		if err := addNodeIndex(a, taken); err == nil {
			t.Reject("the store's error: it already has an index of that name, of somebody else", "AddIndex returns no error",
				"a name does not say what an index finds: which error does AddTypedIndexers return?")
		}
	}

	failure := fmt.Errorf("failure %d of the store", t.Rand.IntN(1000))
	store.Failure = failure
	if keys, err := a.PodsOn(store.Store, node); err == nil {
		t.Reject("the store's error: "+failure.Error(), "PodsOn returns no error, and "+firstKeys(keys), "the error of the lookup")
	}
	without := podstore.New()
	if keys, err := a.PodsOn(without, node); err == nil {
		t.Reject("the store's error: it has no such index", "PodsOn returns no error, and "+firstKeys(keys), "the error of the lookup")
	}
	broken := podstore.New()
	broken.Failure = failure
	if err := addNodeIndex(a, broken); err == nil {
		t.Reject("the store's error: "+failure.Error(), "AddIndex returns no error", "the error of AddTypedIndexers")
	}
}

// pending has no node at first.
const pending = "shop/pending"

// nodeCluster is a store with the pods of a cluster.
type nodeCluster struct {
	*podstore.Store
	t     *grade.T
	nodes []string
	want  map[string][]string // keys, by node
}

func newNodeCluster(t *grade.T, count int) *nodeCluster {
	c := &nodeCluster{Store: podstore.New(), t: t, want: map[string][]string{}}
	c.nodes = []string{"n-1", "n-11", fmt.Sprintf("n-%d", 100+t.Rand.IntN(100)), "n-empty"}
	for number := range count - 1 {
		// In the order of keys, shop-2/web is before shop/web.
		key := fmt.Sprintf("%s/web-%d", []string{"shop", "bank", "shop-2"}[number/3%3], number)
		node := fmt.Sprintf("other-%d", number%50)
		if number < 30 {
			node = c.nodes[number%3]
			c.want[node] = append(c.want[node], key)
		}
		c.put(key, node)
	}
	c.put(pending, "")
	return c
}

func (c *nodeCluster) put(key, node string) {
	c.t.Helper()
	name, err := cache.ParseObjectName(key)
	if err != nil {
		c.t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	grade.Filled(pod) // it also has a node that it is nominated for
	pod.Spec.NodeName = node
	// A pod is on its node until it has gone, whatever its state is.
	phases := []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}
	pod.Status.Phase = phases[c.t.Rand.IntN(len(phases))]
	if c.t.Rand.IntN(3) == 0 {
		pod.DeletionTimestamp = new(metav1.Now())
	}
	if err := c.Add(pod); err != nil {
		c.t.Fatal(err)
	}
}

// check asks for the pods of each node.
func (c *nodeCluster) check(a NodeIndexAnswer, when, look string) {
	c.t.Helper()
	for _, node := range c.nodes {
		want := c.want[node]
		slices.Sort(want)
		before := c.Read()
		got, err := a.PodsOn(c.Store, node)
		missing := slices.IndexFunc(want, func(key string) bool { return !slices.Contains(got, key) })
		switch {
		case err == nil && !slices.Equal(got, want) && slices.Equal(slices.Sorted(slices.Values(got)), want):
			c.t.Reject(fmt.Sprintf("for node %s%s, the keys %s", node, when, firstKeys(want)),
				"the same keys in another order: "+firstKeys(got),
				"the whole keys are sorted, as texts: shop-2/a is before shop/a")
		case err == nil && when == "" && len(got) > 0 && missing >= 0:
			c.t.Reject(fmt.Sprintf("for node %s, its %d keys, whatever the pods' state is", node, len(want)),
				fmt.Sprintf("%d keys, without %s, which is on the node", len(got), want[missing]),
				"which pods does your index function leave out? Only those without a node")
		case err != nil || !slices.Equal(got, want):
			c.t.Reject(fmt.Sprintf("for node %s%s, the keys %s", node, when, firstKeys(want)),
				fmt.Sprintf("%s, error: %v", firstKeys(got), err), look)
		}
		if read := c.Read() - before; read > 3*len(want)+3 {
			c.t.Reject(fmt.Sprintf("for node %s, its %d pods read from the store", node, len(want)),
				fmt.Sprintf("%d objects or keys read", read),
				`"By key, by index, by scan" in the chapter's README`)
		}
	}
}

// addNodeIndex adds the index. An index function that returns an error makes the store panic.
func addNodeIndex(a NodeIndexAnswer, store *podstore.Store) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the store panicked: %v", r)
		}
	}()
	return a.AddIndex(store)
}

// firstKeys returns the first keys, to keep the line short.
func firstKeys(keys []string) string {
	if len(keys) > 3 {
		return fmt.Sprintf("%s ... (%d)", keys[:3], len(keys))
	}
	return fmt.Sprint(keys)
}
