package exercise_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	exercise "example.com/client-go-workbook/03-lister/exercises/07-index-pays"
	answers "example.com/client-go-workbook/03-lister/exercises/answers/07-index-pays"
	"example.com/client-go-workbook/03-lister/exercises/internal/podstore"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = answers.Answer

var grader = grade.Exercise[answer]{
	Learner: answer{AddIndex: exercise.AddIndex, Find: exercise.Find},
	Accepted: []answer{
		{AddIndex: answers.AddIndex, Find: answers.Find},
		{AddIndex: answers.IndexAllLabels, Find: answers.FindByLabel},
	},
	Rejected: []grade.Rejected[answer]{
		{Name: "filters what one index finds", Answer: answers.FiltersWhatOneIndexFinds, Says: "objects or keys for 100 answers"},
		{Name: "adds an index at each question", Answer: answers.AddsAnIndexAtEachQuestion, Says: "100 more after 100 questions"},
		{Name: "joins without a separator", Answer: answers.JoinsWithoutASeparator, Says: "can it mean two pairs"},
		{Name: "keeps a copy of its own", Answer: answers.KeepsACopyOfItsOwn, Says: "after pod"},
		{Name: "takes a missing label for an empty one", Answer: answers.TakesAMissingLabelForAnEmptyOne, Says: "shop/no-label"},
		{Name: "asks the store that got the index last", Answer: answers.AsksTheStoreThatGotTheIndexLast, Says: "another store"},
		{Name: "ignores the error", Answer: answers.IgnoresTheError, Says: "Find returns no error"},
		{Name: "scans", Answer: answers.Scans, Says: "objects or keys for 100 answers"},
		{Name: "makes all letters small", Answer: answers.MakesAllLettersSmall, Says: "can it mean two pairs"},
		{Name: "takes any index of that name", Answer: answers.TakesAnyIndexOfThatName, Says: "of somebody else"},
		{Name: "leaves out an empty part", Answer: answers.LeavesOutAnEmptyPart, Says: `for node "" and app "web", the keys []`},
		{Name: "takes another label", Answer: answers.TakesAnotherLabel, Says: "no other label"},
		{Name: "looks in both orders", Answer: answers.LooksInBothOrders, Says: `for node "crowd" and app "web"`},
		{Name: "sorts by namespace and name", Answer: answers.SortsByNamespaceAndName, Says: "shop-2/a is before shop/a"},
	},
	Grade: gradeFind,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

// There is one pod for each node and each app.
const nodes, apps, questions = 50, 40, 100

func gradeFind(t *grade.T, a answer) {
	c := newCluster(t, nodes)
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
	c.check(a, crowd, "", "which pods have the label app with this value, no other label? And whole keys are sorted: shop-2/a is before shop/a")
	for _, empty := range empty {
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

	second := newCluster(t, 1)
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

	without := newCluster(t, 1)
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
var empty = []pair{{"empty", ""}, {crowd.app, ""}}

// cluster is a store with the pods of a cluster.
type cluster struct {
	*podstore.Store
	t     *grade.T
	pairs []pair            // with one pod each
	want  map[pair][]string // keys
}

func newCluster(t *grade.T, nodes int) *cluster {
	c := &cluster{Store: podstore.New(), t: t, want: map[pair][]string{}}
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
	for _, p := range empty {
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
func (c *cluster) put(key string, p pair) {
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

func (c *cluster) check(a answer, p pair, when, look string) {
	c.t.Helper()
	want := slices.Sorted(slices.Values(c.want[p]))
	got, err := a.Find(c.Store, p.node, p.app)
	if err != nil || !slices.Equal(got, want) {
		c.t.Reject(fmt.Sprintf("for node %q and app %q%s, the keys %s", p.node, p.app, when, want),
			fmt.Sprintf("%s (%d), error: %v", got[:min(3, len(got))], len(got), err),
			look)
	}
}
