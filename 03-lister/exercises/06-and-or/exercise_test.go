package exercise_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	exercise "example.com/client-go-workbook/03-lister/exercises/06-and-or"
	answers "example.com/client-go-workbook/03-lister/exercises/answers/06-and-or"
	"example.com/client-go-workbook/03-lister/exercises/internal/podstore"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type find = func(pods cache.TypedIndexer[*corev1.Pod], node, image string) ([]string, error)

type answer = answers.Answer

var grader = grade.Exercise[answer]{
	Learner:  answer{And: exercise.And, Or: exercise.Or},
	Accepted: []answer{{And: answers.And, Or: answers.Or}, answers.AsksTheIndexFunctions},
	Rejected: []grade.Rejected[answer]{
		{Name: "intersects two sets of keys", Answer: answers.IntersectsTwoSetsOfKeys, Says: "shop/moves"},
		{Name: "intersects two sets of objects", Answer: answers.IntersectsTwoSetsOfObjects, Says: "without shop/stays"},
		{Name: "joins two lists", Answer: answers.JoinsTwoLists, Says: "twice"},
		{Name: "takes a pointer for a pod", Answer: answers.TakesAPointerForAPod, Says: "shop/stays twice"},
		{Name: "scans", Answer: answers.Scans, Says: "1002 objects"},
	},
	Grade: gradeAndOr,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

func gradeAndOr(t *grade.T, a answer) {
	store := podstore.New()
	indexers := cache.TypedIndexers[*corev1.Pod]{
		"node": func(pod *corev1.Pod) ([]string, error) { return []string{pod.Spec.NodeName}, nil },
		"image": func(pod *corev1.Pod) (images []string, err error) {
			for _, container := range pod.Spec.Containers {
				images = append(images, container.Image)
			}
			return images, nil
		},
	}
	if err := store.AddTypedIndexers(indexers); err != nil {
		t.Fatal(err)
	}
	put := func(name, node, image string) {
		t.Helper()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)}}
		pod.Spec.NodeName = node
		pod.Spec.Containers = []corev1.Container{{Image: "envoy:1"}, {Image: image}}
		if err := store.Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	number := t.Rand.IntN(1000)
	node, image := fmt.Sprintf("n-%d", number), fmt.Sprintf("nginx:1.%d", number)
	const stays, moves = "shop/stays", "shop/moves"
	both, either, found := []string{stays}, []string{stays, moves}, 3
	for i := range 1000 {
		name, hasNode, hasImage := fmt.Sprintf("web-%d", i), t.Rand.IntN(20) == 0, t.Rand.IntN(20) == 0
		key, n, im := "shop/"+name, "elsewhere", "redis:8"
		if hasNode {
			n, found = node, found+1
		}
		if hasImage {
			im, found = image, found+1
		}
		if hasNode && hasImage {
			both = append(both, key)
		}
		if hasNode || hasImage {
			either = append(either, key)
		}
		put(name, n, im)
	}
	put("stays", node, image)
	put("moves", node, "redis:8")
	slices.Sort(both)
	slices.Sort(either)
	nodeAnd := fmt.Sprintf("node %s and image %s", node, image)
	nodeOr := fmt.Sprintf("node %s or image %s", node, image)

	// The store keeps still.
	check := func(what string, find find, want []string) {
		t.Helper()
		before := store.Read()
		got, err := find(store, node, image)
		if err != nil {
			t.Reject("no error for "+what, err.Error(), "the names of the indexes: node and image")
		}
		compare(t, what, got, want, "")
		if read := store.Read() - before; read > 2*found {
			t.Reject(fmt.Sprintf("for %s, %d objects read: what both lookups find", what, found),
				fmt.Sprintf("%d objects or keys", read),
				"IndexKeys and ByTypedIndex of the store")
		}
	}
	check(nodeAnd, a.And, both)
	check(nodeOr, a.Or, either)

	// The store changes before the second read of it. Pod stays is updated, and keeps both. Pod moves leaves the node, and
	// then it gets the image: it never has both.
	between := func(change func()) {
		first := true
		store.BeforeRead = func() {
			if !first {
				store.BeforeRead = nil
				change()
			}
			first = false
		}
	}
	changing := func(what string, find find, want []string, meanwhile string) {
		t.Helper()
		got, err := find(store, node, image)
		store.BeforeRead = nil
		if err != nil {
			t.Reject("no error for "+what, err.Error(), "your function")
		}
		compare(t, what, got, want, meanwhile)
	}
	between(func() { put("stays", node, image) })
	changing(nodeOr, a.Or, either, ", while pod stays is updated")
	between(func() {
		put("stays", node, image)
		put("moves", "elsewhere", "redis:8")
		put("moves", "elsewhere", image)
	})
	changing(nodeAnd, a.And, both, ", while pod moves leaves the node and then gets the image, and pod stays is updated")
}

func compare(t *grade.T, what string, got, want []string, meanwhile string) {
	t.Helper()
	expected := fmt.Sprintf("%d keys for %s%s", len(want), what, meanwhile)
	look := `"And, or" in the chapter's README`
	for _, key := range want {
		if !slices.Contains(got, key) {
			t.Reject(expected, fmt.Sprintf("%d keys, without %s", len(got), key), look)
		}
	}
	for i, key := range got {
		if !slices.Contains(want, key) {
			t.Reject(expected, fmt.Sprintf("%d keys, with %s", len(got), key), look)
		}
		if slices.Contains(got[:i], key) {
			t.Reject(expected, fmt.Sprintf("%d keys, with %s twice", len(got), key), look)
		}
	}
	if !slices.IsSorted(got) {
		t.Reject("keys in alphabetical order", fmt.Sprintf("%s ...", got[:min(3, len(got))]), "Sort in Go's package slices")
	}
}
