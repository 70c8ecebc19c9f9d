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

// IndexPaysAnswer is what exercise.go has.
type IndexPaysAnswer struct {
	AddIndex func(pods indexer) error
	Find     func(pods indexer, node, app string) ([]string, error)
}

// IndexPays grades the answers to "An index that pays".
var IndexPays = grade.Exercise[IndexPaysAnswer]{Grade: gradeFind}

// There is one pod for each node and each app.
const nodes, apps, questions = 50, 40, 100

func gradeFind(t *grade.T, a IndexPaysAnswer) {
	c := newPairCluster(t, nodes)
	before := len(c.GetIndexers())
	unchanged := t.Unchanged(c.Indexer.List()[:100]...)
	if err := a.AddIndex(c.Store); err != nil {
		t.Reject("AddIndex adds an index", err.Error(), "AddTypedIndexers of the store")
	}

	pairs := t.Rand.Perm(nodes * apps)[:questions]
	read := c.Read()
	for _, pair := range pairs {
		c.check(a, c.pairs[pair], "", "AddTypedIndexers, IndexKeys and ByTypedIndex of the store")
	}
	if read = c.Read() - read; read > 3*questions {
		t.Reject(fmt.Sprintf("%d questions with one pod each, and not much more read", questions),
			fmt.Sprintf("%d objects or keys for %d answers", read, questions),
			"which value has exactly the pods of one answer?")
	}
	if more := len(c.GetIndexers()) - before; more > 1 {
		t.Reject("one index more in the store",
			fmt.Sprintf("%d more after %d questions: each change of a pod calls %d functions more", more, questions, more),
			"which value has exactly the pods of one answer?")
	}

	for _, similar := range similar {
		c.check(a, similar, "", "the value in the index: can it mean two pairs?")
	}
	c.check(a, crowd, "",
		"which pods have the label app with this value, no other label? And whole keys are sorted: shop-2/a is before shop/a")
	for _, empty := range emptyPairs {
		c.check(a, empty, "", "a label can be there and be empty")
	}
	for _, missing := range []pair{{"", crowd.app}, {crowd.node, ""}, {"", crowd.node}, {"", ""}, {"no-such-node", crowd.app}} {
		c.check(a, missing, "", "which pods have no value in the index? And can one value mean two pairs, if a part is empty?")
	}

	// A pod is deleted, and created again under its name on another node. Then its label changes, and then it goes.
	const look = "does Find ask the store each time?"
	old := c.pairs[pairs[0]]
	elsewhere := pair{"elsewhere", old.app}
	key := c.want[old][0]
	c.want[old] = nil
	c.put(key, elsewhere)
	c.check(a, elsewhere, " after pod "+key+" was created again there", look)
	c.check(a, old, " after pod "+key+" was created again elsewhere", look)
	c.want[elsewhere] = nil
	other := pair{"elsewhere", "other"}
	c.put(key, other)
	c.check(a, other, " after pod "+key+" got this label", look)
	c.check(a, elsewhere, " after pod "+key+" got another label", look)
	pod, _, err := c.Indexer.GetByKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(pod); err != nil {
		t.Fatal(err)
	}
	c.want[other] = nil
	c.check(a, other, " after pod "+key+" was deleted", look)
	unchanged()

	second := newPairCluster(t, 1)
	if err := a.AddIndex(second.Store); err != nil {
		t.Reject("AddIndex adds an index to another store, too", err.Error(), "what your AddIndex keeps from its first call")
	}
	const argument = "which store do AddIndex and Find use? It is their first argument, and nothing is kept from another"
	second.check(a, second.pairs[0], " of another store", argument)
	c.check(a, c.pairs[0], " after another store has got an index", argument)

	for index := range c.GetIndexers() {
		taken := podstore.New()
		if err := taken.AddIndexers(cache.Indexers{index: func(any) ([]string, error) { return nil, nil }}); err != nil {
			continue // the index by namespace, which each store has
		}
		if err := a.AddIndex(taken); err == nil {
			t.Reject("the store's error: it already has an index of that name, of somebody else", "AddIndex returns no error",
				"a name does not say what an index finds: which error does AddTypedIndexers return?")
		}
	}

	without := newPairCluster(t, 1)
	if keys, err := a.Find(without.Store, crowd.node, crowd.app); err == nil {
		t.Reject("the store's error: nobody has called AddIndex for it", fmt.Sprintf("Find returns no error, and %d keys", len(keys)),
			"the error of the lookup: what do you do with it?")
	}
	failure := fmt.Errorf("failure %d of the store", t.Rand.IntN(1000))
	c.Failure = failure
	if keys, err := a.Find(c.Store, crowd.node, crowd.app); err == nil {
		t.Reject("the store's error: "+failure.Error(), fmt.Sprintf("Find returns no error, and %d keys", len(keys)),
			"the error of the lookup")
	}
	broken := podstore.New()
	broken.Failure = failure
	if err := a.AddIndex(broken); err == nil {
		t.Reject("the store's error: "+failure.Error(), "AddIndex returns no error", "the error of AddTypedIndexers")
	}
}

type pair struct{ node, app string }

// Names that can be taken for each other when they are joined.
var similar = []pair{
	{"n1", "1web"}, {"n11", "web"}, {"1n", "web"}, {"n", "web1"}, {"n-1", "web"}, {"n", "1-web"}, {"n.1", "web"}, {"n", "1.web"},
	{"1", "web-n"}, {"1", "web.n"}, {"1.n", "web"}, {"1-n", "web"}, {"n", "web-1"}, {"n", "web.1"},
	{"n", "Web-1"}, {"n", "WEB-1"}, {"n1", "Web"}, // upper and lower case are two values of a label
}

// crowd has several pods. Another node has the name of its app, and another app the name of its node.
var crowd = pair{"crowd", "web"}

// On these nodes, pods have the label app, and it is empty.
var emptyPairs = []pair{{"empty", ""}, {crowd.app, ""}}

// pairCluster is a store with the pods of a cluster.
type pairCluster struct {
	*podstore.Store
	t     *grade.T
	pairs []pair            // with one pod each
	want  map[pair][]string // keys
}

func newPairCluster(t *grade.T, nodes int) *pairCluster {
	c := &pairCluster{Store: podstore.New(), t: t, want: map[pair][]string{}}
	namespace := func() string { return []string{"shop", "bank"}[t.Rand.IntN(2)] }
	seed := t.Rand.IntN(1000)
	for i := range nodes * apps {
		p := pair{fmt.Sprintf("node-%d-%d", seed, i/apps), fmt.Sprintf("app-%d", i%apps)}
		c.pairs = append(c.pairs, p)
		c.put(fmt.Sprintf("%s/pod-%d", namespace(), t.Rand.IntN(100)*nodes*apps+i), p)
	}
	for i, p := range similar {
		c.put(fmt.Sprintf("%s/similar-%d", namespace(), i), p)
	}
	for i := range 5 {
		c.put(fmt.Sprintf("shop/web-%d", i), crowd)
		c.put(fmt.Sprintf("bank/web-%d", i), crowd)
		c.put(fmt.Sprintf("shop-2/web-%d", i), crowd)
	}
	c.put("shop/other-order", pair{crowd.app, crowd.node})
	c.put("shop/no-node", pair{"", crowd.app})
	c.put("shop/neither", pair{"", ""})
	c.put("shop/no-label", pair{crowd.node, ""})
	for _, missing := range []pair{{"", crowd.app}, {"", ""}, {crowd.node, ""}} {
		c.want[missing] = nil
	}
	for _, p := range emptyPairs {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "label-of-" + p.node}}
		pod.Labels = map[string]string{"app": ""}
		pod.Spec.NodeName = p.node
		if err := c.Add(pod); err != nil {
			t.Fatal(err)
		}
		c.want[p] = []string{"shop/" + pod.Name}
	}
	return c
}

// put adds a pod, or changes it. Without an app, the pod does not have this label.
func (c *pairCluster) put(key string, p pair) {
	c.t.Helper()
	name, err := cache.ParseObjectName(key)
	if err != nil {
		c.t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	pod.Labels = map[string]string{"tier": "front", "app.kubernetes.io/name": crowd.app, "k8s-app": crowd.app}
	if p.app != "" {
		pod.Labels["app"] = p.app
	}
	pod.Spec.NodeName = p.node
	// The state of a pod does not count.
	phases := []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}
	pod.Status.Phase = phases[c.t.Rand.IntN(len(phases))]
	if c.t.Rand.IntN(3) == 0 {
		pod.DeletionTimestamp = new(metav1.Now())
	}
	if err := c.Add(pod); err != nil {
		c.t.Fatal(err)
	}
	c.want[p] = append(c.want[p], key)
}

func (c *pairCluster) check(a IndexPaysAnswer, p pair, when, look string) {
	c.t.Helper()
	want := slices.Sorted(slices.Values(c.want[p]))
	got, err := a.Find(c.Store, p.node, p.app)
	if err != nil || !slices.Equal(got, want) {
		c.t.Reject(fmt.Sprintf("for node %q and app %q%s, the keys %s", p.node, p.app, when, want),
			fmt.Sprintf("%s (%d), error: %v", got[:min(3, len(got))], len(got), err),
			look)
	}
}
