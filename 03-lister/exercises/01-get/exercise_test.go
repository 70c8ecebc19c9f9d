package exercise_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
		{Name: "looks for words in the error", Answer: answers.LooksForWordsInTheError, Says: "not found"},
		{Name: "does not look at the error", Answer: answers.DoesNotLookAtTheError, Says: "nil pointer"},
		{Name: "reads the whole store", Answer: answers.ReadsTheWholeStore, Says: "200 objects"},
		{Name: "tries again", Answer: answers.TriesAgain, Says: "also if it fails"},
		{Name: "takes Gone for NotFound", Answer: answers.TakesGoneForNotFound, Says: "the store says Gone"},
		{Name: "takes the image from the status", Answer: answers.TakesTheImageFromTheStatus, Says: `"x" and no error`},
		{Name: "keeps what it has read", Answer: answers.KeepsWhatItHasRead, Says: "which was updated"},
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
		if number%2 == 0 { // its status, too, has images, and other containers
			grade.Filled(pod)
		}
		if namespace == namespaces[1] { // as long as its deletion takes, it is there
			pod.DeletionTimestamp = new(metav1.Now())
		}
		if err := store.Add(pod); err != nil {
			t.Fatal(err)
		}
	}

	name := fmt.Sprintf("web-%d", t.Rand.IntN(count/len(namespaces)))
	check := func(namespace, when string) {
		t.Helper()
		stored, _, err := store.Indexer.GetByKey(namespace + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		want := stored.(*corev1.Pod).Spec.Containers[0].Image
		unchanged := t.Unchanged(stored)
		before := store.Read()
		if got, err := image(lister, namespace, name); err != nil || got != want {
			t.Reject(fmt.Sprintf("the image of pod %s/%s%s, %q, and no error", namespace, name, when, want),
				result(got, err),
				"the lister's Pods(namespace).Get(name), at each call")
		}
		if read := store.Read() - before; read > 1 {
			t.Reject(fmt.Sprintf("one lookup in the store for pod %s/%s", namespace, name),
				fmt.Sprintf("%d objects read, of %d in the store", read, count),
				`"By key, by index, by scan" in the chapter's README`)
		}
		unchanged()
	}
	for _, namespace := range namespaces {
		check(namespace, "")
	}
	namespace := namespaces[t.Rand.IntN(len(namespaces))]
	updated := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	updated.Spec.Containers = []corev1.Container{{Image: fmt.Sprintf("updated:%d", t.Rand.IntN(1000))}}
	if err := store.Update(updated); err != nil {
		t.Fatal(err)
	}
	check(namespace, ", which was updated")

	for _, key := range []cache.ObjectName{{Namespace: "farm", Name: name}, {Namespace: namespace, Name: "missing"}} {
		if got, err := image(lister, key.Namespace, key.Name); err != nil || got != "" {
			t.Reject(fmt.Sprintf(`"" and no error for %s, as there is no such pod`, key),
				result(got, err),
				"IsNotFound in k8s.io/apimachinery/pkg/api/errors")
		}
	}

	failures := []error{fmt.Errorf("failure %d of the store: its disk was not found", t.Rand.IntN(1000))}
	for _, reason := range []metav1.StatusReason{ // all that say something about the object, but NotFound
		metav1.StatusReasonGone, metav1.StatusReasonExpired, metav1.StatusReasonForbidden, metav1.StatusReasonConflict,
		metav1.StatusReasonAlreadyExists, metav1.StatusReasonInvalid, metav1.StatusReasonTimeout, metav1.StatusReasonInternalError,
	} {
		status := metav1.Status{Reason: reason, Message: "the store says " + string(reason)}
		failures = append(failures, &apierrors.StatusError{ErrStatus: status})
	}
	for _, failure := range failures {
		lookups := 0
		store.Failure, store.BeforeRead = failure, func() { lookups++ }
		if got, err := image(lister, namespace, name); err == nil || !strings.Contains(err.Error(), failure.Error()) {
			t.Reject(fmt.Sprintf("the lister's error: %v", failure),
				result(got, err),
				"what your code does with an error that is not NotFound")
		}
		if lookups > 1 {
			t.Reject("one lookup in the store, also if it fails", fmt.Sprintf("%d lookups", lookups),
				"who tries again: Image, or its caller?")
		}
	}
}

func result(got string, err error) string {
	if err != nil {
		return fmt.Sprintf("%q and the error %v", got, err)
	}
	return fmt.Sprintf("%q and no error", got)
}
