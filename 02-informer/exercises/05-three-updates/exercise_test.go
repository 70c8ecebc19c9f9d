package exercise_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	exercise "example.com/client-go-workbook/02-informer/exercises/05-three-updates"
	answers "example.com/client-go-workbook/02-informer/exercises/answers/05-three-updates"
	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testkit"
)

type answer = func(cache.TypedSharedIndexInformer[*corev1.Pod], io.Writer) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.PrintUpdates,
	Accepted: []answer{answers.PrintUpdates, answers.ImplementsTheInterface},
	Rejected: []grade.Rejected[answer]{
		{Name: "compares versions only", Answer: answers.ComparesVersionsOnly, Says: "seen      changed shop/web-0, resync"},
		{Name: "compares generations", Answer: answers.ComparesGenerations, Says: "after a change of its labels"},
		{Name: "compares the informer's last version", Answer: answers.ComparesTheInformersLastVersion, Says: "after a relist"},
	},
	Grade: func(t *grade.T, printUpdates answer) { t.Bubble(func(t *grade.T) { gradeUpdates(t, printUpdates) }) },
}

func gradeUpdates(t *grade.T, printUpdates answer) {
	const resync = 20 * time.Minute
	server := fakeserver.Start(t)
	pods := make([]*corev1.Pod, 3+t.Rand.IntN(3))
	for i := range pods {
		pods[i] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%d", i), Labels: map[string]string{"app": "web"}},
			Status:     corev1.PodStatus{Phase: corev1.PodPending},
		}
		server.Create(pods[i])
	}
	lines := func(words ...string) []string { // the words of the pods, in the order of the pods
		for i := range words {
			words[i] += " shop/" + pods[i].Name
		}
		return words
	}
	every := func(word string) []string { return slices.Repeat([]string{word}, len(pods)) }
	listWatch := cache.NewListWatchFromClient(server.Core().RESTClient(), "pods", metav1.NamespaceAll, fields.Everything())
	informer := cache.NewTypedSharedIndexInformer[*corev1.Pod](cache.NewSharedIndexInformer(listWatch, &corev1.Pod{}, resync, nil))
	var printed testkit.Buffer
	if err := printUpdates(informer, &printed); err != nil {
		t.Reject("PrintUpdates adds a handler", "it returned the error: "+err.Error(), "the error's words")
	}
	go informer.RunWithContext(t.Context())
	synctest.Wait()

	before := 0
	expect := func(when, look string, expected []string) {
		seen := printed.Lines()[before:]
		before += len(seen)
		slices.Sort(expected)
		slices.Sort(seen) // a relist and a resync have no order
		if !slices.Equal(expected, seen) {
			t.Reject(fmt.Sprintf("%s: %s", when, list(expected)), list(seen), look)
		}
	}
	pods[0].Labels["tier"] = "front"
	server.Update(pods[0])
	synctest.Wait()
	expect("after a change of its labels", "which field of metadata does the server change with every change?", lines("changed"))
	pods[0].Status.Phase = corev1.PodRunning
	server.Update(pods[0])
	synctest.Wait()
	expect("after a change of its status", "which field of metadata does the server change with every change?", lines("changed"))

	server.Silence() // the informer notices it after 45 seconds
	pods[0].Labels["tier"] = "back"
	server.Update(pods[0])
	time.Sleep(resync / 2)
	relisted := every("relisted")
	relisted[0] = "changed"
	expect("after a relist that brings one change", "chapter 2, Resync or relist? What are old and new in each case?", lines(relisted...))

	time.Sleep(resync)
	expect("after a resync", "chapter 2, Resync or relist? What are old and new in each case?", lines(every("resync")...))
}

// list joins lines, and leaves out the last of many.
func list(lines []string) string {
	switch {
	case len(lines) == 0:
		return "no line"
	case len(lines) > 4:
		return strings.Join(lines[:4], ", ") + " ..."
	}
	return strings.Join(lines, ", ")
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }
