package main

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
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
		return roundTripper(func(request *http.Request) (*http.Response, error) {
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

// TestChildReplaced replaces a child by another object while an apply for it is on its way. That is a conflict, and not
// the user's concern: no condition and no event reports it.
func TestChildReplaced(t *testing.T) {
	for name, test := range map[string]struct {
		theirs bool
		reason string // in the end
	}{
		"by the same object": {false, reasonReplicasReady},
		"by somebody's own":  {true, reasonNameConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			deployments := w.client.AppsV1().Deployments(w.namespace)
			hook := &before{method: http.MethodPatch, suffix: "/deployments/db"}
			hook.do = func() {
				again := w.deployment("db")
				if err := deployments.Delete(context.Background(), "db", metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
				if again.ObjectMeta = (metav1.ObjectMeta{Name: "db", Labels: again.Labels, OwnerReferences: again.OwnerReferences}); test.theirs {
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
			output, _ := w.run(hook.wrap(w.config))
			w.make("example")
			w.untilReady("example", reasonReplicasReady)
			hook.arm()
			until(w, "it is scaled", func(ctx context.Context) (*dbv1alpha1.DatabaseManager, error) {
				d, err := w.databases.Get(ctx, "example", metav1.GetOptions{})
				if err != nil {
					return nil, err
				}
				d.Spec.Replicas = new(int32(2))
				return w.databases.Update(ctx, d, metav1.UpdateOptions{})
			}, func(*dbv1alpha1.DatabaseManager) bool { return true })
			w.untilReady("example", test.reason)
			if output.lines("AGAIN") == 0 || strings.Contains(output.String(), "Invalid") || output.lines("RETRY") > 0 {
				t.Errorf("want a conflict, and nothing invalid:\n%s", output.String())
			}
			for _, event := range got(w.client.CoreV1().Events(w.namespace).List(t.Context(), metav1.ListOptions{}))(w).Items {
				if event.Reason == "Invalid" {
					t.Errorf("event %s: %s", event.Reason, event.Message)
				}
			}
		})
	}
}

// TestStatusOfAnEarlierObject deletes a DatabaseManager and makes one of the same name while a status is on its way.
func TestStatusOfAnEarlierObject(t *testing.T) {
	w := newWorld(t)
	hook := &before{method: http.MethodPatch, suffix: "/databasemanagers/example/status"}
	hook.do = func() {
		orphan := metav1.DeletePropagationBackground
		if err := w.databases.Delete(context.Background(), "example", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
			t.Error(err)
		}
		w.make("example", func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = "another" })
	}
	answered := make(chan struct{})
	hook.answered = func(code int) {
		defer close(answered)
		if code != http.StatusConflict {
			t.Errorf("the status was answered with %d, want %d", code, http.StatusConflict)
		}
		if d := got(w.databases.Get(context.Background(), "example", metav1.GetOptions{}))(w); len(d.Status.Conditions) > 0 {
			t.Errorf("the new one has the old one's status: %+v", d.Status)
		}
	}
	w.run(hook.wrap(w.config))
	hook.arm()
	w.make("example")
	select {
	case <-answered:
	case <-time.After(time.Minute):
		t.Fatal("no status was written")
	}
	w.untilReady("example", reasonReplicasReady)
}

// TestLabelChangedByAPolicy has an admission policy change the label by which the controller's informer selects. It
// can't see its own Service then, says so, and finds out by itself when the policy is gone.
func TestLabelChangedByAPolicy(t *testing.T) {
	w := newWorld(t)
	policies := w.client.AdmissionregistrationV1()
	name := w.namespace + ".example.com"
	fail := admissionv1.Fail
	got(policies.MutatingAdmissionPolicies().Create(t.Context(), &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      &fail,
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}},
				}}},
			},
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionv1.ApplyConfiguration{
					Expression: `Object{metadata: Object.metadata{labels: {"` + managedByLabel + `": "policy"}}}`,
				},
			}},
		},
	}, metav1.CreateOptions{}))(w)
	got(policies.MutatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	}, metav1.CreateOptions{}))(w)
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
	until(w, "the policy is in force", func(ctx context.Context) (*corev1.Service, error) {
		return w.client.CoreV1().Services(w.namespace).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}, func(service *corev1.Service) bool { return service.Labels[managedByLabel] == "policy" })

	var counted requests
	w.run(counted.wrap(w.config))
	w.make("example")
	d := w.untilReady("example", reasonLabelChanged)
	if message := apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady).Message; !strings.Contains(message, "Service db") {
		t.Errorf("message %q, want the Service in it", message)
	}
	lifted := time.Now()
	lift()
	w.untilReady("example", reasonReplicasReady)
	t.Logf("right again %s after the policy was lifted; requests %v", time.Since(lifted).Round(time.Millisecond), counted.take())
	if label := w.service("db").Labels[managedByLabel]; label != fieldManager {
		t.Errorf("label %q", label)
	}
}
