package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/test/testkit"
)

// childKinds are the kinds of children, and how a test reads and patches one.
var childKinds = map[string]struct {
	suffix string
	get    func(e *env, name string) (metav1.Object, error)
	patch  func(e *env, name, patch string) error
}{
	"Secret": {database.SecretSuffix,
		func(e *env, name string) (metav1.Object, error) {
			return e.secrets.Get(e.Context(), name, metav1.GetOptions{})
		},
		func(e *env, name, patch string) error { return patchOf(e, e.secrets, name, patch) }},
	"PersistentVolumeClaim": {database.ClaimSuffix,
		func(e *env, name string) (metav1.Object, error) {
			return e.claims.Get(e.Context(), name, metav1.GetOptions{})
		},
		func(e *env, name, patch string) error { return patchOf(e, e.claims, name, patch) }},
	"Deployment": {"",
		func(e *env, name string) (metav1.Object, error) {
			return e.deployments.Get(e.Context(), name, metav1.GetOptions{})
		},
		func(e *env, name, patch string) error { return patchOf(e, e.deployments, name, patch) }},
	"Service": {"",
		func(e *env, name string) (metav1.Object, error) {
			return e.services.Get(e.Context(), name, metav1.GetOptions{})
		},
		func(e *env, name, patch string) error { return patchOf(e, e.services, name, patch) }},
}

type patcher[O any] interface {
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (O, error)
}

func patchOf[O any](e *env, client patcher[O], name, patch string) error {
	_, err := client.Patch(e.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "others"})
	return err
}

// childrenOf returns the children of a deploymentName by kind and UID, without those that are gone or going.
func (e *env) childrenOf(name string) map[string]types.UID {
	e.Helper()
	return testkit.Must(e.readChildren(name))(e)
}

// readChildren is childrenOf for an API server that may be away.
func (e *env) readChildren(name string) (map[string]types.UID, error) {
	uids := map[string]types.UID{}
	for kind, k := range childKinds {
		child, err := k.get(e, name+k.suffix)
		switch {
		case err == nil && child.GetDeletionTimestamp() == nil:
			uids[kind] = child.GetUID()
		case err != nil && !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	return uids, nil
}

// createWithAll creates a DatabaseManager with all four children and no pods, named as its Deployment.
func (e *env) createWithAll(name string, change ...func(*dbv1alpha1.DatabaseManagerSpec)) *dbv1alpha1.DatabaseManager {
	e.Helper()
	return e.create(name, append([]func(*dbv1alpha1.DatabaseManagerSpec){func(s *dbv1alpha1.DatabaseManagerSpec) {
		s.DeploymentName, s.Replicas, s.StorageSize = name, new(int32(0)), new(resource.MustParse("1Gi"))
	}}, change...)...)
}

// untilProcessed waits until status.observedGeneration is metadata.generation, by which the README says that Retain protects.
func (e *env) untilProcessed(name string) *dbv1alpha1.DatabaseManager {
	e.Helper()
	return until(e, name+" is processed", get(e.databases.Get, name), func(d *dbv1alpha1.DatabaseManager) bool {
		return d.Status.ObservedGeneration == d.Generation
	})
}

// stay waits for the garbage collector, and compares the children.
func (e *env) stay(d *dbv1alpha1.DatabaseManager, before map[string]types.UID) {
	e.Helper()
	e.garbageCollected(d)
	now := e.childrenOf(d.Spec.DeploymentName)
	for kind, uid := range before {
		if now[kind] != uid {
			e.Errorf("%s: UID was %s, is %q", kind, uid, now[kind])
		}
	}
	if len(before) != 4 {
		e.Errorf("there were children %v", before)
	}
}

// TestOrphansStayWhateverTheSpec changes Retain to Delete together with a size that the claim cannot have. The references are there
// again, so the finalizer must go. With it, the controller would see the object after `kubectl delete --cascade=orphan`, when the
// garbage collector has removed the references and its own finalizer, and would add them once more: all data would be lost.
func TestOrphansStayWhateverTheSpec(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	_, stop := e.run(e.config)
	d := e.createWithAll("db", retain)
	e.untilReady("db", rollout.ReasonScaledToZero)
	before := e.childrenOf("db")
	e.patch("db", `{"spec": {"storageSize": "2Gi", "deletionPolicy": "Delete"}}`)
	until(e, "the policy is processed", get(e.databases.Get, "db"), func(d *dbv1alpha1.DatabaseManager) bool {
		return d.Status.ObservedGeneration == d.Generation && len(d.Finalizers) == 0
	})
	stop()
	e.garbageCollectorKnows()
	orphan := metav1.DeletePropagationOrphan
	if err := e.databases.Delete(e.Context(), "db", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	untilGone(e, "the DatabaseManager", e.databases.Get, "db")
	e.run(e.config)
	e.createWithAll("another")
	e.untilReady("another", rollout.ReasonScaledToZero) // so it runs
	e.stay(d, before)
}

// TestLabelChangedBeforeRetain has somebody change the label of a child while no controller runs. When its owner reference is gone, too,
// nothing would say whose it is.
func TestLabelChangedBeforeRetain(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	_, stop := e.run(e.config)
	d := e.createWithAll("db")
	e.untilReady("db", rollout.ReasonScaledToZero)
	stop()
	label := `{"metadata": {"labels": {"` + database.FirstOwnerLabel + `": "changed"}}}`
	testkit.Must(e.secrets.Patch(t.Context(), "db-root", types.MergePatchType, []byte(label), metav1.PatchOptions{}))(t)
	e.patch("db", `{"spec": {"deletionPolicy": "Retain"}}`)
	e.run(e.config)
	e.untilReady("db", rollout.ReasonScaledToZero)
	if secret := e.secret("db-root"); secret.Labels[database.FirstOwnerLabel] != string(d.UID) || len(secret.OwnerReferences) > 0 {
		t.Errorf("the Secret has the labels %v and the owners %v", secret.Labels, secret.OwnerReferences)
	}
}

// TestOrphanedDuringASync deletes a DatabaseManager with --cascade=orphan while a sync of it creates a child. The sync then comes to
// a child that has just lost its reference. With the reference again, the garbage collector would delete it.
func TestOrphanedDuringASync(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var c *Controller
	hook := &before{method: http.MethodPatch, suffix: "/deployments/db"}
	hook.do = func() {
		orphan := metav1.DeletePropagationOrphan
		if err := e.databases.Delete(context.Background(), "db", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
			t.Error(err)
		}
		untilGone(e, "the DatabaseManager", e.databases.Get, "db")
		testkit.Await(t, "a store with a Service without a reference", func() bool {
			services := c.informers[4].GetStore() // after those of DatabaseManagers, Secrets, PersistentVolumeClaims, Deployments
			stored, exists, err := services.GetByKey(e.namespace + "/db")
			return err == nil && exists && len(stored.(*corev1.Service).OwnerReferences) == 0
		})
	}
	var answer atomic.Int32
	hook.answered = func(code int) { answer.Store(int32(code)) }
	c = e.startController(hook.wrap(e.config))
	d := e.createWithAll("db")
	e.untilReady("db", rollout.ReasonScaledToZero)
	before := e.childrenOf("db")
	delete(before, "Deployment")
	e.garbageCollectorKnows()
	hook.arm()
	if err := e.deployments.Delete(e.Context(), "db", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Await(e, "the answer to the creation", func() bool { return answer.Load() != 0 })
	if code := answer.Load(); code != http.StatusCreated {
		t.Fatalf("the creation was answered with %d, want %d", code, http.StatusCreated)
	}
	testkit.Await(e, "the end of the Deployment, which has come too late", func() bool {
		e.garbageCollected(d)
		return e.childrenOf("db")["Deployment"] == ""
	})
	if diff := cmp.Diff(before, e.childrenOf("db")); diff != "" {
		t.Errorf("the children that were there (-before +after):\n%s", diff)
	}
}

// TestRetainHoldsWhateverTheSpec asks for Retain together with a spec that the server rejects for one child, or after it. When the
// status says that it is processed, the object is deleted. It must go, and all children stay.
func TestRetainHoldsWhateverTheSpec(t *testing.T) {
	t.Parallel()
	retainHolds(t, []bool{false}, metav1.DeletePropagationBackground)
}

// TestRetainHoldsWhateverTheSpecAndTheCascade also asks for it afterwards, and deletes in each way.
func TestRetainHoldsWhateverTheSpecAndTheCascade(t *testing.T) {
	testkit.All(t, "deletes 24 databases")
	t.Parallel()
	retainHolds(t, []bool{false, true},
		metav1.DeletePropagationForeground, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan)
}

func retainHolds(t *testing.T, afterwards []bool, propagations ...metav1.DeletionPropagation) {
	e := newEnv(t)
	type test struct {
		name, kind  string
		after       bool
		propagation metav1.DeletionPropagation
		d           *dbv1alpha1.DatabaseManager
	}
	var tests []test
	for kind := range childKinds {
		for _, after := range afterwards {
			for _, propagation := range propagations {
				name := strings.ToLower(fmt.Sprintf("%s-%v-%s", kind, after, propagation))
				tests = append(tests, test{name, kind, after, propagation, e.createWithAll(name)})
			}
		}
	}
	for _, test := range tests {
		e.createRefused(test.kind, test.d)
	}
	e.startController(e.config)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := e.in(t)
			until(e, "four children", func(context.Context) (map[string]types.UID, error) { return e.childrenOf(test.name), nil },
				func(children map[string]types.UID) bool { return len(children) == 4 })
			before := e.childrenOf(test.name)
			impossible, retain := `"version": "8.4.5"`, `"deletionPolicy": "Retain"`
			if test.kind == "PersistentVolumeClaim" {
				impossible += `, "storageSize": "2Gi"` // no storage class can grow it
			}
			if test.after {
				e.patch(test.name, `{"spec": {`+impossible+`}}`)
				until(e, "the status reports it", get(e.databases.Get, test.name), func(d *dbv1alpha1.DatabaseManager) bool {
					ready := readyOf(d)
					return ready != nil && ready.ObservedGeneration == d.Generation &&
						(ready.Reason == "Invalid" || ready.Reason == "Forbidden")
				})
				e.patch(test.name, `{"spec": {`+retain+`}}`)
			} else {
				e.patch(test.name, `{"spec": {`+impossible+`, `+retain+`}}`)
			}
			e.untilProcessed(test.name)
			options := metav1.DeleteOptions{PropagationPolicy: &test.propagation}
			if err := e.databases.Delete(t.Context(), test.name, options); err != nil {
				t.Fatal(err)
			}
			untilGone(e, "the DatabaseManager", e.databases.Get, test.name)
			e.stay(test.d, before)
		})
	}
}

// createRefused creates a child of d, as another user can, that the controller cannot change to what it wants: an immutable field
// is another one. For a claim it does nothing: it cannot grow.
func (e *env) createRefused(kind string, d *dbv1alpha1.DatabaseManager) {
	e.Helper()
	meta := metav1.ObjectMeta{
		Name: d.Name + childKinds[kind].suffix, Labels: database.Labels(d), OwnerReferences: []metav1.OwnerReference{{
			APIVersion: dbv1alpha1.GroupVersion.String(), Kind: "DatabaseManager", Name: d.Name, UID: d.UID, Controller: new(true),
		}},
	}
	var err error
	switch kind {
	case "Secret":
		_, err = e.secrets.Create(e.Context(), &corev1.Secret{ObjectMeta: meta, Type: "example.com/other"}, metav1.CreateOptions{})
	case "Deployment":
		selector := map[string]string{"another": "selector"}
		_, err = e.deployments.Create(e.Context(), &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selector},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "other", Image: "other:1.0.0"}}},
			},
		}}, metav1.CreateOptions{})
	case "Service":
		_, err = e.services.Create(e.Context(), &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
			Ports: []corev1.ServicePort{{Port: 1}}, // with an address
		}}, metav1.CreateOptions{})
	}
	if err != nil {
		e.Fatal(err)
	}
}

// TestRetainNamesWhatItWaitsFor has a policy reject the controller's updates of one child. As long as it does, the status must
// not say that Retain is processed; it names the child, and the other children are as the spec wants them.
func TestRetainNamesWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.freeze()
	e.startController(e.config)
	for kind, k := range childKinds {
		t.Run(kind, func(t *testing.T) {
			if kind != "Deployment" {
				testkit.All(t, "tries each child")
			}
			t.Parallel()
			e := e.in(t)
			name := strings.ToLower(kind)
			d := e.createWithAll(name)
			e.untilReady(name, rollout.ReasonScaledToZero)
			before := e.childrenOf(name)
			if err := k.patch(e, name+k.suffix, `{"metadata": {"labels": {"frozen": "yes"}}}`); err != nil {
				t.Fatal(err)
			}
			e.patch(name, `{"spec": {"deletionPolicy": "Retain", "version": "8.4.5"}}`)
			want := "deletionPolicy Retain has not reached " + kind + " " + name + k.suffix
			waiting := func(d *dbv1alpha1.DatabaseManager) bool {
				ready := readyOf(d)
				return ready.ObservedGeneration == d.Generation && ready.Status != metav1.ConditionTrue &&
					strings.Contains(ready.Message, want) && d.Status.ObservedGeneration < d.Generation
			}
			until(e, "the status says: "+want, get(e.databases.Get, name), waiting)
			for other, k := range childKinds {
				child := testkit.Must(k.get(e, name+k.suffix))(t)
				if released := len(child.GetOwnerReferences()) == 0; released != (other != kind) {
					t.Errorf("%s: owners %v", other, child.GetOwnerReferences())
				}
			}
			image := e.deployment(name).Spec.Template.Spec.Containers[0].Image
			if changed := image == "mysql:8.4.5"; changed != (kind != "Deployment") {
				t.Errorf("the Deployment has the image %s", image)
			}
			e.delete(name)
			until(e, "the status says: "+want, get(e.databases.Get, name), func(d *dbv1alpha1.DatabaseManager) bool {
				return d.DeletionTimestamp != nil && waiting(d)
			})
			if err := k.patch(e, name+k.suffix, `{"metadata": {"labels": {"frozen": null}}}`); err != nil {
				t.Fatal(err)
			}
			untilGone(e, "the DatabaseManager", e.databases.Get, name)
			e.stay(d, before)
		})
	}
}

// freeze has an admission policy reject the controller's updates of children that have the label frozen.
func (e *env) freeze() {
	e.Helper()
	match := e.updatesOf("", "secrets", "persistentvolumeclaims", "services")
	match.ResourceRules = append(match.ResourceRules, e.updatesOf("apps", "deployments").ResourceRules...)
	admission := e.client.AdmissionregistrationV1()
	testkit.Must(admission.ValidatingAdmissionPolicies().Create(e.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: match,
			Validations: []admissionregistrationv1.Validation{{
				Expression: `request.operation == "CREATE" || !request.userInfo.username.endsWith(":` + database.FieldManager + `") || ` +
					`!has(oldObject.metadata.labels) || !("frozen" in oldObject.metadata.labels)`,
				Message: "frozen",
			}},
		},
	}, metav1.CreateOptions{}))(e)
	testkit.Must(admission.ValidatingAdmissionPolicyBindings().Create(e.Context(),
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: e.namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		}, metav1.CreateOptions{}))(e)
	e.Cleanup(func() {
		for _, err := range []error{
			admission.ValidatingAdmissionPolicyBindings().Delete(context.Background(), e.namespace, metav1.DeleteOptions{}),
			admission.ValidatingAdmissionPolicies().Delete(context.Background(), e.namespace, metav1.DeleteOptions{}),
		} {
			if err != nil {
				e.Error(err)
			}
		}
	})
	probe := envIn(e.T, e.config, e.namespace)
	testkit.Must(e.services.Create(e.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: map[string]string{"frozen": "yes"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	}, metav1.CreateOptions{}))(e)
	until(e, "the policy is in force", func(ctx context.Context) (error, error) {
		_, err := probe.services.Patch(ctx, "probe", types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}}}`),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err, nil
	}, apierrors.IsInvalid)
}

// TestHeldObjectFollowsItsPolicy deletes a DatabaseManager that another user's finalizer holds, and changes its deletionPolicy then.
// The last policy decides, and until the end the status is about the actual state.
func TestHeldObjectFollowsItsPolicy(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.startController(e.config)
	for from, to := range map[dbv1alpha1.DeletionPolicy]dbv1alpha1.DeletionPolicy{
		dbv1alpha1.DeletionPolicyDelete: dbv1alpha1.DeletionPolicyRetain,
		dbv1alpha1.DeletionPolicyRetain: dbv1alpha1.DeletionPolicyDelete,
	} {
		t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
			if to != dbv1alpha1.DeletionPolicyRetain {
				testkit.All(t, "tries each policy")
			}
			t.Parallel()
			e := e.in(t)
			name := strings.ToLower(string(from))
			e.createWithAll(name, func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeletionPolicy = from })
			d := e.untilReady(name, rollout.ReasonScaledToZero)
			before := e.childrenOf(name)
			setFinalizers := func(finalizers []string) {
				t.Helper()
				e.patch(name, fmt.Sprintf(`{"metadata": {"finalizers": %s}}`, testkit.Must(json.Marshal(finalizers))(t)))
			}
			setFinalizers(append(d.Finalizers, "example.com/backup"))
			e.delete(name)
			e.untilProcessed(name)
			e.patch(name, fmt.Sprintf(`{"spec": {"deletionPolicy": %q}}`, to))
			e.untilProcessed(name)
			if err := e.deployments.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			e.untilReady(name, database.ReasonDeleted)
			setFinalizers(d.Finalizers) // it has our finalizer if it had it
			untilGone(e, "the DatabaseManager", e.databases.Get, name)
			e.garbageCollected(d)
			delete(before, "Deployment")
			if to == dbv1alpha1.DeletionPolicyDelete {
				testkit.Await(t, "the end of the children", func() bool { return len(e.childrenOf(name)) == 0 })
				return
			}
			for kind, uid := range before {
				if now := e.childrenOf(name)[kind]; now != uid {
					t.Errorf("%s: UID was %s, is %q", kind, uid, now)
				}
			}
		})
	}
}

// TestClaimThatIsBeingDeleted deletes the claim of a database that runs. Its finalizer holds it as long as a pod uses it. A rollout would
// end that pod.
func TestClaimThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	defer e.createVolume("db-data")()
	output, _ := e.run(e.config)
	e.create("db", withStorage)
	before := e.podOf(e.untilReady("db", rollout.ReasonReplicasReady))
	if err := e.claims.Delete(t.Context(), "db-data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	message := "PersistentVolumeClaim db-data is being deleted; its finalizers: kubernetes.io/pvc-protection"
	reported := func() {
		t.Helper()
		until(e, "BeingDeleted is reported", get(e.databases.Get, "db"), func(d *dbv1alpha1.DatabaseManager) bool {
			ready := readyOf(d)
			return ready.Reason == database.ReasonBeingDeleted && ready.Message == message && ready.ObservedGeneration == d.Generation
		})
	}
	reported()
	e.patch("db", `{"spec": {"version": "8.4.5"}}`)
	reported()
	if err := e.services.Delete(t.Context(), "db", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(e, "another Service", get(e.services.Get, "db"), func(s *corev1.Service) bool { return s.DeletionTimestamp == nil })
	e.patch("db", `{"spec": {"deletionPolicy": "Retain"}}`)
	reported()
	// Retain cannot keep it, so the object stays, and says why.
	e.delete("db")
	message += "; deletionPolicy Retain cannot keep it: set Delete to end the wait"
	d := until(e, "the deletion is seen", get(e.databases.Get, "db"), func(d *dbv1alpha1.DatabaseManager) bool {
		return d.DeletionTimestamp != nil && len(output.Lines("RELEASED")) == 4 && readyOf(d).Message == message
	})
	if d.Status.ObservedGeneration == d.Generation {
		t.Errorf("Retain counts as reached: %+v", d.Status)
	}
	if e.podOf(d) != before {
		t.Error("the pod was replaced")
	}
	e.patch("db", `{"spec": {"deletionPolicy": "Delete"}}`)
	untilGone(e, "the DatabaseManager", e.databases.Get, "db")
	testkit.Await(t, "the end of the children", func() bool { return len(e.everything()) == 0 })
}
