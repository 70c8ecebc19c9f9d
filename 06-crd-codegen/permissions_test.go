package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/features"
	clientfeatures "k8s.io/client-go/features/testing"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

const rbacFile = "deploy/rbac.yaml"

// audited has the namespaces in which the tests of this process have run the controller.
var audited sync.Map

// lackedPermissions returns an error if a request of the controller lacked a permission, in any of the tests.
func lackedPermissions() error {
	var namespaces []string
	for namespace := range audited.Range {
		namespaces = append(namespaces, namespace.(string))
	}
	if len(namespaces) == 0 {
		return nil
	}
	rules, err := testcluster.Rules(rbacFile)
	if err != nil {
		return err
	}
	usage, err := testcluster.Audit(database.FieldManager, namespaces...)
	if errors.Is(err, testcluster.ErrOtherCluster) {
		return nil
	}
	if missing, _ := usage.Compare(rules); len(missing) > 0 {
		err = fmt.Errorf("permissions that %s lacks: %q", rbacFile, missing)
	}
	return err
}

// TestPermissionsAreTheLeast needs each of the controller's permissions, and finds them in the API server's audit log. That
// no test needs more is checked when all have ended, by lackedPermissions. It runs alone: a feature of client-go is turned off
// for the whole process, and TestListIsOnlyForServersWithoutStreamingLists needs it on.
func TestPermissionsAreTheLeast(t *testing.T) {
	e := newEnv(t)
	// No node has what each container needs by default here: no pod is ever ready.
	none := corev1.ResourceList{"example.com/no-such": resource.MustParse("1")}
	testkit.Must(e.client.CoreV1().LimitRanges(e.namespace).Create(t.Context(), &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Default: none}}},
	}, metav1.CreateOptions{}))(e)
	_, stop := e.run(e.config, func(o *options) { o.election.Enabled = true })
	e.create("example", func(s *dbv1alpha1.DatabaseManagerSpec) {
		s.StorageSize, s.DeletionPolicy = new(resource.MustParse("1Gi")), dbv1alpha1.DeletionPolicyRetain
	})
	scale := func(replicas, reason string) {
		t.Helper()
		patch := []byte(`{"spec": {"replicas": ` + replicas + `}}`)
		testkit.Must(e.databases.Patch(t.Context(), "example", types.MergePatchType, patch, metav1.PatchOptions{}))(e)
		e.untilReady("example", reason)
	}
	e.untilReady("example", corev1.PodReasonUnschedulable)
	scale("0", rollout.ReasonScaledToZero)
	scale("1", corev1.PodReasonUnschedulable)             // the second event of this kind, an update of the first
	for _, policy := range []string{"Delete", "Retain"} { // the children get owner references, and lose them again
		patch := []byte(`{"spec": {"deletionPolicy": "` + policy + `"}}`)
		testkit.Must(e.databases.Patch(t.Context(), "example", types.MergePatchType, patch, metav1.PatchOptions{}))(e)
		e.untilReady("example", corev1.PodReasonUnschedulable)
	}
	until(e, "an event that counts two or more", func(ctx context.Context) (*corev1.EventList, error) {
		return e.client.CoreV1().Events(e.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=" + corev1.PodReasonUnschedulable})
	}, func(events *corev1.EventList) bool {
		return slices.ContainsFunc(events.Items, func(event corev1.Event) bool { return event.Count >= 2 }) // 3, if the pod is slow
	})

	// Changes that an apply cannot undo.
	strategy, ports := []byte(`{"spec": {"strategy": {"type": "RollingUpdate"}}}`), []byte(`{"spec": {"ports": [{"port": 1}]}}`)
	testkit.Must(e.deployments.Patch(t.Context(), "db", types.MergePatchType, strategy, metav1.PatchOptions{}))(e)
	testkit.Must(e.services.Patch(t.Context(), "db", types.MergePatchType, ports, metav1.PatchOptions{}))(e)
	until(e, "the Deployment is as it was", get(e.deployments.Get, "db"), func(d *appsv1.Deployment) bool {
		return d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
	})
	until(e, "the Service is as it was", get(e.services.Get, "db"), func(s *corev1.Service) bool {
		return s.Spec.Ports[0].Port == database.Port
	})

	e.delete("example")
	untilGone(e, "the DatabaseManager", e.databases.Get, "example")
	lease := get(e.client.CoordinationV1().Leases(e.namespace).Get, leaseName)
	before := testkit.Must(lease(t.Context()))(e).Spec.RenewTime
	until(e, "the lease is renewed", lease, func(now *coordinationv1.Lease) bool { return now.Spec.RenewTime.After(before.Time) })
	stop()

	usage := func() testcluster.Usage {
		t.Helper()
		usage, err := testcluster.Audit(database.FieldManager, e.namespace)
		if errors.Is(err, testcluster.ErrOtherCluster) {
			t.Skip(err)
		}
		return testkit.Must(usage, err)(t)
	}
	readme := string(testkit.Must(os.ReadFile("README.md"))(t))
	rules := testkit.Must(testcluster.Rules(rbacFile))(t)
	report := func(when string) {
		t.Helper()
		missing, unused := usage().Compare(rules)
		if len(missing) > 0 {
			t.Errorf("missing %s: %q", when, missing)
		}
		line := strings.TrimSpace("unused " + when + ": " + strings.Join(unused, ", "))
		t.Log(line)
		if !strings.Contains(readme, "\n"+line+"\n") {
			t.Error("README.md does not have this line")
		}
	}
	// One list is our own: checkServer finds out whether there is the CRD.
	report("with streaming lists")
	clientfeatures.SetFeatureDuringTest(t, features.WatchListClient, false)
	_, stop = e.run(e.config)
	e.create("listed", func(s *dbv1alpha1.DatabaseManagerSpec) { s.Replicas, s.DeploymentName = new(int32(0)), "listed" })
	e.untilReady("listed", rollout.ReasonScaledToZero)
	stop()
	report("in the end")

	if missing, unused := usage().Compare(without(t, "services", "create")); !slices.Equal(missing, []string{"create services"}) {
		t.Errorf("with a permission too few: missing %q, unused %q", missing, unused)
	}
	more := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"delete"}}
	if missing, unused := usage().Compare(append(rules, more)); !slices.Equal(unused, []string{"delete secrets"}) {
		t.Errorf("with a permission too many: missing %q, unused %q", missing, unused)
	}
	auditLogOfREADME(t, readme)
}

// auditLogOfREADME compares the part of the audit log that the README shows.
func auditLogOfREADME(t *testing.T, readme string) {
	t.Helper()
	shown := regexp.MustCompile(`(?m)^\$ (scripts/cluster\.sh audit .*)\n((?:".*\n)+)`).FindStringSubmatch(readme)
	if shown == nil {
		t.Fatal("README.md does not show the audit log")
	}
	command := exec.Command("bash", "-c", shown[1])
	command.Dir = testcluster.Root(t)
	namespace := regexp.MustCompile(`t-testpermissionsaretheleast-\w+`)
	mask := func(text string) string { return namespace.ReplaceAllString(text, "NAMESPACE") }
	if diff := cmp.Diff(mask(shown[2]), mask(string(testkit.Must(command.Output())(t)))); diff != "" {
		t.Errorf("%s (-README.md +now):\n%s", shown[1], diff)
	}
}

// without returns the rules of rbac.yaml without some verbs for a resource, or for all if it is empty.
func without(t *testing.T, resource string, verbs ...string) (rules []rbacv1.PolicyRule) {
	t.Helper()
	for _, rule := range permissions(t) {
		if resource == "" || rule.Resources[0] == resource {
			rule.Verbs = slices.DeleteFunc(rule.Verbs, func(v string) bool { return slices.Contains(verbs, v) })
		}
		if len(rule.Verbs) > 0 {
			rules = append(rules, rule)
		}
	}
	return rules
}

// lacking returns a config for a ServiceAccount that has fewer permissions than rbac.yaml.
func (e *env) lacking(resource string, verbs ...string) *rest.Config {
	e.Helper()
	return testcluster.AsServiceAccount(e, e.admin, e.namespace, "lacks-some", without(e.T, resource, verbs...))
}

// permissions returns the rules of rbac.yaml, one for each resource.
func permissions(t *testing.T) (rules []rbacv1.PolicyRule) {
	t.Helper()
	for _, rule := range testkit.Must(testcluster.Rules(rbacFile))(t) {
		for _, resource := range rule.Resources {
			rules = append(rules, rbacv1.PolicyRule{
				APIGroups: rule.APIGroups, Resources: []string{resource}, Verbs: slices.Clone(rule.Verbs),
			})
		}
	}
	return rules
}

// TestListIsOnlyForServersWithoutStreamingLists takes away all permissions to list. The server authorizes a streaming list
// as a watch.
func TestListIsOnlyForServersWithoutStreamingLists(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	config := e.lacking("", "list")
	e.run(config)
	e.create("example")
	e.untilReady("example", rollout.ReasonReplicasReady)
}

// TestEndsWithoutPermissionToListAndWatch shows that the controller ends if it is not allowed to read one of its resources.
// Client-go's informers would retry without end.
func TestEndsWithoutPermissionToListAndWatch(t *testing.T) {
	t.Parallel()
	for _, resource := range []string{"databasemanagers", "services", "pods"} {
		t.Run(resource, func(t *testing.T) {
			if resource != "pods" {
				testkit.All(t, "tries each resource")
			}
			t.Parallel()
			e := newEnv(t)
			config := e.lacking(resource, "list", "watch")
			err := run(t.Context(), config, e.options(), program.NewPrinter(&testkit.Buffer{}))
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), resource) {
				t.Errorf("run: %v, want Forbidden, about %s", err, resource)
			}
		})
	}
}

// TestStatusReportsPermissionsThatRetainLacks lacks what deletionPolicy Retain needs. The status says so, in the end, too.
func TestStatusReportsPermissionsThatRetainLacks(t *testing.T) {
	t.Parallel()
	retain := func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeletionPolicy = dbv1alpha1.DeletionPolicyRetain }
	t.Run("patch databasemanagers", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		config := e.lacking("databasemanagers", "patch")
		e.run(config)
		start := time.Now()
		e.create("example", retain)
		message := e.untilUnprocessed("example", "Forbidden")
		if !strings.Contains(message, "finalizers") || !strings.Contains(message, "cannot patch resource") {
			t.Errorf("message %q", message)
		}
		t.Logf("%s after it was created: %s", time.Since(start).Round(time.Millisecond), message)
	})
	t.Run("get secrets", func(t *testing.T) {
		t.Parallel()
		e := newEnv(t)
		config := e.lacking("secrets", "get")
		output, _ := e.run(config)
		e.create("example", retain)
		e.untilReady("example", rollout.ReasonReplicasReady)
		start := time.Now()
		e.delete("example")
		message := e.untilUnprocessed("example", "Forbidden")
		if !strings.Contains(message, "Secret db-root") {
			t.Errorf("message %q", message)
		}
		t.Logf("%s after it was deleted: %s", time.Since(start).Round(time.Millisecond), message)
		for line := range strings.Lines(output.String()) {
			if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "reading ") {
				t.Errorf("a line of its own: %q", line)
			}
		}
		e.release("example")
	})
}

// release removes our finalizer, for which the controller lacks a permission. The namespace could not be deleted.
func (e *env) release(name string) {
	e.Helper()
	e.patch(name, `{"metadata": {"finalizers": null}}`)
}

// TestSoakWithoutEachPermission takes away each of the controller's permissions, one at a time. Whatever is not done then must be
// reported: in the status, by a line of the output, or by the error that ends the program.
func TestSoakWithoutEachPermission(t *testing.T) {
	if os.Getenv(soakVar) == "" {
		t.Skip("takes minutes: run `make soak`")
	}
	for _, rule := range permissions(t) {
		for _, verb := range rule.Verbs {
			resource := rule.Resources[0]
			if resource == "leases" || resource == "events" {
				continue // klog reports these
			}
			t.Run(verb+" "+resource, func(t *testing.T) {
				t.Parallel()
				e := newEnv(t)
				config := e.lacking(resource, verb)
				output, ended := &testkit.Buffer{}, make(chan error, 1)
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					ended <- run(ctx, config, e.options(), program.NewPrinter(output))
				}()
				e.create("example", func(s *dbv1alpha1.DatabaseManagerSpec) {
					s.StorageSize, s.Replicas, s.DeletionPolicy = new(resource1Gi), new(int32(0)), dbv1alpha1.DeletionPolicyRetain
				})
				missing := fmt.Sprintf("cannot %s resource %q", verb, resource)
				how := until(e, "it works, or the failure is reported", func(ctx context.Context) (string, error) {
					d, err := e.databases.Get(ctx, "example", metav1.GetOptions{})
					if err != nil {
						return "", err
					}
					ready := readyOf(d)
					switch {
					case ready != nil && ready.Status == metav1.ConditionTrue:
						return "works", nil
					case ready != nil && strings.Contains(ready.Message, missing):
						return "status", nil
					case strings.Contains(output.String(), missing):
						return "output", nil
					}
					select {
					case err := <-ended:
						ended <- err
						if strings.Contains(fmt.Sprint(err), missing) {
							return "ends", nil
						}
					default:
					}
					return "", nil
				}, func(how string) bool { return how != "" })
				t.Log(how)
				e.release("example")
				cancel()
				<-ended
			})
		}
	}
}

var resource1Gi = resource.MustParse("1Gi")
