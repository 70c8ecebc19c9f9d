package exercise_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	exercise "example.com/client-go-workbook/03-lister/exercises/03-node-index"
	answers "example.com/client-go-workbook/03-lister/exercises/answers/03-node-index"
	"example.com/client-go-workbook/03-lister/exercises/internal/podstore"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = answers.Answer

var grader = grade.Exercise[answer]{
	Learner:  answer{AddIndex: exercise.AddIndex, PodsOn: exercise.PodsOn},
	Accepted: []answer{{AddIndex: answers.AddIndex, PodsOn: answers.PodsOn}, answers.AddsAnUntypedIndex},
	Rejected: []grade.Rejected[answer]{
		{Name: "indexes the empty string", Answer: answers.IndexesTheEmptyString, Says: `an entry for ""`},
		{Name: "fails for a pod without a node", Answer: answers.FailsForAPodWithoutANode, Says: "the store panicked"},
		{Name: "scans", Answer: answers.Scans, Says: "1000 objects"},
		{Name: "keeps a copy of its own", Answer: answers.KeepsACopyOfItsOwn, Says: "after pod"},
	},
	Grade: gradeNodeIndex,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

const count = 1000

func gradeNodeIndex(t *grade.T, a answer) {
	store := podstore.New()
	put := func(key, node string) {
		t.Helper()
		name, err := cache.ParseObjectName(key)
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
		pod.Spec.NodeName = node
		if err := store.Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	nodes := []string{"n-1", "n-11", fmt.Sprintf("n-%d", 100+t.Rand.IntN(100))}
	want := map[string][]string{}
	for number := range count - 1 {
		key := fmt.Sprintf("%s/web-%d", []string{"shop", "bank"}[number%2], number)
		node := fmt.Sprintf("other-%d", number%50)
		if number < 30 {
			node = nodes[t.Rand.IntN(len(nodes))]
			want[node] = append(want[node], key)
		}
		put(key, node)
	}
	const pending = "shop/pending"
	put(pending, "")

	check := func(change, look string) {
		t.Helper()
		for _, node := range nodes {
			slices.Sort(want[node])
			before := store.Read()
			got, err := a.PodsOn(store, node)
			if err != nil || !slices.Equal(got, want[node]) {
				t.Reject(fmt.Sprintf("for node %s%s, the keys %s", node, change, short(want[node])),
					fmt.Sprintf("%s, error: %v", short(got), err),
					look)
			}
			if read := store.Read() - before; read > 3*len(want[node])+3 {
				t.Reject(fmt.Sprintf("for node %s, its %d pods read from the store", node, len(want[node])),
					fmt.Sprintf("%d objects or keys read", read),
					`"By key, by index, by scan" in the chapter's README`)
			}
		}
	}

	if err := add(a, store); err != nil {
		t.Reject("an index that takes every pod, one without a node too", err.Error(), `"Index functions" in the chapter's README`)
	}
	check("", "AddTypedIndexers, IndexKeys and ByTypedIndex of the store")
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

	node := nodes[t.Rand.IntN(len(nodes))]
	put(pending, node)
	want[node] = append(want[node], pending)
	check(" after pod "+pending+" has got node "+node, "does PodsOn ask the store each time?")

	gone := want[node][0]
	deleted, exists, err := store.Indexer.GetByKey(gone)
	if err != nil || !exists {
		t.Fatal(gone, exists, err)
	}
	if err := store.Delete(deleted); err != nil {
		t.Fatal(err)
	}
	want[node] = want[node][1:]
	check(" after pod "+gone+" was deleted", "does PodsOn ask the store each time?")
}

// add adds the index. An index function that returns an error makes the store panic.
func add(a answer, store *podstore.Store) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the store panicked: %v", r)
		}
	}()
	return a.AddIndex(store)
}

// short returns the first keys, to keep the line short.
func short(keys []string) string {
	if len(keys) > 3 {
		return fmt.Sprintf("%s ... (%d)", keys[:3], len(keys))
	}
	return fmt.Sprint(keys)
}
