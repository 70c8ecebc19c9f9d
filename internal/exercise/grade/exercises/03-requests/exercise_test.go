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

type answer = func(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error

var exercise = grade.Exercise[answer]{
	Learner:  starter,
	Accepted: []answer{returnsErrors, triesAgain, rejectsAnEndedContext},
	Rejected: []grade.Rejected[answer]{
		{Name: "ignores an error", Answer: ignoresAnError,
			Says: "the 2nd request, PUT of secrets/c-2, was answered with 500 InternalError: Sync returns an error, or nil when of is blue\n" +
				"seen      it returns nil, and of is red\nlook at   what becomes of the error"},
		{Name: "returns conflicts only", Answer: returnsConflictsOnly, Says: "answered with 500 InternalError: Sync returns an error"},
		{Name: "takes Forbidden for done", Answer: takesForbiddenForDone, Says: "answered with 403 Forbidden: Sync returns"},
		{Name: "takes NotFound for done", Answer: takesNotFoundForDone, Says: "answered with 404 NotFound: Sync returns"},
		{Name: "takes a conflict for done", Answer: takesAConflictForDone, Says: "answered with 409 Conflict: Sync returns"},
		{Name: "takes Invalid for done", Answer: takesInvalidForDone, Says: "answered with 422 Invalid: Sync returns"},
		{Name: "takes no connection for done", Answer: takesNoConnectionForDone, Says: "was not sent: the connection was refused: Sync"},
		{Name: "takes Timeout for done", Answer: takesTimeoutForDone, Says: "answered with 504 Timeout: Sync returns"},
		{Name: "adds again", Answer: addsAgain,
			Says: "but the connection broke before the answer: the next call mends that, so that of is blue\n" +
				"seen      after the next call, of is blueblue"},
		{Name: "remembers that it was called", Answer: remembers, Says: "seen      after the next call, of is red"},
		{Name: "has another context", Answer: hasAnotherContext,
			Says: "expected  each request has the ctx that Sync is given\nseen      the 2nd request, PUT of secrets/c-1, has another"},
		{Name: "does not end", Answer: doesNotEnd,
			Says: "ctx ends before the 2nd request, PUT of secrets/c-3: Sync sends nothing more\nseen      it sends the 2nd"},
		{Name: "ignores the end", Answer: ignoresTheEnd, Says: "expected  ctx ends before the call: Sync returns an error"},
		{Name: "changes the store", Answer: changesTheStore, Says: "an object in the store was changed: ConfigMap c-1"},
		{Name: "drops what it does not need", Answer: dropsWhatItDoesNotNeed, Says: "an object in the store was changed: ConfigMap c-1"},
	},
	Grade: func(t *grade.T, sync answer) {
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

func returnsErrors(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	return write(ctx, secrets, configMap)
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

func returnsConflictsOnly(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	if err := write(ctx, secrets, configMap); apierrors.IsConflict(err) {
		return err
	}
	return nil
}

func takesForbiddenForDone(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	return unless(apierrors.IsForbidden, write(ctx, secrets, configMap))
}

func takesNotFoundForDone(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	return unless(apierrors.IsNotFound, write(ctx, secrets, configMap))
}

func takesAConflictForDone(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	return unless(apierrors.IsConflict, write(ctx, secrets, configMap))
}

func takesInvalidForDone(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	return unless(apierrors.IsInvalid, write(ctx, secrets, configMap))
}

func takesTimeoutForDone(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	return unless(apierrors.IsTimeout, write(ctx, secrets, configMap))
}

func takesNoConnectionForDone(ctx context.Context, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap) error {
	noStatus := func(err error) bool { return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown }
	return unless(noStatus, write(ctx, secrets, configMap))
}

func unless(is func(error) bool, err error) error {
	if is(err) {
		return nil
	}
	return err
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

func TestExercise(t *testing.T) { exercise.Test(t) }

func TestGrader(t *testing.T) { exercise.TestGrader(t) }
