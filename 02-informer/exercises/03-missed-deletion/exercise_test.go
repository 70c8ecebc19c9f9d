package exercise_test

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	exercise "example.com/client-go-workbook/02-informer/exercises/03-missed-deletion"
	answers "example.com/client-go-workbook/02-informer/exercises/answers/03-missed-deletion"
	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testkit"
)

type answer = func(cache.TypedSharedIndexInformer[*corev1.Pod], io.Writer) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.PrintDeletions,
	Accepted: []answer{answers.PrintDeletions, answers.HasAnUntypedHandler},
	Rejected: []grade.Rejected[answer]{
		{Name: "asserts a pod", Answer: answers.AssertsAPod, Says: "cache.DeletedFinalStateUnknown, not *v1.Pod (mistakes.go:"},
		{Name: "skips what is not a pod", Answer: answers.SkipsWhatIsNotAPod, Says: "no line"},
		{Name: "expects a pointer to the tombstone", Answer: answers.ExpectsAPointerToTheTombstone, Says: "no line"},
		{Name: "prints the phase from before the gap", Answer: answers.PrintsThePhaseFromBeforeTheGap, Says: "phase unknown\""},
	},
	Grade: func(t *grade.T, printDeletions answer) {
		t.Bubble(func(t *grade.T) { gradeDeletions(t, printDeletions) })
	},
}

func gradeDeletions(t *grade.T, printDeletions answer) {
	server := fakeserver.Start(t)
	last := []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}[t.Rand.IntN(2)]
	number := t.Rand.IntN(100)
	stays, seen, missed := newPod("stays", number), newPod("seen", number+1), newPod("missed", number+2)
	for _, pod := range []*corev1.Pod{stays, seen, missed} {
		server.Create(pod)
	}
	pods := cache.NewListWatchFromClient(server.Core().RESTClient(), "pods", metav1.NamespaceAll, fields.Everything())
	informer := cache.NewTypedSharedIndexInformer[*corev1.Pod](cache.NewSharedIndexInformer(pods, &corev1.Pod{}, 0, nil))
	var printed testkit.Buffer
	if err := printDeletions(informer, &printed); err != nil {
		t.Reject("PrintDeletions adds a handler", "it returned the error: "+err.Error(), "the error's words")
	}
	go informer.RunWithContext(t.Context())
	synctest.Wait()

	finish(server, seen, last)
	synctest.Wait()
	expectLine(t, &printed, 1, fmt.Sprintf("deleted shop/%s: %s", seen.Name, last), "AddTypedEventHandler, and its DeleteFunc")

	server.Silence() // the informer notices it after 45 seconds
	finish(server, missed, last)
	time.Sleep(5 * time.Minute)
	expectLine(t, &printed, 2, fmt.Sprintf("deleted shop/%s: phase unknown", missed.Name),
		"chapter 2, No route to the server; the fields of cache.DeletedObject")
}

// finish sets a pod's last phase and deletes the pod.
func finish(server *fakeserver.Server, pod *corev1.Pod, last corev1.PodPhase) {
	pod = pod.DeepCopy()
	pod.Status.Phase = last
	server.Update(pod)
	server.Delete(pod)
}

// expectLine rejects the answer if it has printed other than count lines, or another last one.
func expectLine(t *grade.T, printed *testkit.Buffer, count int, line, look string) {
	lines := printed.Lines()
	switch {
	case len(lines) < count:
		t.Reject(fmt.Sprintf("the line %q", line), "no line", look)
	case len(lines) > count:
		t.Reject("one line for each deletion", fmt.Sprintf("%d deletions, and %q", count, lines), look)
	case lines[count-1] != line:
		t.Reject(fmt.Sprintf("the line %q", line), fmt.Sprintf("%q", lines[count-1]), look)
	}
}

func newPod(name string, number int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("%s-%d", name, number)},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }
