package main

import (
	"bytes"
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
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2/textlogger"

	"example.com/client-go-workbook/internal/consistency"
	"example.com/client-go-workbook/internal/program"
)

// TestStaleLookIsNoSuccess shows that a key's failures are counted on after a look at a late store.
func TestStaleLookIsNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := cache.NewObjectName("shop", "orders")
		retries, out := newBackoff(), &output{}
		queue := workqueue.NewTypedRateLimitingQueueWithConfig(retries, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{})
		defer queue.ShutDown()
		c := &Controller{queue: queue, backoff: retries, staleBackoff: consistency.NewBackoff(), teller: teller{out: program.NewPrinter(out)}}
		for _, err := range []error{errors.New("no"), consistency.ErrStale, errors.New("no")} {
			c.handleErr(err, key)
		}
		if n := queue.NumRequeues(key); n != 2 {
			t.Errorf("%d failures are counted, want 2:\n%q", n, out.lines())
		}
	})
}

// TestMissingGateIsLogged shows that without AtomicFIFO, on which the check for late stores rests, the log says so.
func TestMissingGateIsLogged(t *testing.T) {
	for _, on := range []bool{true, false} {
		featurestesting.SetFeatureDuringTest(t, features.AtomicFIFO, on)
		var log bytes.Buffer
		consistency.LogIfOff(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
		if logged := strings.Count(log.String(), "AtomicFIFO is off"); logged != map[bool]int{false: 1}[on] {
			t.Errorf("with AtomicFIFO %t the log has it %d times", on, logged)
		}
	}
}

// TestWhatBecomesOfErrors lets one key fail in different ways. The time is not real.
func TestWhatBecomesOfErrors(t *testing.T) {
	key := cache.NewObjectName("shop", "orders")
	about := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "1"}}
	conflict := apierrors.NewConflict(appsv1.Resource("deployments"), "db", errors.New("changed"))
	terminating := apierrors.NewForbidden(appsv1.Resource("deployments"), "db", errors.New("terminating"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	invalid := &problem{about: about, reason: "Invalid", text: "no"}
	other := &problem{about: about, reason: "NameConflict", text: "no", retryAfter: 30 * time.Second}

	for name, test := range map[string]struct {
		errors []error // of the first syncs; the ones after succeed
		within time.Duration
		syncs  int
		words  string // of the lines printed
		events int
	}{
		"none":                     {errors: nil, within: time.Hour, syncs: 1},
		"a conflict is read again": {errors: []error{conflict, conflict}, within: time.Second, syncs: 3, words: "AGAIN AGAIN"},
		"a store that is behind":   {errors: []error{consistency.ErrStale}, within: time.Second, syncs: 2},
		"a failure is retried":     {errors: []error{errors.New("no"), errors.New("no")}, within: time.Second, syncs: 3, words: "RETRY RETRY"},
		"never dropped, and at least once a minute": {errors: slices.Repeat([]error{errors.New("no")}, 100), within: 2 * time.Hour, syncs: 101,
			words: strings.TrimSpace(strings.Repeat("RETRY ", 100))},
		"bad input is not retried":       {errors: []error{invalid}, within: time.Hour, syncs: 1, words: "STUCK", events: 1},
		"a conflict of names, slowly":    {errors: []error{other, other}, within: 59 * time.Second, syncs: 2, words: "STUCK", events: 1},
		"a conflict of names, solved":    {errors: []error{other, other}, within: time.Hour, syncs: 3, words: "STUCK", events: 1},
		"a namespace that is going away": {errors: []error{terminating}, within: time.Hour, syncs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				retries := newBackoff()
				queue := workqueue.NewTypedRateLimitingQueueWithConfig(retries, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{})
				out := &output{}
				recorder := record.NewFakeRecorder(100)
				c := &Controller{queue: queue, backoff: retries, staleBackoff: consistency.NewBackoff(), drainFor: time.Second,
					teller: teller{recorder: recorder, out: program.NewPrinter(out), told: map[cache.ObjectName]string{}}}
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
				queue.Add(key)
				c.Run(ctx, context.WithoutCancel(ctx), 1)

				var words []string
				for _, line := range out.lines() {
					if word, _, _ := strings.Cut(line, " "); word != "DRAIN" && word != "DRAINED" {
						words = append(words, word)
					}
				}
				if syncs != test.syncs || strings.Join(words, " ") != test.words || len(recorder.Events) != test.events {
					t.Errorf("%d syncs, %q, %d events; want %d, %q, %d", syncs, words, len(recorder.Events), test.syncs, test.words, test.events)
				}
			})
		})
	}
}
