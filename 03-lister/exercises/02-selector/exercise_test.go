package exercise_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	exercise "example.com/client-go-workbook/03-lister/exercises/02-selector"
	answers "example.com/client-go-workbook/03-lister/exercises/answers/02-selector"
	"example.com/client-go-workbook/03-lister/exercises/internal/podstore"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(pods corelisters.PodLister, service *corev1.Service) ([]string, error)

var grader = grade.Exercise[answer]{
	Learner:  exercise.PodsOf,
	Accepted: []answer{answers.PodsOf, answers.ComparesTheLabelsItself},
	Rejected: []grade.Rejected[answer]{
		{Name: "looks into all namespaces", Answer: answers.LooksIntoAllNamespaces, Says: "in namespace bank"},
		{Name: "takes no selector for all pods", Answer: answers.TakesNoSelectorForAllPods, Says: "no selector"},
		{Name: "wants the labels to be equal", Answer: answers.WantsTheLabelsToBeEqual, Says: "without"},
		{Name: "wants one label only", Answer: answers.WantsOneLabelOnly, Says: "of the selector"},
		{Name: "expects an order from the lister", Answer: answers.ExpectsAnOrderFromTheLister, Says: "not sorted"},
	},
	Grade: gradePodsOf,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

func gradePodsOf(t *grade.T, podsOf answer) {
	store := podstore.New()
	lister := corelisters.NewPodLister(store)
	app := fmt.Sprintf("app-%d", t.Rand.IntN(1000))
	add := func(namespace, name string, labels map[string]string) {
		t.Helper()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
		if err := store.Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for _, number := range t.Rand.Perm(1000)[:20] {
		want = append(want, fmt.Sprintf("%s-%d", app, number))
		add("shop", want[len(want)-1], map[string]string{"app": app, "tier": "front", "version": fmt.Sprint(number)})
	}
	slices.Sort(want)
	exact := app + "-exact"
	add("shop", exact, map[string]string{"app": app, "tier": "front"})
	want = append(want, exact)
	slices.Sort(want)
	wrong := map[string]string{
		app + "-all":  "without the label tier",
		app + "-back": "which has tier=back",
		app + "-bare": "which has no labels",
		app + "-bank": "which is in namespace bank",
	}
	add("shop", app+"-all", map[string]string{"app": app})
	add("shop", app+"-back", map[string]string{"app": app, "tier": "back"})
	add("shop", app+"-bare", nil)
	add("bank", app+"-bank", map[string]string{"app": app, "tier": "front"})

	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: app}}
	service.Spec.Selector = map[string]string{"app": app, "tier": "front"}
	selector := fmt.Sprintf("app=%s,tier=front", app)
	got, err := podsOf(lister, service)
	if err != nil {
		t.Reject("no error", err.Error(), "the lister's List")
	}
	for _, name := range got {
		if wrong[name] != "" {
			t.Reject(fmt.Sprintf("pods of namespace shop with all labels of the selector, %s", selector),
				fmt.Sprintf("pod %s, %s", name, wrong[name]),
				"the lister's Pods(namespace).List, and SelectorFromSet in k8s.io/apimachinery/pkg/labels")
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Reject(fmt.Sprintf("%d pods with the labels %s, whatever other labels they have", len(want), selector),
				fmt.Sprintf("%d pods, without %s", len(got), name),
				"SelectorFromSet in k8s.io/apimachinery/pkg/labels")
		}
	}
	if len(got) != len(want) {
		t.Reject(fmt.Sprintf("%d names, each once", len(want)), fmt.Sprintf("%d names: some are there twice", len(got)), "your PodsOf")
	}
	if !slices.IsSorted(got) {
		t.Reject("names in alphabetical order", fmt.Sprintf("they are not sorted: %s ...", got[:3]), "Sort in Go's package slices")
	}

	for _, none := range []map[string]string{nil, {}} {
		service.Spec.Selector = none
		if got, err := podsOf(lister, service); err != nil || len(got) > 0 {
			t.Reject("no name and no error for a Service that has no selector",
				fmt.Sprintf("%d names, error: %v", len(got), err),
				"what SelectorFromSet says about an empty set")
		}
	}
}
