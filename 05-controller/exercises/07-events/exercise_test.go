package exercise_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/record"

	exercise "example.com/client-go-workbook/05-controller/exercises/07-events"
	answers "example.com/client-go-workbook/05-controller/exercises/answers/07-events"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(
	recorder record.EventRecorder,
	ensure func(ctx context.Context, configMap *corev1.ConfigMap) (bool, error),
) func(ctx context.Context, configMap *corev1.ConfigMap) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.NewSync,
	Accepted: []answer{answers.NewSync, answers.HasATypeWithAMethod},
	Rejected: []grade.Rejected[answer]{
		{Name: "records each sync", Answer: answers.RecordsEachSync, Says: "nothing differs"},
		{Name: "records before the write", Answer: answers.RecordsBeforeTheWrite, Says: "no Event, after a conflict"},
		{Name: "records each retry", Answer: answers.RecordsEachRetry, Says: "expected  no Event"},
		{Name: "records once for ever", Answer: answers.RecordsOnceForEver, Says: "the same mistake again, after a success"},
		{Name: "has one memory for all", Answer: answers.HasOneMemoryForAll, Says: "the same mistake in another ConfigMap"},
		{Name: "has one memory for a name", Answer: answers.HasOneMemoryForAName, Says: "the same mistake in another namespace"},
	},
	Grade: func(t *grade.T, newSync answer) {
		name := fmt.Sprintf("orders-%d", t.Rand.IntN(1000))
		orders, billing := newConfigMap("databases", name), newConfigMap("databases", name+"-billing")
		elsewhere := newConfigMap("shop", name)
		wrong, worse := invalid(fmt.Sprint("mistake ", t.Rand.IntN(1000))), invalid(fmt.Sprint("mistake ", 1000+t.Rand.IntN(1000)))
		conflict := apierrors.NewConflict(corev1.Resource("services"), name, errors.New("it has changed"))
		down := fmt.Errorf("the server is down: %d", t.Rand.IntN(1000))

		var s script
		recorder := &recorder{}
		sync := newSync(recorder, func(context.Context, *corev1.ConfigMap) (bool, error) { return s.wrote, s.err })
		for _, s = range []script{
			{"a write", orders, true, nil, "Normal Updated"},
			{"a conflict", orders, false, conflict, ""},
			{"another error", orders, false, down, ""},
			{"a write after that", orders, true, nil, "Normal Updated"},
			{"a sync in which nothing differs", orders, false, nil, ""},
			{"one more such sync", orders, false, nil, ""},
			{"a mistake", orders, false, wrong, "Warning Invalid"},
			{"the same mistake at the next sync", orders, false, wrong, ""},
			{"a conflict meanwhile", orders, false, conflict, ""},
			{"the same mistake after the conflict", orders, false, wrong, ""},
			{"the same mistake in another ConfigMap", billing, false, wrong, "Warning Invalid"},
			{"the same mistake in another namespace", elsewhere, false, wrong, "Warning Invalid"},
			{"the mistake in the first one, still", orders, false, wrong, ""},
			{"another mistake", orders, false, worse, "Warning Invalid"},
			{"a success", orders, false, nil, ""},
			{"the same mistake again, after a success", orders, false, worse, "Warning Invalid"},
		} {
			t.Doing("sync is called: %s", s.what)
			recorder.events, recorder.about = nil, nil
			err := sync(t.Context(), s.configMap)
			got := strings.Join(recorder.events, ", ")
			if want := s.event; want != got {
				if want == "" {
					want = "no Event"
				}
				if got == "" {
					got = "none"
				}
				t.Reject(fmt.Sprintf("%s, after %s", want, s.what), "recorded: "+got,
					"the table of the task, and what you remember of each ConfigMap")
			}
			if about, err := apimeta.Accessor(recorder.about); err == nil && about.GetUID() != s.configMap.UID {
				t.Reject("the Event is about ConfigMap "+s.configMap.Name, "it is about "+about.GetName(), "EventRecorder.Event")
			}
			if apierrors.IsInvalid(s.err) || s.err == nil {
				if err != nil {
					t.Reject("sync returns nil after "+s.what, fmt.Sprintf("it returns: %v", err), "would a retry help?")
				}
			} else if !errors.Is(err, s.err) {
				t.Reject("sync returns the error after "+s.what, fmt.Sprintf("it returns: %v", err),
					"what does the queue need to try again?")
			}
		}
	},
}

// script is one sync: what ensure returns, and which Event must be recorded.
type script struct {
	what      string
	configMap *corev1.ConfigMap
	wrote     bool
	err       error
	event     string
}

func newConfigMap(namespace, name string) *corev1.ConfigMap {
	uid := types.UID("uid-of-" + namespace + "-" + name)
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}}
}

func invalid(mistake string) error {
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), "database",
		field.ErrorList{field.Invalid(field.NewPath("spec", "ports"), mistake, "not a number")})
}

// recorder keeps the type and reason of each Event, and what the last one is about.
type recorder struct {
	events []string
	about  runtime.Object
}

func (r *recorder) Event(object runtime.Object, eventType, reason, _ string) {
	r.events = append(r.events, eventType+" "+reason)
	r.about = object
}

func (r *recorder) Eventf(object runtime.Object, eventType, reason, _ string, _ ...any) {
	r.Event(object, eventType, reason, "")
}

func (r *recorder) AnnotatedEventf(object runtime.Object, _ map[string]string, eventType, reason, _ string, _ ...any) {
	r.Event(object, eventType, reason, "")
}

func TestExercise(t *testing.T) { grader.Test(t) }

func TestGrader(t *testing.T) { grader.TestGrader(t) }
