package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/failure"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/netfault"
	"example.com/client-go-workbook/internal/test/testkit"
)

// before calls do once, just before the first request that matches goes out after the test has armed it, and passes the
// status code of the answer on.
type before struct {
	method, suffix string
	do             func()
	answered       func(code int)

	mu    sync.Mutex
	armed bool
}

func (h *before) arm() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.armed = true
}

func (h *before) wrap(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return testkit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			h.mu.Lock()
			fire := h.armed && request.Method == h.method && strings.HasSuffix(request.URL.Path, h.suffix)
			if fire {
				h.armed = false
			}
			h.mu.Unlock()
			if !fire {
				return next.RoundTrip(request)
			}
			h.do()
			response, err := next.RoundTrip(request)
			if err == nil && h.answered != nil {
				h.answered(response.StatusCode)
			}
			return response, err
		})
	})
	return config
}

// TestChildReplacedDuringAnApply replaces a child by another object while an apply for it is on its way. That is a conflict, and not
// the user's concern: no condition and no event reports it.
func TestChildReplacedDuringAnApply(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		theirs bool
		reason string // in the end
	}{
		"by the same object": {false, rollout.ReasonReplicasReady},
		"by another user's":  {true, database.ReasonNameConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			deployments := e.deployments
			hook := &before{method: http.MethodPatch, suffix: "/deployments/db"}
			hook.do = func() {
				again := e.deployment("db")
				if err := deployments.Delete(context.Background(), "db", metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
				again.ObjectMeta = metav1.ObjectMeta{Name: "db", Labels: again.Labels, OwnerReferences: again.OwnerReferences}
				if test.theirs {
					again = foreignDeployment()
				}
				if _, err := deployments.Create(context.Background(), again, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
			hook.answered = func(code int) {
				if code != http.StatusConflict {
					t.Errorf("the apply was answered with %d, want %d", code, http.StatusConflict)
				}
			}
			output, _ := e.run(hook.wrap(e.config))
			e.create("example")
			e.untilReady("example", rollout.ReasonReplicasReady)
			hook.arm()
			until(e, "it is scaled", func(ctx context.Context) (*dbv1alpha1.DatabaseManager, error) {
				d, err := e.databases.Get(ctx, "example", metav1.GetOptions{})
				if err != nil {
					return nil, err
				}
				d.Spec.Replicas = new(int32(2))
				return e.databases.Update(ctx, d, metav1.UpdateOptions{})
			}, func(*dbv1alpha1.DatabaseManager) bool { return true })
			e.untilReady("example", test.reason)
			if len(output.Lines("AGAIN")) == 0 || strings.Contains(output.String(), "Invalid") || len(output.Lines("RETRY")) > 0 {
				t.Errorf("want a conflict, and nothing invalid:\n%s", output.String())
			}
			for _, event := range testkit.Must(e.client.CoreV1().Events(e.namespace).List(t.Context(), metav1.ListOptions{}))(e).Items {
				if event.Reason == "Invalid" {
					t.Errorf("event %s: %s", event.Reason, event.Message)
				}
			}
		})
	}
}

// TestStatusOfAnEarlierObjectIsRefused deletes a DatabaseManager and makes one of the same name while a status is on its way.
func TestStatusOfAnEarlierObjectIsRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	hook := &before{method: http.MethodPatch, suffix: "/databasemanagers/example/status"}
	hook.do = func() {
		orphan := metav1.DeletePropagationBackground
		if err := e.databases.Delete(context.Background(), "example", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
			t.Error(err)
		}
		e.create("example", func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = "another" })
	}
	answered := make(chan struct{})
	hook.answered = func(code int) {
		defer close(answered)
		if code != http.StatusConflict {
			t.Errorf("the status was answered with %d, want %d", code, http.StatusConflict)
		}
		if d := testkit.Must(e.databases.Get(context.Background(), "example", metav1.GetOptions{}))(e); len(d.Status.Conditions) > 0 {
			t.Errorf("the new one has the old one's status: %+v", d.Status)
		}
	}
	e.run(hook.wrap(e.config))
	hook.arm()
	e.create("example")
	select {
	case <-answered:
	case <-time.After(time.Minute):
		t.Fatal("no status was written")
	}
	e.untilReady("example", rollout.ReasonReplicasReady)
}

// TestDeleteAfterALostAnswer has the server remove the owner reference of a Secret, for Retain, and loses its answer, while the watch of
// Secrets shows nothing. Then the policy is Delete again, and the store shows the reference that the server does not have any more. Without
// it and without the finalizer, the Secret would outlive its owner.
func TestDeleteAfterALostAnswer(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	watch := netfault.NewGate("secrets")
	var loses atomic.Bool
	config := watch.Wrap(e.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return testkit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			isWrite := err == nil && request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/secrets/db-root")
			if isWrite && loses.CompareAndSwap(true, false) {
				return nil, errors.Join(errors.New("the answer is lost"), response.Body.Close())
			}
			return response, err
		})
	})
	e.run(config)
	d := e.createWithAll("db")
	e.untilReady("db", rollout.ReasonScaledToZero)
	watch.Close()
	loses.Store(true)
	e.patch("db", `{"spec": {"deletionPolicy": "Retain"}}`)
	testkit.Await(t, "the lost answer", func() bool { return !loses.Load() })
	if owners := e.secret("db-root").OwnerReferences; len(owners) > 0 {
		t.Fatalf("with Retain, the Secret has the owners %v", owners)
	}
	e.patch("db", `{"spec": {"deletionPolicy": "Delete"}}`)
	until(e, "the end of the finalizer", get(e.databases.Get, "db"), func(d *dbv1alpha1.DatabaseManager) bool {
		return !database.HasFinalizer(d)
	})
	if secret := e.secret("db-root"); !metav1.IsControlledBy(secret, d) {
		t.Errorf("the finalizer is gone, and the Secret has the owners %v", secret.OwnerReferences)
	}
	watch.Open()
}

// TestStatusReportsAWatchThatHangs holds everything that the watch of Deployments brings. The controller then does not get
// its own write, must not write again, and says so.
func TestStatusReportsAWatchThatHangs(t *testing.T) {
	testkit.All(t, "waits for half a minute")
	t.Parallel()
	e := newEnv(t)
	watch := netfault.NewGate("deployments")
	var counted requests
	output, _ := e.run(counted.wrap(watch.Wrap(e.config)))
	e.create("example", func(s *dbv1alpha1.DatabaseManagerSpec) { s.Replicas = new(int32(0)) })
	e.untilReady("example", rollout.ReasonScaledToZero)
	watch.Close()
	start := time.Now()
	counted.take()
	e.patch("example", `{"spec": {"version": "8.4.5"}}`)
	d := e.untilReady("example", failure.ReasonWatchDelayed)
	ready := readyOf(d)
	if took := time.Since(start); ready.Status != metav1.ConditionUnknown || took < consistency.StalledAfter {
		t.Errorf("after %s: condition %+v, want Unknown after %s", took, ready, consistency.StalledAfter)
	} else {
		t.Logf("%s after the change: %s", took.Round(time.Millisecond), ready.Message)
	}
	if counts := counted.take(); counts["PATCH deployments"] != 1 || total(counts) > 10 {
		t.Errorf("requests while the watch hangs: %v", counts)
	}
	output.Await(t, "^AGAIN .*its own last write to a Deployment .*: the watch may hang")
	watch.Open()
	e.untilReady("example", rollout.ReasonScaledToZero)
}

// TestStatusReportsALabelThatAPolicyChanges has an admission policy change the label by which the controller's informer selects. It
// can't see its own Service then, says so, and finds out by itself when the policy is gone.
func TestStatusReportsALabelThatAPolicyChanges(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	policies := e.client.AdmissionregistrationV1()
	name := e.namespace + ".example.com"
	fail := admissionregistrationv1.Fail
	testkit.Must(policies.MutatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      &fail,
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints:   e.updatesOf("", "services"),
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{
					Expression: `Object{metadata: Object.metadata{labels: {"` + database.ManagedByLabel + `": "policy"}}}`,
				},
			}},
		},
	}, metav1.CreateOptions{}))(e)
	testkit.Must(policies.MutatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	}, metav1.CreateOptions{}))(e)
	lift := sync.OnceFunc(func() {
		for _, err := range []error{
			policies.MutatingAdmissionPolicyBindings().Delete(context.Background(), name, metav1.DeleteOptions{}),
			policies.MutatingAdmissionPolicies().Delete(context.Background(), name, metav1.DeleteOptions{}),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	t.Cleanup(lift)
	until(e, "the policy is in force", func(ctx context.Context) (*corev1.Service, error) {
		return e.services.Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}, func(service *corev1.Service) bool { return service.Labels[database.ManagedByLabel] == "policy" })

	var counted requests
	e.run(counted.wrap(e.config))
	e.create("example")
	d := e.untilReady("example", database.ReasonLabelChanged)
	if message := readyOf(d).Message; !strings.Contains(message, "Service db") {
		t.Errorf("message %q, want the Service in it", message)
	}
	lifted := time.Now()
	lift()
	e.untilReady("example", rollout.ReasonReplicasReady)
	t.Logf("ready %s after the policy was lifted; requests %v", time.Since(lifted).Round(time.Millisecond), counted.take())
	if label := e.service("db").Labels[database.ManagedByLabel]; label != database.FieldManager {
		t.Errorf("label %q", label)
	}
}
