package exercise_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	exercise "example.com/client-go-workbook/03-lister/exercises/07-index-pays"
	answers "example.com/client-go-workbook/03-lister/exercises/answers/07-index-pays"
	"example.com/client-go-workbook/03-lister/exercises/internal/podstore"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = answers.Answer

var grader = grade.Exercise[answer]{
	Learner:  answer{AddIndex: exercise.AddIndex, Find: exercise.Find},
	Accepted: []answer{{AddIndex: answers.AddIndex, Find: answers.Find}, answers.IndexesAllLabels},
	Rejected: []grade.Rejected[answer]{
		{Name: "filters what one index finds", Answer: answers.FiltersWhatOneIndexFinds, Says: "objects or keys for 100 answers"},
		{Name: "adds an index at each question", Answer: answers.AddsAnIndexAtEachQuestion, Says: "100 indexes more"},
		{Name: "joins without a separator", Answer: answers.JoinsWithoutASeparator, Says: "shop/similar-0 shop/similar-1"},
		{Name: "keeps a copy of its own", Answer: answers.KeepsACopyOfItsOwn, Says: "after pod"},
		{Name: "scans", Answer: answers.Scans, Says: "objects or keys for 100 answers"},
	},
	Grade: gradeFind,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

// There is one pod for each node and each app.
const nodes, apps, questions = 50, 40, 100

func gradeFind(t *grade.T, a answer) {
	store := podstore.New()
	before := len(store.GetIndexers())
	put := func(name, node, app string) (key string) {
		t.Helper()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		pod.Labels = map[string]string{"app": app, "tier": "front"}
		pod.Spec.NodeName = node
		if err := store.Add(pod); err != nil {
			t.Fatal(err)
		}
		return "shop/" + name
	}
	check := func(node, app, change, look string, want ...string) {
		t.Helper()
		got, err := a.Find(store, node, app)
		if err != nil || !slices.Equal(got, want) {
			t.Reject(fmt.Sprintf("for node %s and app %s%s, the keys %s", node, app, change, want),
				fmt.Sprintf("%s, error: %v", got[:min(3, len(got))], err),
				look)
		}
	}
	seed := t.Rand.IntN(1000)
	node := func(pair int) string { return fmt.Sprintf("node-%d-%d", seed, pair/apps) }
	app := func(pair int) string { return fmt.Sprintf("app-%d", pair%apps) }
	name := func(pair int) string { return fmt.Sprintf("pod-%d", pair) }
	for pair := range nodes * apps {
		put(name(pair), node(pair), app(pair))
	}
	put("pending", "", app(0))
	// Names that can be taken for each other when they are joined.
	similar := [][2]string{{"n1", "1web"}, {"n11", "web"}, {"n-1", "web"}, {"n", "1-web"}, {"n.1", "web"}, {"n", "1.web"}}
	for i, pair := range similar {
		put(fmt.Sprintf("similar-%d", i), pair[0], pair[1])
	}
	if err := a.AddIndex(store); err != nil {
		t.Reject("AddIndex adds an index", err.Error(), "AddTypedIndexers of the store")
	}

	pairs := t.Rand.Perm(nodes * apps)[:questions]
	read := store.Read()
	for _, pair := range pairs {
		check(node(pair), app(pair), "", "AddTypedIndexers, IndexKeys and ByTypedIndex of the store", "shop/"+name(pair))
	}
	if read = store.Read() - read; read > 3*questions {
		t.Reject(fmt.Sprintf("%d questions with one pod each, and not much more read", questions),
			fmt.Sprintf("%d objects or keys for %d answers", read, questions),
			"which value has exactly the pods of one answer?")
	}
	if more := len(store.GetIndexers()) - before; more > 1 {
		t.Reject("one index more in the store",
			fmt.Sprintf("%d indexes more after %d questions: each change of a pod calls %d functions more", more, questions, more),
			"which value has exactly the pods of one answer?")
	}

	for i, pair := range similar {
		check(pair[0], pair[1], "", "the value in the index: can it mean two pairs?", fmt.Sprintf("shop/similar-%d", i))
	}

	// A pod is deleted, and created again under its name on another node.
	pair := pairs[0]
	elsewhere := fmt.Sprintf("elsewhere-%d", seed)
	key := put(name(pair), elsewhere, app(pair))
	change := fmt.Sprintf(" after pod %s was created again on node %s", key, elsewhere)
	look := "does Find ask the store each time?"
	check(elsewhere, app(pair), change, look, key)
	check(node(pair), app(pair), change, look)
}
