package lister

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/podstore"
)

type findKeys = func(pods cache.TypedIndexer[*corev1.Pod], node, image string) ([]string, error)

// AndOrAnswer is what exercise.go has.
type AndOrAnswer struct {
	And, Or findKeys
}

// AndOr grades the answers to "And, or".
var AndOr = grade.Exercise[AndOrAnswer]{Grade: gradeAndOr}

// podsToFind is how many pods the store has.
const podsToFind = 1000

func gradeAndOr(t *grade.T, a AndOrAnswer) {
	store := podstore.New()
	indexers := cache.TypedIndexers[*corev1.Pod]{
		"node":  func(pod *corev1.Pod) ([]string, error) { return []string{pod.Spec.NodeName}, nil },
		"image": func(pod *corev1.Pod) ([]string, error) { return images(pod), nil },
	}
	if err := store.AddTypedIndexers(indexers); err != nil {
		t.Fatal(err)
	}
	number := t.Rand.IntN(1000)
	node, image := fmt.Sprintf("n-%d", number), fmt.Sprintf("nginx:1.%d", number)
	put := func(key, node, image string) {
		t.Helper()
		if err := store.Add(podWithImage(t, key, node, image)); err != nil {
			t.Fatal(err)
		}
	}
	const stays, moves, goes = "shop/stays", "shop/moves", "shop/goes"
	put(stays, node, image)
	put(moves, node, "redis:8")
	put(goes, node, "redis:8")
	put("bank/similar", node, image+"0")
	put("bank/near", node+"0", image)
	const full = 10 // pods with both, on a node and with an image that no other pod has
	for i := range podsToFind - 5 {
		n, im := "n-elsewhere", "redis:8"
		if t.Rand.IntN(20) == 0 {
			n = node
		}
		if t.Rand.IntN(20) == 0 {
			im = image
		}
		if i < full {
			n, im = "n-full", "nginx:full"
		}
		put(fmt.Sprintf("%s/web-%d", []string{"shop", "bank"}[i%2], i/2), n, im)
	}
	onNode, err := store.Indexer.ByIndex("node", node)
	if err != nil {
		t.Fatal(err)
	}
	unchanged := t.Unchanged(onNode...)

	// The store keeps still.
	check := func(what string, find findKeys, node, image string, want []string, found int) {
		t.Helper()
		before := store.Read()
		got, err := find(store, node, image)
		if err != nil {
			t.Reject("no error for "+what, err.Error(), "the names of the indexes: node and image")
		}
		compareKeys(t, what, got, want, "")
		if read := store.Read() - before; read > 2*found {
			t.Reject(fmt.Sprintf("for %s, %d objects read: what both lookups find", what, found),
				fmt.Sprintf("%d objects or keys", read),
				"IndexKeys and ByTypedIndex of the store")
		}
	}
	both, either, found := scan(store, node, image)
	nodeAnd := fmt.Sprintf("node %s and image %s", node, image)
	nodeOr := fmt.Sprintf("node %s or image %s", node, image)
	check(nodeAnd, a.And, node, image, both, found)
	check(nodeOr, a.Or, node, image, either, found)
	all, _, _ := scan(store, "n-full", "nginx:full")
	check("node n-full and image nginx:full", a.And, "n-full", "nginx:full", all, 2*full)
	check("node n-full or image nginx:full", a.Or, "n-full", "nginx:full", all, 2*full)

	// The store changes before the second read of it. Pod stays is updated, and keeps both. Pod moves leaves the node, and
	// then it gets the image: it never has both. Pod goes is deleted.
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
	changing := func(what string, find findKeys, want []string, meanwhile string) {
		t.Helper()
		got, err := find(store, node, image)
		store.BeforeRead = nil
		if err != nil {
			t.Reject("no error for "+what, err.Error(), "your function")
		}
		compareKeys(t, what, got, want, meanwhile)
	}
	between(func() { put(stays, node, image) })
	changing(nodeOr, a.Or, either, ", while pod stays is updated")
	between(func() {
		put(stays, node, image)
		put(moves, "n-elsewhere", "redis:8")
		put(moves, "n-elsewhere", image)
		if err := store.Delete(podWithImage(t, goes, node, "redis:8")); err != nil {
			t.Fatal(err)
		}
	})
	changing(nodeAnd, a.And, both, ", while pod moves leaves the node and then gets the image, stays is updated, goes is deleted")
	unchanged()

	failing := func(what string, find findKeys) {
		t.Helper()
		for _, lookup := range []int{1, 2} {
			failure, reads := fmt.Errorf("failure %d of the store", t.Rand.IntN(1000)), 0
			store.BeforeRead = func() {
				store.Failure = nil
				if reads++; reads == lookup {
					store.Failure = failure // of this lookup only
				}
			}
			got, err := find(store, node, image)
			store.BeforeRead, store.Failure = nil, nil
			if reads >= lookup && err == nil {
				t.Reject(fmt.Sprintf("the store's error for %s, while lookup %d fails: %v", what, lookup, failure),
					fmt.Sprintf("%d keys and no error", len(got)),
					"the error of each lookup")
			}
		}
	}
	failing(nodeAnd, a.And)
	failing(nodeOr, a.Or)
}

// podWithImage makes a pod in which one or two containers have the image, the first, the last or both.
func podWithImage(t *grade.T, key, node, image string) *corev1.Pod {
	t.Helper()
	name, err := cache.ParseObjectName(key)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: types.UID("uid-" + key)}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = [][]corev1.Container{
		{{Image: image}, {Image: "envoy:1"}},
		{{Image: "envoy:1"}, {Image: image}},
		{{Image: image}, {Image: "envoy:1"}, {Image: image}},
	}[t.Rand.IntN(3)]
	return pod
}

func images(pod *corev1.Pod) (images []string) {
	for _, container := range pod.Spec.Containers {
		images = append(images, container.Image)
	}
	return images
}

// scan goes through all pods. It returns the keys of those that have both, and of those that have one of them, and how many
// objects the two lookups find.
func scan(store *podstore.Store, node, image string) (both, either []string, found int) {
	for _, obj := range store.Indexer.List() {
		pod := obj.(*corev1.Pod)
		key := pod.Namespace + "/" + pod.Name
		onNode, withImage := pod.Spec.NodeName == node, slices.Contains(images(pod), image)
		if onNode && withImage {
			both, found = append(both, key), found+1
		}
		if onNode || withImage {
			either, found = append(either, key), found+1
		}
	}
	slices.Sort(both)
	slices.Sort(either)
	return both, either, found
}

func compareKeys(t *grade.T, what string, got, want []string, meanwhile string) {
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
