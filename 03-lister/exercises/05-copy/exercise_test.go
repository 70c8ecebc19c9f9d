package exercise_test

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	exercise "example.com/client-go-workbook/03-lister/exercises/05-copy"
	answers "example.com/client-go-workbook/03-lister/exercises/answers/05-copy"
	"example.com/client-go-workbook/03-lister/exercises/internal/podstore"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(pods corelisters.PodLister, namespace, name, image string) (*corev1.Pod, error)

var grader = grade.Exercise[answer]{
	Learner:  exercise.Prepare,
	Accepted: []answer{answers.Prepare, answers.CopiesWhatItChanges},
	Rejected: []grade.Rejected[answer]{
		{Name: "changes the pod in the store", Answer: answers.ChangesThePodInTheStore, Says: "in the store, image"},
		{Name: "copies with an assignment", Answer: answers.CopiesWithAnAssignment, Says: "in the store, image"},
		{Name: "copies the labels only", Answer: answers.CopiesTheLabelsOnly, Says: "in the store, image"},
		{Name: "copies after the change", Answer: answers.CopiesAfterTheChange, Says: "in the store, image"},
		{Name: "writes to a nil map", Answer: answers.WritesToANilMap, Says: "nil map"},
	},
	Grade: gradePrepare,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

func gradePrepare(t *grade.T, prepare answer) {
	store := podstore.New()
	lister := corelisters.NewPodLister(store)
	number := t.Rand.IntN(1000)
	before := fmt.Sprintf("nginx:1.%d", number)
	after := fmt.Sprintf("nginx:2.%d", number)
	for name, labels := range map[string]map[string]string{"web": {"app": fmt.Sprintf("web-%d", number)}, "bare": nil} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels}}
		pod.ResourceVersion = fmt.Sprint(number + 1)
		pod.Spec.NodeName = fmt.Sprintf("node-%d", number)
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: before}, {Name: "sidecar", Image: "envoy:1"}}
		if err := store.Add(pod); err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range []string{"web", "bare"} {
		item, _, err := store.Indexer.GetByKey("shop/" + name)
		if err != nil {
			t.Fatal(err)
		}
		stored := item.(*corev1.Pod)
		was := stored.DeepCopy()
		got, err := prepare(lister, "shop", name, after)
		if err != nil || got == nil {
			t.Reject(fmt.Sprintf("pod shop/%s with image %s", name, after), fmt.Sprintf("pod %v, error: %v", got, err), "your Prepare")
		}
		if now, _, _ := store.Indexer.GetByKey("shop/" + name); now != item || !apiequality.Semantic.DeepEqual(stored, was) {
			t.Reject(fmt.Sprintf("pod shop/%s in the store as it was: image %s, labels %v", name, before, was.Labels),
				fmt.Sprintf("in the store, image %s, labels %v", stored.Spec.Containers[0].Image, stored.Labels),
				`"Deep copy" in the chapter's README`)
		}

		want := was.DeepCopy()
		want.Spec.Containers[0].Image = after
		want.Labels = map[string]string{"reviewed": "true"}
		maps.Copy(want.Labels, was.Labels)
		if !apiequality.Semantic.DeepEqual(got, want) {
			t.Reject(fmt.Sprintf("pod shop/%s with image %s and labels %v, and all else as before", name, after, want.Labels),
				describe(got),
				"the fields Spec.Containers and Labels of the pod that you return")
		}
	}

	missing := fmt.Sprintf("web-%d", number)
	if _, err := prepare(lister, "shop", missing, after); !apierrors.IsNotFound(err) {
		t.Reject("the lister's error NotFound for pod shop/"+missing, fmt.Sprintf("error: %v", err), "the error that Get returns")
	}
}

func describe(pod *corev1.Pod) string {
	text := fmt.Sprintf("pod %s/%s with labels %v, %d containers", pod.Namespace, pod.Name, pod.Labels, len(pod.Spec.Containers))
	if len(pod.Spec.Containers) > 0 {
		text += ", the first with image " + pod.Spec.Containers[0].Image
	}
	return text
}
