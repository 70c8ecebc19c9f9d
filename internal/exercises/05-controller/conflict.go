package controller

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type conflictAnswer = func(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error

// Conflict grades the answers to "Read again after a conflict".
var Conflict = grade.Exercise[conflictAnswer]{
	Cluster: true,
	Grade: func(t *grade.T, increment conflictAnswer) {
		config := testcluster.Config(t)
		namespace := testcluster.Namespace(t, config)
		configMaps := typedcorev1.NewForConfigOrDie(config).ConfigMaps(namespace)
		name := fmt.Sprintf("visits-%d", t.Rand.IntN(1000))
		start := t.Rand.IntN(1000)
		testkit.Must(configMaps.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": written(start)}},
			Data:       map[string]string{"count": strconv.Itoa(start), "title": written(start)},
		}, metav1.CreateOptions{}))(t)

		want, rest := start, written(start)
		for _, conflicts := range []int{0, 3, 1} {
			t.Doing("Increment is called, with %d conflict(s)", conflicts)
			interfering, added := interfere(t, config, configMaps, name, conflicts)
			err := increment(t.Context(), typedcorev1.NewForConfigOrDie(interfering).ConfigMaps(namespace), name)
			if err != nil {
				t.Reject(fmt.Sprintf("after %d conflict(s), Increment returns nil", conflicts), fmt.Sprintf("it returns: %v", err),
					`retry.RetryOnConflict; the section "Break it" of the chapter, "Conflict: 409"`)
			}
			if *added > 0 {
				rest = written(want + *added)
			}
			want += *added + 1
			if got := storedCount(t, configMaps, name); got != want {
				seen := fmt.Sprintf("it is %d: an increment is lost", got)
				if got > want {
					seen = fmt.Sprintf("it is %d: you have added more than your 1", got)
				}
				t.Reject(fmt.Sprintf("count is %d: it was %d, others have added %d, and you 1", want, want-*added-1, *added), seen,
					"the resourceVersion of the object that you send, and what becomes of the error of Update")
			}
			configMap := testkit.Must(configMaps.Get(t.Context(), name, metav1.GetOptions{}))(t)
			if configMap.Data["title"] != rest || configMap.Labels["app"] != rest {
				t.Reject(fmt.Sprintf("key title and label app stay as others have written them: %s", rest),
					fmt.Sprintf("data is %v, labels are %v", configMap.Data, configMap.Labels),
					"an update replaces the whole object: begin with what you have read last")
			}
		}

		number := t.Rand.IntN(1000)
		noNumbers := []string{"many", fmt.Sprintf("%d apples", number), fmt.Sprintf("%dth", number), fmt.Sprintf("no. %d", number)}
		for i, noNumber := range noNumbers {
			checkNoNumber(t, configMaps, fmt.Sprintf("%s-no-number-%d", name, i), noNumber, increment)
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
				fmt.Sprintf("it sends %s %d times", requests[0], len(requests)), lookConflict)
		}

		calls := &grade.Calls{
			Name: "Increment", Config: config, Done: "count has grown by 1", Look: lookConflict, More: grade.Busy,
			New: func(number int) grade.Case {
				return newIncrement(t, configMaps, fmt.Sprintf("%s-%d", name, number), increment)
			},
			Right: func(_ grade.Request, fault grade.Fault) grade.Outcome {
				if fault == grade.Conflict {
					return grade.Done
				}
				return grade.Error
			},
		}
		calls.FailEachRequest(t)
		calls.EndContext(t)
	},
}

const lookConflict = "which errors does retry.RetryOnConflict retry, and what does it return?"

// checkNoNumber calls the answer for a ConfigMap whose count is no number, also if there is one in it.
func checkNoNumber(t *grade.T, configMaps typedcorev1.ConfigMapInterface, name, noNumber string, increment conflictAnswer) {
	testkit.Must(configMaps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"count": noNumber},
	}, metav1.CreateOptions{}))(t)
	expected := fmt.Sprintf("count is %q, which is no number: Increment returns an error, and count stays as it is", noNumber)
	t.Doing("%s", expected)
	err := increment(t.Context(), configMaps, name)
	configMap := testkit.Must(configMaps.Get(t.Context(), name, metav1.GetOptions{}))(t)
	if now := configMap.Data["count"]; err == nil || now != noNumber {
		t.Reject(expected, fmt.Sprintf("count is %q, and it returns: %v", now, err),
			"the error of strconv.Atoi, which takes the whole string")
	}
}

// newIncrement makes a ConfigMap for a call of Increment in which a request fails.
func newIncrement(t *grade.T, configMaps typedcorev1.ConfigMapInterface, name string, increment conflictAnswer) grade.Case {
	start := t.Rand.IntN(1000)
	configMap := testkit.Must(configMaps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string]string{"count": strconv.Itoa(start)},
	}, metav1.CreateOptions{}))(t)
	return grade.Case{
		Call: func(ctx context.Context, config *rest.Config) error {
			return increment(ctx, typedcorev1.NewForConfigOrDie(config).ConfigMaps(configMap.Namespace), name)
		},
		State: func() string { return fmt.Sprintf("count has grown by %d", storedCount(t, configMaps, name)-start) },
		Check: func(failed grade.Failed) {
			if failed.Fault != grade.Conflict && len(failed.Requests) > failed.Request.Number {
				t.Reject(failed.String()+": Increment sends no more requests",
					"it sends "+failed.Requests[failed.Request.Number].String(), lookConflict)
			}
			if failed.Fault == grade.Forbidden && failed.Err != nil && !apierrors.IsForbidden(failed.Err) {
				t.Reject(failed.String()+": Increment returns this error", fmt.Sprintf("it returns: %v", failed.Err), lookConflict)
			}
			if failed.Fault == grade.AnswerLost {
				start++ // the server has added one, and nobody knows: the next call adds another
			}
		},
	}
}

// interfere returns a config with which the first writes come too late: before each, somebody else adds one, and
// changes the rest. It also returns how often that has happened.
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
			count := storedCount(t, configMaps, name) + 1
			patch := fmt.Sprintf(`{"metadata":{"labels":{"app":%q}},"data":{"count":"%d","title":%[1]q}}`, written(count), count)
			testkit.Must(configMaps.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(t)
			added++
		}
		return next.RoundTrip(request)
	}), &added
}

// written is what others write to the key title and to the label app, together with this count.
func written(count int) string { return fmt.Sprintf("visits-of-%d", count) }

// storedCount returns the number that the server holds.
func storedCount(t *grade.T, configMaps typedcorev1.ConfigMapInterface, name string) int {
	configMap, err := configMaps.Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		t.Reject("ConfigMap "+name+" is always there: others read it, too", "it was deleted", "ConfigMapInterface.Update")
	}
	count, err := strconv.Atoi(testkit.Must(configMap, err)(t).Data["count"])
	if err != nil {
		t.Reject("count is a number", fmt.Sprintf("it is %q", configMap.Data["count"]), "strconv.Itoa")
	}
	return count
}
