package exercise_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	exercise "example.com/client-go-workbook/03-lister/exercises/01-get"
	answers "example.com/client-go-workbook/03-lister/exercises/answers/01-get"
	"example.com/client-go-workbook/03-lister/exercises/internal/podstore"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(pods corelisters.PodLister, namespace, name string) (string, error)

var grader = grade.Exercise[answer]{
	Learner:  exercise.Image,
	Accepted: []answer{answers.Image, answers.ComparesTheReason},
	Rejected: []grade.Rejected[answer]{
		{Name: "takes NotFound for a failure", Answer: answers.TakesNotFoundForAFailure, Says: `the error pod "`},
		{Name: "takes every failure for NotFound", Answer: answers.TakesEveryFailureForNotFound, Says: "and no error"},
		{Name: "does not look at the error", Answer: answers.DoesNotLookAtTheError, Says: "nil pointer"},
		{Name: "reads the whole store", Answer: answers.ReadsTheWholeStore, Says: "200 objects"},
	},
	Grade: gradeImage,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

const count = 200

func gradeImage(t *grade.T, image answer) {
	store := podstore.New()
	lister := corelisters.NewPodLister(store)
	namespaces := []string{"shop", "bank", "zoo"}
	for number := range count {
		namespace, name := namespaces[number%len(namespaces)], fmt.Sprintf("web-%d", number/len(namespaces))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		pod.Spec.Containers = []corev1.Container{{Image: fmt.Sprintf("%s:%d", namespace, t.Rand.IntN(1000))}, {Image: "sidecar:1"}}
		if err := store.Add(pod); err != nil {
			t.Fatal(err)
		}
	}

	name := fmt.Sprintf("web-%d", t.Rand.IntN(count/len(namespaces)))
	for _, namespace := range namespaces {
		stored, _, err := store.Indexer.GetByKey(namespace + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		want := stored.(*corev1.Pod).Spec.Containers[0].Image
		before := store.Read()
		if got, err := image(lister, namespace, name); err != nil || got != want {
			t.Reject(fmt.Sprintf("the image of pod %s/%s, %q, and no error", namespace, name, want),
				result(got, err),
				"the lister's Pods(namespace).Get(name)")
		}
		if read := store.Read() - before; read > 2 {
			t.Reject(fmt.Sprintf("one lookup in the store for pod %s/%s", namespace, name),
				fmt.Sprintf("%d objects read, of %d in the store", read, count),
				`"By key, by index, by scan" in the chapter's README`)
		}
	}

	if got, err := image(lister, "farm", name); err != nil || got != "" {
		t.Reject(fmt.Sprintf(`"" and no error for farm/%s, as there is no such pod`, name),
			result(got, err),
			"IsNotFound in k8s.io/apimachinery/pkg/api/errors")
	}

	failure := fmt.Errorf("failure %d of the store", t.Rand.IntN(1000))
	if got, err := image(corelisters.NewPodLister(failing{store, failure}), "shop", name); err == nil {
		t.Reject(fmt.Sprintf("an error, as the lister returned one: %v", failure),
			result(got, err),
			"what your code does with an error that is not NotFound")
	}
}

// failing is a store of which every lookup fails.
type failing struct {
	cache.Indexer
	err error
}

func (f failing) GetByKey(string) (any, bool, error) { return nil, false, f.err }

func result(got string, err error) string {
	if err != nil {
		return fmt.Sprintf("%q and the error %v", got, err)
	}
	return fmt.Sprintf("%q and no error", got)
}
