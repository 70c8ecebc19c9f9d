package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/failure"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestEveryErrorHasAReason writes a status for errors of all sorts. The server rejects a condition that the CRD's schema
// does not allow.
func TestEveryErrorHasAReason(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	client, databases := kubernetes.NewForConfigOrDie(e.config), versioned.NewForConfigOrDie(e.config)
	all := selection{namespace: e.namespace, labels: labels.Everything()}
	c, err := NewController(client, databases, newFactory(client, all), newDatabaseFactory(databases, all),
		&record.FakeRecorder{}, program.NewPrinter(io.Discard))
	if err != nil {
		t.Fatal(err)
	}

	cut := rest.CopyConfig(e.config)
	cut.Dial = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	_, connection := kubernetes.NewForConfigOrDie(cut).CoreV1().Pods(e.namespace).List(t.Context(), metav1.ListOptions{})
	late, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_, deadline := client.CoreV1().Pods(e.namespace).List(late, metav1.ListOptions{})
	broken := foreignDeployment()
	broken.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: database.FieldManager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"no":{}}}`),
	}}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "DatabaseManager"}, "x", nil)
	quota := apierrors.NewForbidden(corev1.Resource("pods"), "x", errors.New("exceeded quota: q"))
	_, extract := appsv1ac.ExtractDeployment(broken, database.FieldManager)
	status := func(reason, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Reason: metav1.StatusReason(reason), Message: message}}
	}
	for name, test := range map[string]struct {
		err    error
		reason string
	}{
		"connection":           {connection, failure.ReasonSyncFailed},
		"deadline":             {deadline, failure.ReasonSyncFailed},
		"extract":              {extract, failure.ReasonSyncFailed},
		"stale":                {fmt.Errorf("reading: %w", consistency.ErrStale), failure.ReasonSyncFailed},
		"no text":              {errors.New(""), failure.ReasonSyncFailed},
		"joined":               {errors.Join(errors.New("one"), errors.New("two")), failure.ReasonSyncFailed},
		"joined with Invalid":  {errors.Join(errors.New("one"), invalid), "Invalid"},
		"name conflict":        {fmt.Errorf("no: %w", failure.Blocked{Reason: "Blocked", Message: "x"}), "Blocked"},
		"waiting":              {failure.Blocked{Reason: "Waiting", Message: "x", Ends: true}, "Waiting"},
		"quota":                {quota, rollout.ReasonQuotaExceeded},
		"conflict":             {apierrors.NewConflict(corev1.Resource("pods"), "x", errors.New("changed")), "Conflict"},
		"internal":             {apierrors.NewInternalError(errors.New("failed calling webhook")), "InternalError"},
		"no reason":            {status("", "no reason"), failure.ReasonSyncFailed},
		"a webhook's sentence": {status("not on my watch!", "no"), failure.ReasonSyncFailed},
		"a long reason":        {status(strings.Repeat("Long", 500), "no"), failure.ReasonSyncFailed},
		"a long message":       {status("Invalid", strings.Repeat("ü", 40_000)), "Invalid"},
		"no UTF-8":             {status("Invalid", "\xff\xfe"), "Invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.err == nil {
				t.Fatal("no error to begin with")
			}
			e := e.in(t)
			object := strings.NewReplacer(" ", "-", "'", "").Replace(strings.ToLower(name))
			d := e.create(object, func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = object })
			if err := c.applyStatus(t.Context(), d, nil, true, test.err); err != nil {
				t.Fatalf("the server rejects the status: %v", err)
			}
			d = testkit.Must(e.databases.Get(t.Context(), object, metav1.GetOptions{}))(e)
			if ready := readyOf(d); ready == nil || ready.Reason != test.reason {
				t.Errorf("condition %+v, want the reason %s", ready, test.reason)
			}
		})
	}
}

// TestStatusReportsWhatADeletionWaitsFor makes a DatabaseManager again under its name, while something holds a child of the old one.
func TestStatusReportsWhatADeletionWaitsFor(t *testing.T) {
	t.Parallel()
	finalizers := func(value string) []byte { return []byte(`{"metadata": {"finalizers": ` + value + `}}`) }
	deployment := func(e *env, value string) error {
		_, err := e.deployments.Patch(e.Context(), "db", types.MergePatchType, finalizers(value), metav1.PatchOptions{})
		return err
	}
	secret := func(e *env, value string) error {
		_, err := e.secrets.Patch(e.Context(), "db-root", types.MergePatchType, finalizers(value), metav1.PatchOptions{})
		return err
	}
	for name, test := range map[string]struct {
		hold, release func(e *env) error
		words         []string
	}{
		"Deployment with a finalizer": {
			hold:    func(e *env) error { return deployment(e, `["example.com/theirs"]`) },
			release: func(e *env) error { return deployment(e, "null") },
			words:   []string{"Deployment db", "example.com/theirs"},
		},
		"Secret with a finalizer": {
			hold:    func(e *env) error { return secret(e, `["example.com/theirs"]`) },
			release: func(e *env) error { return secret(e, "null") },
			words:   []string{"Secret db-root", "example.com/theirs"},
		},
		"claim that a pod uses": {
			hold: func(e *env) error {
				_, err := e.pods.Create(e.Context(), &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: "backup"},
					Spec: corev1.PodSpec{
						Containers: []corev1.Container{{Name: "backup", Image: "backup:1.0.0"}},
						Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
							PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "db-data"}}}},
					},
				}, metav1.CreateOptions{})
				until(e, "the pod is on a node", get(e.pods.Get, "backup"), func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
				return err
			},
			release: func(e *env) error {
				return e.pods.Delete(e.Context(), "backup", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
			},
			words: []string{"PersistentVolumeClaim db-data", "kubernetes.io/pvc-protection"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "Secret with a finalizer" {
				testkit.All(t, "tries each child")
			}
			t.Parallel()
			e := newEnv(t)
			var counted requests
			c := e.startController(counted.wrap(e.config))
			defer e.createVolume("db-data")()
			storage := func(s *dbv1alpha1.DatabaseManagerSpec) {
				if name == "claim that a pod uses" {
					s.StorageSize = new(resource.MustParse("1Gi"))
				}
			}
			e.create("example", storage)
			e.untilReady("example", rollout.ReasonReplicasReady)
			if err := test.hold(e); err != nil {
				t.Fatal(err)
			}
			e.delete("example")
			untilGone(e, "the DatabaseManager", e.databases.Get, "example")

			start := time.Now()
			e.create("example", storage)
			d := until(e, "the status names what it waits for", get(e.databases.Get, "example"), func(d *dbv1alpha1.DatabaseManager) bool {
				ready := readyOf(d)
				return ready != nil && ready.Reason == database.ReasonWaitingForDeletion &&
					strings.Contains(ready.Message, test.words[0]) && strings.Contains(ready.Message, test.words[1])
			})
			t.Logf("%s after it was created again: %s", time.Since(start).Round(time.Millisecond), readyOf(d).Message)
			e.failsQuietly(c, &counted, "example")
			start = time.Now()
			if err := test.release(e); err != nil {
				t.Fatal(err)
			}
			if test.words[0] == "PersistentVolumeClaim db-data" {
				// The volume that is there was the old claim's. A pod can't have it, and that is not our concern here.
				until(e, "there is a Deployment", get(e.deployments.Get, "db"), func(*appsv1.Deployment) bool { return true })
			} else {
				untilGoneOrNew(e, d)
			}
			t.Logf("recovered %s after its release", time.Since(start).Round(time.Millisecond))
		})
	}
}

// untilGoneOrNew waits until the Deployment and the Secret are the new DatabaseManager's.
func untilGoneOrNew(e *env, d *dbv1alpha1.DatabaseManager) {
	e.Helper()
	until(e, "the children are the new one's", func(ctx context.Context) (bool, error) {
		deployment, err := e.deployments.Get(ctx, "db", metav1.GetOptions{})
		secret, secretErr := e.secrets.Get(ctx, "db-root", metav1.GetOptions{})
		return err == nil && secretErr == nil && metav1.IsControlledBy(deployment, d) && metav1.IsControlledBy(secret, d), nil
	}, func(ok bool) bool { return ok })
}

// TestStatusReportsWritesThatFail cuts the connection at each write of a Secret. The text of the error differs each
// time, as it is with real connections, which come from another port each.
func TestStatusReportsWritesThatFail(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var cut atomic.Bool
	var port atomic.Int64
	cut.Store(true)
	var counted requests
	config := counted.wrap(e.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return testkit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if cut.Load() && verbAndResource(request) == "PATCH secrets" {
				return nil, &net.OpError{
					Op: "read", Net: "tcp", Err: errors.New("connection reset by peer"),
					Source: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40_000 + int(port.Add(1))},
					Addr:   &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6443},
				}
			}
			return next.RoundTrip(request)
		})
	})
	e.create("example")
	c := e.startController(config)
	testkit.Await(t, "as many failures as it takes", func() bool {
		c.resync(t) // not after the delay of a retry
		return c.queue.NumRequeues(cache.NewObjectName(e.namespace, "example")) > 8
	})
	ready := readyOf(e.untilReady("example", failure.ReasonSyncFailed))
	if !strings.Contains(ready.Message, "Secret db-root") || !strings.Contains(ready.Message, "connection reset by peer") {
		t.Errorf("message %q", ready.Message)
	}
	for range 3 {
		c.resync(t)
	}
	if n := counted.take()["PATCH databasemanagers/status"]; n > 1 {
		t.Errorf("the status was written %d times for the same error", n)
	}
	cut.Store(false)
	c.resync(t)
	e.untilReady("example", rollout.ReasonReplicasReady)
}
