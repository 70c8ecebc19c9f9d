package codegen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercise/isolatedgroup"
	"example.com/client-go-workbook/internal/test/testkit"
)

type fakeAnswer = func(ctx context.Context, databases dbclient.DatabaseManagerInterface, sync databaseSync) error

// databaseSync is a controller's.
type databaseSync = func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error

// Fake grades the answers to "A test that the fake passes".
var Fake = grade.Exercise[fakeAnswer]{
	Cluster: true,
	Timeout: time.Minute, // Check is called some twenty times
	Grade:   gradeCheck,
}

// contextKey is the key of a value in the context that Check is given.
type contextKey struct{}

func gradeCheck(t *grade.T, check fakeAnswer) {
	config, namespace := isolatedgroup.Start(t)
	databases := dbclient.NewForConfigOrDie(config).DatabaseManagers(namespace)
	// call calls Check. Its request with this number is not answered. If it is a read, the later ones are not, either: a Check that
	// waits may read again. 0 means that all are answered.
	//
	// After a wrong sync, the right status does not come any more. So a Check that only waits for it gets 2 seconds, and a Check
	// that calls a wrong sync again and again gets 5. One whose requests are not answered gets 10: it must return an error anyway.
	call := func(sync databaseSync, lost int, wrong bool) (requests int, err error) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), contextKey{}, true))
		defer cancel()
		called := sync
		if lost > 0 {
			defer time.AfterFunc(10*time.Second, cancel).Stop()
		}
		if wrong {
			defer time.AfterFunc(5*time.Second, cancel).Stop()
			waits := time.AfterFunc(time.Hour, cancel)
			defer waits.Stop()
			called = func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error {
				waits.Stop()
				defer waits.Reset(2 * time.Second)
				return sync(ctx, databases, name)
			}
		}
		reads, foreign, gone := 0, "", false
		seen := testkit.Intercept(config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if reads++; r.Method != http.MethodGet {
				reads = 0
			}
			if reads > 10 {
				cancel() // Check waits for a status that never comes
			}
			if r.Context().Value(contextKey{}) == nil && r.Method != http.MethodDelete { // a Check may clean up after ctx has ended
				foreign = r.Method + " " + path.Base(r.URL.Path)
			}
			requests++
			gone = gone || requests == lost && r.Method == http.MethodGet
			if gone || requests == lost {
				return nil, errors.New("the grader does not let the API server answer")
			}
			return next.RoundTrip(r)
		})
		err = check(ctx, dbclient.NewForConfigOrDie(seen).DatabaseManagers(namespace), called)
		if err := databases.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		if foreign != "" {
			t.Reject("each request, also those of sync, has the ctx that Check is given", foreign+" has another",
				"the first argument of each call, also of sync")
		}
		return requests, err
	}

	controllers := []struct {
		what, look string
		sync       databaseSync
		right      bool
	}{
		{"is right, and writes with UpdateStatus", "", writesWith(update, nothing), true},
		{"is right, and sends a patch", "", writesWith(patch, nothing), true},
		{"is right, and has another condition, too", "", writesWith(update, func(_, d *dbv1alpha1.DatabaseManager) {
			other := metav1.Condition{Type: dbv1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: "Complete",
				LastTransitionTime: metav1.Now()}
			d.Status.Conditions = append([]metav1.Condition{other}, d.Status.Conditions...)
		}), true},
		{"is right, and needs two seconds for the first sync", "how much time does your Check give it?",
			slowly(writesWith(update, nothing)), true},
		{"has a bug: the status is written with Update", "the status that the server has after the sync",
			writesWith(func(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager) error {
				_, err := databases.Update(ctx, d, metav1.UpdateOptions{})
				return err
			}, nothing), false},
		{"has a bug: observedGeneration is never raised", "what does a user do after the first sync?",
			writesWith(update, func(_, d *dbv1alpha1.DatabaseManager) { d.Status.ObservedGeneration = 1 }), false},
		{"has a bug: availableReplicas is never changed", "what does a user change in the spec after the first sync?",
			writesWith(update, func(before, d *dbv1alpha1.DatabaseManager) {
				if before.Status.ObservedGeneration > 0 {
					d.Status.AvailableReplicas = before.Status.AvailableReplicas
				}
			}), false},
		{"has a bug: observedGeneration is higher than the object's generation", "is a number that is too high right, too?",
			writesWith(update, func(_, d *dbv1alpha1.DatabaseManager) { d.Status.ObservedGeneration++ }), false},
		{"has a bug: availableReplicas is higher than spec.replicas", "is a number that is too high right, too?",
			writesWith(update, func(_, d *dbv1alpha1.DatabaseManager) { d.Status.AvailableReplicas++ }), false},
		{"has a bug: Ready is always False", "the three parts of a right status",
			writesWith(update, func(_, d *dbv1alpha1.DatabaseManager) { d.Status.Conditions[0].Status = metav1.ConditionFalse }), false},
		{"has a bug: only the second sync of an object sets Ready", "the status after each sync",
			writesWith(update, func(before, d *dbv1alpha1.DatabaseManager) {
				if before.Status.ObservedGeneration == 0 {
					d.Status.Conditions = nil
				}
			}), false},
		{"has a bug: Ready is Unknown after the second sync of an object", "the three parts of a right status, after each sync",
			writesWith(update, func(before, d *dbv1alpha1.DatabaseManager) {
				if before.Status.ObservedGeneration > 0 {
					d.Status.Conditions[0].Status = metav1.ConditionUnknown
				}
			}), false},
		{"has a bug: its first sync of an object returns an error, though the status is right", "the error of each sync",
			fails(isFirst, errors.New("sync has failed")), false},
		{"has a bug: its first sync of an object returns a conflict, though the status is right", "the error of each sync, of every kind",
			fails(isFirst, apierrors.NewConflict(dbv1alpha1.Resource("databasemanagers"), "", errors.New("it has changed"))), false},
		{"has a bug: its second sync of an object returns an error, though the status is right", "the error of each sync",
			fails(func(before *dbv1alpha1.DatabaseManager) bool { return !isFirst(before) }, errors.New("sync has failed")), false},
		{"has a bug: it changes the spec when the status is written", "the object that the server has after the sync",
			writesWith(func(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager) error {
				d, err := databases.UpdateStatus(ctx, d, metav1.UpdateOptions{})
				if err != nil {
					return err
				}
				*d.Spec.Replicas++
				_, err = databases.Update(ctx, d, metav1.UpdateOptions{})
				return err
			}, nothing), false},
		{"has a bug: the CRD does not accept the condition's reason", "the error of sync, or the conditions that the server has",
			writesWith(update, func(_, d *dbv1alpha1.DatabaseManager) { d.Status.Conditions[0].Reason = "Replicas ready" }), false},
		{"has a bug: it writes no resourceVersion", "the error of sync, or the status that the server has",
			writesWith(update, func(_, d *dbv1alpha1.DatabaseManager) { d.ResourceVersion = "" }), false},
	}
	missed, found, bugs := -1, 0, 0
	for _, i := range t.Rand.Perm(len(controllers)) {
		c := controllers[i]
		t.Doing("Check to return for a controller that %s", c.what)
		if !c.right {
			bugs++
		}
		_, err := call(c.sync, 0, !c.right)
		switch {
		case c.right && err != nil:
			t.Reject("Check returns nil for a controller that "+c.what, err.Error(),
				cmp.Or(c.look, "the case that your Check complains about: what does a real server do?"))
		case c.right:
		case err != nil:
			found++
		case missed < 0 || i < missed:
			missed = i
		}
	}
	if missed >= 0 {
		t.Reject("Check returns an error for a controller that "+controllers[missed].what,
			fmt.Sprintf("your Check returns nil; of %d controllers with a bug it has found %d", bugs, found), controllers[missed].look)
	}

	for lost := 1; ; lost++ {
		t.Doing("Check to return when the API server does not answer request %d", lost)
		requests, err := call(writesWith(update, nothing), lost, false)
		if requests < lost {
			break // all have been answered
		}
		if err == nil {
			t.Reject("Check returns an error when the API server does not answer",
				fmt.Sprintf("it returns nil without an answer to its request %d", lost),
				"the errors of the requests: a Check that has seen nothing has found nothing right")
		}
	}
}

// writesWith returns a sync that writes the right status, which change can change before.
func writesWith(
	write func(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager) error,
	change func(before, d *dbv1alpha1.DatabaseManager),
) databaseSync {
	return func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error {
		d, err := databases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		before := d.DeepCopy()
		d.Status.ObservedGeneration = d.Generation
		d.Status.AvailableReplicas = *d.Spec.Replicas
		d.Status.Conditions = []metav1.Condition{{Type: dbv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "ReplicasReady",
			LastTransitionTime: metav1.Now()}}
		change(before, d)
		return write(ctx, databases, d)
	}
}

func isFirst(before *dbv1alpha1.DatabaseManager) bool { return before.Status.ObservedGeneration == 0 }

// fails returns a sync that writes the right status, and then returns an error, if that is so of the object before.
func fails(when func(before *dbv1alpha1.DatabaseManager) bool, failure error) databaseSync {
	return func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error {
		var failed error
		return cmp.Or(writesWith(update, func(before, _ *dbv1alpha1.DatabaseManager) {
			if when(before) {
				failed = failure
			}
		})(ctx, databases, name), failed)
	}
}

// slowly returns a sync that is slow at first.
func slowly(sync databaseSync) databaseSync {
	first := true
	return func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error {
		if first {
			first = false
			select {
			case <-time.After(2 * time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return sync(ctx, databases, name)
	}
}

func nothing(_, _ *dbv1alpha1.DatabaseManager) {}

func update(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager) error {
	_, err := databases.UpdateStatus(ctx, d, metav1.UpdateOptions{})
	return err
}

func patch(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager) error {
	c := d.Status.Conditions[0]
	_, err := databases.Patch(ctx, d.Name, types.MergePatchType, fmt.Appendf(nil,
		`{"status":{"observedGeneration":%d,"availableReplicas":%d,
		"conditions":[{"type":%q,"status":%q,"reason":%q,"message":"","lastTransitionTime":%q}]}}`,
		d.Status.ObservedGeneration, d.Status.AvailableReplicas, c.Type, c.Status, c.Reason,
		c.LastTransitionTime.UTC().Format("2006-01-02T15:04:05Z")),
		metav1.PatchOptions{}, "status")
	return err
}
