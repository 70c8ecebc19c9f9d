package exercise_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	exercise "example.com/client-go-workbook/05-controller/exercises/04-conflict"
	answers "example.com/client-go-workbook/05-controller/exercises/answers/04-conflict"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type answer = func(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Increment,
	Accepted: []answer{answers.Increment, answers.SendsAPatchWithTheVersion},
	Rejected: []grade.Rejected[answer]{
		{Name: "reads once", Answer: answers.ReadsOnce, Says: "the object has been modified"},
		{Name: "removes the version", Answer: answers.RemovesTheVersion, Says: "an increment is lost"},
		{Name: "gives up", Answer: answers.GivesUp, Says: "the object has been modified"},
		{Name: "retries everything", Answer: answers.RetriesEverything, Says: "it sends GET 5 times"},
		{Name: "hides the conflict", Answer: answers.HidesTheConflict, Says: "an increment is lost"},
	},
	Grade: func(t *grade.T, increment answer) {
		config := testcluster.Config(t)
		namespace := testcluster.Namespace(t, config)
		configMaps := typedcorev1.NewForConfigOrDie(config).ConfigMaps(namespace)
		name := fmt.Sprintf("visits-%d", t.Rand.IntN(1000))
		start := t.Rand.IntN(1000)
		testkit.Must(configMaps.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Data:       map[string]string{"count": strconv.Itoa(start)},
		}, metav1.CreateOptions{}))(t)

		want := start
		for _, conflicts := range []int{0, 3, 1} {
			t.Doing("Increment is called, with %d conflict(s)", conflicts)
			interfering, added := interfere(t, config, configMaps, name, conflicts)
			err := increment(t.Context(), typedcorev1.NewForConfigOrDie(interfering).ConfigMaps(namespace), name)
			if err != nil {
				t.Reject(fmt.Sprintf("after %d conflict(s), Increment returns nil", conflicts), fmt.Sprintf("it returns: %v", err),
					`retry.RetryOnConflict; the section "Break it" of the chapter, "Conflict: 409"`)
			}
			want += *added + 1
			if got := count(t, configMaps, name); got != want {
				t.Reject(fmt.Sprintf("count is %d: it was %d, others have added %d, and you 1", want, want-*added-1, *added),
					fmt.Sprintf("it is %d: an increment is lost", got),
					"the resourceVersion of the object that you send, and what becomes of the error of Update")
			}
		}

		var requests []string
		counting := testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
			requests = append(requests, request.Method)
			return next.RoundTrip(request)
		})
		t.Doing("Increment is called for a ConfigMap that does not exist")
		err := increment(t.Context(), typedcorev1.NewForConfigOrDie(counting).ConfigMaps(namespace), name+"-gone")
		if !apierrors.IsNotFound(err) {
			t.Reject("for a ConfigMap that does not exist, Increment returns the server's error", fmt.Sprintf("it returns: %v", err),
				"apierrors.IsNotFound")
		}
		if len(requests) > 1 {
			t.Reject("for a ConfigMap that does not exist, Increment sends one request",
				fmt.Sprintf("it sends %s %d times", requests[0], len(requests)), "which errors does retry.RetryOnConflict retry?")
		}
	},
}

// interfere returns a config with which the first writes come too late: before each, somebody else adds one. It also
// returns how often that has happened.
func interfere(
	t *grade.T,
	config *rest.Config,
	configMaps typedcorev1.ConfigMapInterface,
	name string,
	times int,
) (*rest.Config, *int) {
	added := 0
	return testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method != http.MethodGet && added < times {
			patch := fmt.Sprintf(`{"data":{"count":"%d"}}`, count(t, configMaps, name)+1)
			testkit.Must(configMaps.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(t)
			added++
		}
		return next.RoundTrip(request)
	}), &added
}

// count returns the number that the server holds.
func count(t *grade.T, configMaps typedcorev1.ConfigMapInterface, name string) int {
	configMap := testkit.Must(configMaps.Get(t.Context(), name, metav1.GetOptions{}))(t)
	count, err := strconv.Atoi(configMap.Data["count"])
	if err != nil {
		t.Reject("count is a number", fmt.Sprintf("it is %q", configMap.Data["count"]), "strconv.Itoa")
	}
	return count
}

func TestExercise(t *testing.T) { grader.Test(t) }

func TestGrader(t *testing.T) { grader.TestGrader(t) }
