package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/record"

	"example.com/client-go-workbook/internal/exercise/grade"
)

type eventsAnswer = func(
	recorder record.EventRecorder,
	ensure func(ctx context.Context, configMap *corev1.ConfigMap) (bool, error),
) func(ctx context.Context, configMap *corev1.ConfigMap) error

// Events grades the answers to "Events when something changes".
var Events = grade.Exercise[eventsAnswer]{
	Grade: func(t *grade.T, newSync eventsAnswer) {
		name := fmt.Sprintf("orders-%d", t.Rand.IntN(1000))
		orders, billing := grade.Filled(newConfigMap("databases", name)), newConfigMap("databases", name+"-billing")
		elsewhere, again := newConfigMap("shop", name), newConfigMap("databases", name)
		again.UID += "-again"
		first, second := t.Rand.IntN(1000), 1000+t.Rand.IntN(1000)
		wrong := fmt.Errorf("ensuring the Service: %w", invalid(fmt.Sprint("mistake ", first)))
		worse := invalid(fmt.Sprint("mistake ", second))
		conflict := apierrors.NewConflict(corev1.Resource("services"), name, errors.New("it has changed"))
		bad := apierrors.NewBadRequest("the request cannot be read")
		down := fmt.Errorf("the server is down: %d", t.Rand.IntN(1000))
		unchanged := t.Unchanged(orders, billing, elsewhere, again)

		// The second NewSync has the same ConfigMaps and mistakes, and knows nothing of the first.
		for _, of := range []string{"", " of a second NewSync"} {
			var s script
			recorder := &recorder{}
			ctx := context.WithValue(t.Context(), contextKey{}, of)
			sync := newSync(recorder, func(got context.Context, configMap *corev1.ConfigMap) (bool, error) {
				if got.Value(contextKey{}) != of || got.Err() != nil {
					t.Reject("ensure gets the ctx of sync", "it gets another one, or one that has ended", "the first argument of ensure")
				}
				if configMap.UID != s.configMap.UID {
					t.Reject("ensure gets the ConfigMap of sync", "it gets another one", "the second argument of ensure")
				}
				return s.wrote, s.err
			})
			if sync == nil {
				t.Reject("NewSync returns a function"+of, "it returns nil", "each call of NewSync returns a new one")
			}
			for _, s = range []script{
				{"a write", orders, true, nil, "Normal Updated"},
				{"a conflict", orders, false, conflict, ""},
				{"a conflict after a first write", orders, true, conflict, ""},
				{"another error", orders, false, down, ""},
				{"one more error, which is not Invalid", orders, false, bad, ""},
				{"a write after that", orders, true, nil, "Normal Updated"},
				{"a sync in which nothing differs", orders, false, nil, ""},
				{"one more such sync", orders, false, nil, ""},
				{"a mistake", orders, false, wrong, "Warning Invalid"},
				{"a write after the mistake", orders, true, nil, "Normal Updated"},
				{"the mistake again, after a write", orders, false, wrong, "Warning Invalid"},
				{"the same mistake at the next sync", orders, false, wrong, ""},
				{"a conflict meanwhile", orders, false, conflict, ""},
				{"the same mistake after the conflict", orders, false, wrong, ""},
				{"the same mistake in another ConfigMap", billing, false, wrong, "Warning Invalid"},
				{"the same mistake in another namespace", elsewhere, false, wrong, "Warning Invalid"},
				{"the mistake in the first one, still", orders, false, wrong, ""},
				{"another mistake", orders, false, worse, "Warning Invalid"},
				{"the first mistake again, after another one", orders, false, wrong, "Warning Invalid"},
				{"a success", orders, false, nil, ""},
				{"the same mistake again, after a success", orders, false, wrong, "Warning Invalid"},
				{"the same mistake in a ConfigMap that was deleted and created again", again, false, wrong, "Warning Invalid"},
				{"the same mistake in that one, at the next sync", again, false, wrong, ""},
			} {
				s.what += of
				t.Doing("sync is called: %s", s.what)
				recorder.events, recorder.about = nil, nil
				s.check(t, recorder, sync(ctx, s.configMap))
				unchanged()
			}
		}
	},
}

// contextKey is the key of a value in the context that an answer is given.
type contextKey struct{}

// script is one sync: what ensure returns, and which Event must be recorded.
type script struct {
	what      string
	configMap *corev1.ConfigMap
	wrote     bool
	err       error
	event     string
}

// check compares what sync has recorded and returned with what it should.
func (s script) check(t *grade.T, recorder *recorder, err error) {
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
	if s.event != "" && recorder.message == "" {
		t.Reject("the Event has a message, after "+s.what, "it has none", "EventRecorder.Event")
	}
	if apierrors.IsInvalid(s.err) && s.event != "" && !strings.Contains(recorder.message, s.err.Error()) {
		t.Reject("the message of the Event has the error's text, after "+s.what, "it says: "+recorder.message,
			"EventRecorder.Event; Eventf: which argument is the format?")
	}
	if apierrors.IsInvalid(s.err) || s.err == nil {
		if err != nil {
			t.Reject("sync returns nil after "+s.what, fmt.Sprintf("it returns: %v", err), "would a retry help?")
		}
	} else if !errors.Is(err, s.err) {
		t.Reject("sync returns the error after "+s.what, fmt.Sprintf("it returns: %v", err), "what does the queue need to try again?")
	}
}

func newConfigMap(namespace, name string) *corev1.ConfigMap {
	uid := types.UID("uid-of-" + namespace + "-" + name)
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}}
}

func invalid(mistake string) error {
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), "database",
		field.ErrorList{field.Invalid(field.NewPath("spec", "ports"), mistake, "80% is not a number")})
}

// recorder keeps the type and reason of each Event, and what the last one is about.
type recorder struct {
	events  []string
	about   runtime.Object
	message string
}

func (r *recorder) Event(object runtime.Object, eventType, reason, message string) {
	r.events = append(r.events, eventType+" "+reason)
	r.about, r.message = object, message
}

func (r *recorder) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	r.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

func (r *recorder) AnnotatedEventf(object runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	r.Eventf(object, eventType, reason, format, args...)
}
