package exercise

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type requestsAnswer = func(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error

// requestsExercise is about requests: a ConfigMap has a Secret of its name, whose label "of" is the ConfigMap's.
var requestsExercise = grade.Exercise[requestsAnswer]{
	Grade: func(t *grade.T, sync requestsAnswer) {
		server := fakeserver.Start(t)
		calls := &grade.Calls{
			Name: "Sync", Config: server.Config(), Done: "of is blue", More: grade.Busy,
			New: func(number int) grade.Case {
				name := fmt.Sprintf("c-%d", number)
				metadata := metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"of": "red"}}
				server.Create(&corev1.Secret{ObjectMeta: metadata})
				configMap := grade.Filled(&corev1.ConfigMap{ObjectMeta: *metadata.DeepCopy()})
				configMap.Labels["of"] = "blue"
				return grade.Case{
					Call: func(ctx context.Context, config *rest.Config) error {
						unchanged := t.Unchanged(configMap)
						defer unchanged()
						return sync(ctx, typedcorev1.NewForConfigOrDie(config).Secrets("default"), configMap)
					},
					State: func() string {
						secret, err := server.Core().Secrets("default").Get(t.Context(), name, metav1.GetOptions{})
						if err != nil {
							t.Fatal(err)
						}
						return "of is " + secret.Labels["of"]
					},
				}
			},
		}
		calls.FailEachRequest(t)
		calls.EndContext(t)
	},
}

func write(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	secret, err := secrets.Get(ctx, configMap.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	secret.Labels["of"] = configMap.Labels["of"]
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return err
}

func triesAgain(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	always := func(error) bool { return ctx.Err() == nil }
	return retry.OnError(retry.DefaultRetry, always, func() error { return write(ctx, secrets, configMap) })
}

func rejectsAnEndedContext(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return write(ctx, secrets, configMap)
}

func ignoresAnError(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	secret, err := secrets.Get(ctx, configMap.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	secret.Labels["of"] = configMap.Labels["of"]
	_, _ = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return nil
}

// takesForDone takes errors of one kind for success.
func takesForDone(is func(error) bool) requestsAnswer {
	return func(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
		if err := write(ctx, secrets, configMap); !is(err) {
			return err
		}
		return nil
	}
}

func addsAgain(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	secret, err := secrets.Get(ctx, configMap.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if secret.Labels["of"] == "red" {
		secret.Labels["of"] = ""
	}
	secret.Labels["of"] += configMap.Labels["of"]
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return err
}

var called = map[string]bool{}

func remembers(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	if called[configMap.Name] {
		return nil
	}
	called[configMap.Name] = true
	return write(ctx, secrets, configMap)
}

// other is a client that writes with another context.
type other struct {
	typedcorev1.SecretInterface
	context func(context.Context) context.Context
}

func (o other) Update(ctx context.Context, secret *corev1.Secret, options metav1.UpdateOptions) (*corev1.Secret, error) {
	return o.SecretInterface.Update(o.context(ctx), secret, options)
}

func hasAnotherContext(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	return write(ctx, other{secrets, func(context.Context) context.Context { return context.Background() }}, configMap)
}

func doesNotEnd(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	return write(ctx, other{secrets, context.WithoutCancel}, configMap)
}

func ignoresTheEnd(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	if err := write(ctx, secrets, configMap); ctx.Err() == nil {
		return err
	}
	return nil
}

func changesTheStore(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	configMap.Kind = "ConfigMap"
	return write(ctx, secrets, configMap)
}

func dropsWhatItDoesNotNeed(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	configMap.ManagedFields = nil
	return write(ctx, secrets, configMap)
}

func TestRequests(t *testing.T) {
	e := requestsExercise
	e.RejectsStarter(t, func(context.Context, typedcorev1.SecretInterface, *corev1.ConfigMap) error { return nil })
	notConflict := func(err error) bool { return !apierrors.IsConflict(err) }
	noStatus := func(err error) bool { return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown }
	e.Accepts(t, write, triesAgain, rejectsAnEndedContext)
	e.Rejects(t, "ignores an error", ignoresAnError, "the 2nd request, PUT of secrets/c-2, was answered with 500 InternalError: Sync returns an error, or nil when of is blue\n"+
		"seen      it returns nil, and of is red\nlook at   what becomes of the error")
	e.Rejects(t, "returns conflicts only", takesForDone(notConflict), "answered with 500 InternalError: Sync returns an error")
	e.Rejects(t, "takes Forbidden for done", takesForDone(apierrors.IsForbidden), "answered with 403 Forbidden: Sync returns")
	e.Rejects(t, "takes NotFound for done", takesForDone(apierrors.IsNotFound), "answered with 404 NotFound: Sync returns")
	e.Rejects(t, "takes a conflict for done", takesForDone(apierrors.IsConflict), "answered with 409 Conflict: Sync returns")
	e.Rejects(t, "takes Invalid for done", takesForDone(apierrors.IsInvalid), "answered with 422 Invalid: Sync returns")
	e.Rejects(t, "takes no connection for done", takesForDone(noStatus), "was not sent: the connection was refused: Sync")
	e.Rejects(t, "takes Timeout for done", takesForDone(apierrors.IsTimeout), "answered with 504 Timeout: Sync returns")
	e.Rejects(t, "adds again", addsAgain, "but the connection broke before the answer: the next call mends that, so that of is blue\n"+
		"seen      after the next call, of is blueblue")
	e.Rejects(t, "remembers that it was called", remembers, "seen      after the next call, of is red")
	e.Rejects(t, "has another context", hasAnotherContext, "expected  each request has the ctx that Sync is given\nseen      the 2nd request, PUT of secrets/c-1, has another")
	e.Rejects(t, "does not end", doesNotEnd, "ctx ends before the 2nd request, PUT of secrets/c-3: Sync sends nothing more\nseen      it sends the 2nd")
	e.Rejects(t, "ignores the end", ignoresTheEnd, "expected  ctx ends before the call: Sync returns an error")
	e.Rejects(t, "changes the store", changesTheStore, "an object in the store was changed: ConfigMap c-1")
	e.Rejects(t, "drops what it does not need", dropsWhatItDoesNotNeed, "an object in the store was changed: ConfigMap c-1")
}
