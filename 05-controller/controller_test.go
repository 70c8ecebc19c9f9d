package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testkit"
)

// newTestController returns a controller whose queue the test fills itself: its informers never start, and it does not
// wait for them.
func newTestController(t *testing.T) (*Controller, *record.FakeRecorder, *testkit.Buffer) {
	t.Helper()
	clientset, recorder, out := fake.NewClientset(), record.NewFakeRecorder(100), &testkit.Buffer{}
	factory := informers.NewSharedInformerFactory(clientset, 0)
	c := testkit.Must(NewController(clientset, factory.Core().V1().ConfigMaps(), factory.Apps().V1().Deployments(),
		recorder, program.NewPrinter(out)))(t)
	c.hasSynced, c.drainFor = nil, time.Second
	return c, recorder, out
}

// A race is no failure, and no success: the failures before it still count.
func TestRaceKeepsTheCountOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := cache.NewObjectName("shop", "orders")
		c, _, out := newTestController(t)
		defer c.queue.ShutDown()
		for _, err := range []error{errors.New("no"), consistency.ErrStale, errors.New("no")} {
			c.handleErr(t.Context(), err, key)
		}
		if n := c.queue.NumRequeues(key); n != 2 {
			t.Errorf("%d failures are counted, want 2:\n%s", n, out)
		}
	})
}

// At the drain, each key that waits for a retry is named, whatever it waits for.
func TestDrainNamesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, out := newTestController(t)
		results := map[string]error{
			"failed":   errors.New("no"),
			"raced":    consistency.ErrStale,
			"conflict": &terminalError{configMap: &corev1.ConfigMap{}, reason: "NameConflict", message: "taken", retryAfter: time.Minute},
			"invalid":  &terminalError{configMap: &corev1.ConfigMap{}, reason: "Invalid", message: "no number"},
			"good":     nil,
		}
		c.syncHandler = func(_ context.Context, key cache.ObjectName) error { return results[key.Name] }
		for name := range results {
			c.queue.Add(cache.NewObjectName("shop", name))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		c.Run(ctx, context.WithoutCancel(ctx), 1)
		got := out.Lines("DRAIN", "LEFT")
		want := []string{
			"DRAIN      0 processing, 0 queued, 3 due for a retry",
			"LEFT       shop/conflict is due for a retry",
			"LEFT       shop/failed is due for a retry",
			"LEFT       shop/raced is due for a retry",
		}
		if !slices.Equal(got, want) {
			t.Errorf("printed %q, want %q", got, want)
		}
	})
}

// TestWhatBecomesOfErrors lets the syncs of one key fail in different ways. The time is not real.
func TestWhatBecomesOfErrors(t *testing.T) {
	key := cache.NewObjectName("shop", "orders")
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "1"}}
	conflict := apierrors.NewConflict(appsv1.Resource("deployments"), "db", errors.New("changed"))
	terminating := apierrors.NewForbidden(appsv1.Resource("deployments"), "db", errors.New("terminating"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	invalid := &terminalError{configMap: configMap, reason: "Invalid", message: "no"}
	nameConflict := &terminalError{configMap: configMap, reason: "NameConflict", message: "no", retryAfter: 30 * time.Second}

	for name, test := range map[string]struct {
		errors []error // of the first syncs; the ones after succeed
		within time.Duration
		syncs  int
		words  []string // the first words of the lines printed
		events int
	}{
		"none":          {errors: nil, within: time.Hour, syncs: 1},
		"a conflict":    {errors: []error{conflict, conflict}, within: time.Second, syncs: 3, words: []string{"AGAIN", "AGAIN"}},
		"a stale store": {errors: []error{consistency.ErrStale}, within: time.Second, syncs: 2},
		"a failure is retried": {errors: []error{errors.New("no"), errors.New("no")},
			within: time.Second, syncs: 3, words: []string{"RETRY", "RETRY"}},
		"never dropped, and retried at least once a minute": {errors: slices.Repeat([]error{errors.New("no")}, 100),
			within: 2 * time.Hour, syncs: 101,
			words: slices.Repeat([]string{"RETRY"}, 100)},
		"bad input is not retried": {errors: []error{invalid}, within: time.Hour, syncs: 1, words: []string{"STUCK"}, events: 1},
		"a name conflict, slowly": {errors: []error{nameConflict, nameConflict},
			within: 59 * time.Second, syncs: 2, words: []string{"STUCK"}, events: 1},
		"a name conflict, solved": {errors: []error{nameConflict, nameConflict},
			within: time.Hour, syncs: 3, words: []string{"STUCK"}, events: 1},
		"a namespace that is deleted": {errors: []error{terminating}, within: time.Hour, syncs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, recorder, out := newTestController(t)
				syncs := 0
				c.syncHandler = func(context.Context, cache.ObjectName) error {
					syncs++
					if syncs <= len(test.errors) {
						return test.errors[syncs-1]
					}
					return nil
				}
				ctx, cancel := context.WithTimeout(t.Context(), test.within)
				defer cancel()
				c.queue.Add(key)
				c.Run(ctx, context.WithoutCancel(ctx), 1)

				var words []string
				for _, line := range out.Lines("AGAIN", "RETRY", "STUCK") {
					word, _, _ := strings.Cut(line, " ")
					words = append(words, word)
				}
				if syncs != test.syncs || !slices.Equal(words, test.words) || len(recorder.Events) != test.events {
					t.Errorf("%d syncs, %q, %d events; want %d, %q, %d",
						syncs, words, len(recorder.Events), test.syncs, test.words, test.events)
				}
			})
		})
	}
}
