package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestWhatAnApplyCannotUndoIsUndone changes children to what an apply alone does not change back: another member of a union, and
// elements of lists under another key. The suite's promise drift changes each field alone.
func TestWhatAnApplyCannotUndoIsUndone(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var counted requests
	c := e.startController(counted.wrap(e.config))
	core := schema.GroupVersion{Version: "v1"}.WithResource("services")
	apps := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	const pod, container = "/spec/template/spec", "/spec/template/spec/containers/0"
	replace := func(path, value string) string {
		return fmt.Sprintf(`{"op": "replace", "path": %q, "value": %s}`, path, value)
	}
	t.Run("changes", func(t *testing.T) {
		for name, test := range map[string]struct {
			resource schema.GroupVersionResource
			patch    string
		}{
			"strategy":  {apps, replace("/spec/strategy", `{"type": "RollingUpdate"}`)},
			"env":       {apps, replace(container+"/env/0", `{"name": "MYSQL_ROOT_PASSWORD", "value": "foo"}`)},
			"env-from":  {apps, replace(container+"/env/0/valueFrom", `{"fieldRef": {"fieldPath": "metadata.name"}}`)},
			"host-path": {apps, replace(pod+"/volumes/0", `{"name": "data", "hostPath": {"path": "/"}}`)},
			"empty-dir": {apps, replace(pod+"/volumes/0", `{"name": "data", "emptyDir": {}}`)},
			"probes": {apps, replace(container+"/readinessProbe", `{"httpGet": {"port": 80}}`) + "," +
				replace(container+"/livenessProbe", `{"exec": {"command": ["true"]}}`) + "," +
				replace(container+"/startupProbe", `{"grpc": {"port": 80}}`)},
			"privileged": {apps, replace(container+"/securityContext", `{"privileged": true}`)},
			"seccomp":    {apps, replace(pod+"/securityContext/seccompProfile", `{"type": "Localhost", "localhostProfile": "x.json"}`)},
			"renamed":    {apps, replace(container+"/name", `"renamed"`)},
			"volume-renamed": {apps, replace(pod+"/volumes/0/name", `"renamed"`) + "," +
				replace(container+"/volumeMounts/0/name", `"renamed"`)},
			"containers":    {apps, replace(pod+"/containers", `[{"name": "other", "image": "other:1.0.0"}]`)},
			"another-port":  {apps, replace(container+"/ports", `[{"name": "other", "containerPort": 3307}]`)},
			"labels":        {apps, replace("/spec/template/metadata/labels/app.kubernetes.io~1name", `"other"`)},
			"quantity":      {apps, replace(container+"/resources/limits/memory", `"1073741824"`)}, // as written
			"external-name": {core, replace("/spec", `{"type": "ExternalName", "externalName": "example.com"}`)},
			"port":          {core, replace("/spec/ports/0/port", "3307")},
			"ports":         {core, replace("/spec/ports", `[{"port": 1, "name": "database", "protocol": "UDP"}]`)},
		} {
			t.Run(name, func(t *testing.T) {
				if name != "strategy" && name != "renamed" && name != "external-name" {
					testkit.All(t, "tries each union")
				}
				t.Parallel()
				e := e.in(t)
				e.createWithAll(name)
				e.untilReady(name, rollout.ReasonScaledToZero)
				children := dynamic.NewForConfigOrDie(e.admin).Resource(test.resource).Namespace(e.namespace)
				before := testkit.Must(children.Get(t.Context(), name, metav1.GetOptions{}))(t)
				options := metav1.PatchOptions{FieldManager: "others"}
				testkit.Must(children.Patch(t.Context(), name, types.JSONPatchType, []byte("["+test.patch+"]"), options))(t)
				var diff string
				testkit.Await(t, "what it was before", func() bool {
					after, err := children.Get(t.Context(), name, metav1.GetOptions{})
					if err == nil { // else it is being replaced by a new one
						diff = cmp.Diff(state(before), state(after))
					}
					return err == nil && diff == ""
				}, &diff)
			})
		}
	})
	if counts := e.undisturbed(c, &counted, func() { c.resync(t) }); total(counts) > 0 {
		t.Errorf("after all of it, a resync sends %v", counts)
	}
}

// state is what of an object the controller is answerable for: its labels, its owners, and all but its status.
func state(object *unstructured.Unstructured) map[string]any {
	object = object.DeepCopy()
	metadata := map[string]any{"labels": object.GetLabels(), "owners": object.GetOwnerReferences()}
	delete(object.Object, "status")
	object.Object["metadata"] = metadata
	if object.GetKind() == "PersistentVolumeClaim" { // on kind, it is bound when the first pod uses it
		unstructured.RemoveNestedField(object.Object, "spec", "volumeName")
	}
	return object.Object
}

// TestWhatIsThereTwice has another user put an element into a list that has one of that name. The API server accepts it, with a
// warning, and client-go's Extract cannot read the managed fields then. The controller must go on: with a change of the spec, and with
// the owner reference. What is its own is there once again, and what is others' stays.
func TestWhatIsThereTwice(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.startController(e.config)
	const pod = "/spec/template/spec"
	for name, test := range map[string]struct {
		kind, patch string
		variables   []string // of the container, afterwards
	}{
		"env": {"Deployment", `[
			{"op": "add", "path": "` + pod + `/containers/0/env/-", "value": {"name": "MYSQL_ROOT_PASSWORD", "value": "x"}}]`,
			[]string{"MYSQL_ROOT_PASSWORD"}},
		"other-env": {"Deployment", `[{"op": "add", "path": "` + pod + `/containers/0/env/-", "value": {"name": "A"}},
			{"op": "add", "path": "` + pod + `/containers/0/env/-", "value": {"name": "A"}}]`, []string{"MYSQL_ROOT_PASSWORD", "A", "A"}},
		"other-container": {"Deployment", `[{"op": "add", "path": "` + pod + `/initContainers", "value": [
				{"name": "others", "image": "others", "env": [{"name": "A"}, {"name": "A"}]}]},
			{"op": "add", "path": "` + pod + `/nodeSelector", "value": {"disk": "fast"}},
			{"op": "add", "path": "/spec/revisionHistoryLimit", "value": 3}]`, []string{"MYSQL_ROOT_PASSWORD"}},
		"finalizer": {"Secret", `[{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/twice", "example.com/twice"]}]`,
			[]string{"MYSQL_ROOT_PASSWORD"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := e.in(t)
			e.createWithAll(name)
			e.untilReady(name, rollout.ReasonScaledToZero)
			patch := []byte(test.patch)
			if test.kind == "Secret" {
				testkit.Must(e.secrets.Patch(t.Context(), name+database.SecretSuffix, types.JSONPatchType, patch, metav1.PatchOptions{}))(t)
				defer func() {
					_ = childKinds["Secret"].patch(e, name+database.SecretSuffix, `{"metadata": {"finalizers": null}}`)
				}()
			} else {
				testkit.Must(e.deployments.Patch(t.Context(), name, types.JSONPatchType, patch, metav1.PatchOptions{}))(t)
			}
			before := e.deployment(name).Spec
			e.patch(name, `{"spec": {"version": "8.4.5", "deletionPolicy": "Retain"}}`)
			e.untilReady(name, rollout.ReasonScaledToZero)
			after := e.deployment(name).Spec
			first, variables := &after.Template.Spec.Containers[0], []string{}
			for _, variable := range first.Env {
				variables = append(variables, variable.Name)
			}
			if first.Image != "mysql:8.4.5" || first.Env[0].ValueFrom == nil || !slices.Equal(variables, test.variables) {
				t.Errorf("image %s, env %+v", first.Image, first.Env)
			}
			first.Image, first.Env = before.Template.Spec.Containers[0].Image, before.Template.Spec.Containers[0].Env
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the rest of the Deployment's spec (-before +after):\n%s", diff)
			}
			for kind, k := range childKinds {
				if child := testkit.Must(k.get(e, name+k.suffix))(t); len(child.GetOwnerReferences()) > 0 {
					t.Errorf("%s: owners %v", kind, child.GetOwnerReferences())
				}
			}
		})
	}
}

// TestChangeThatAPolicyProtectsIsReported has a policy reject each write to the Deployment. The status reports it, without a loop.
func TestChangeThatAPolicyProtectsIsReported(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var counted requests
	c := e.startController(counted.wrap(e.config))
	e.create("example", func(s *dbv1alpha1.DatabaseManagerSpec) { s.Replicas = new(int32(0)) })
	e.untilReady("example", rollout.ReasonScaledToZero)
	deployments := e.deployments
	frozen := func(value string) []byte { return []byte(`{"metadata": {"labels": {"frozen": "` + value + `"}}}`) }
	testkit.Must(deployments.Patch(t.Context(), "db", types.MergePatchType, frozen("yes"), metav1.PatchOptions{}))(e)

	admission := e.client.AdmissionregistrationV1()
	testkit.Must(admission.ValidatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: e.updatesOf("apps", "deployments"),
			Validations: []admissionregistrationv1.Validation{{
				Expression: `request.userInfo.username == "somebody"`, Message: "frozen",
			}},
		},
	}, metav1.CreateOptions{}))(e)
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: e.namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	testkit.Must(admission.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{}))(e)
	lift := sync.OnceValue(func() error {
		return errors.Join(admission.ValidatingAdmissionPolicyBindings().Delete(context.Background(), e.namespace, metav1.DeleteOptions{}),
			admission.ValidatingAdmissionPolicies().Delete(context.Background(), e.namespace, metav1.DeleteOptions{}))
	})
	t.Cleanup(func() { _ = lift() })
	write := func(ctx context.Context) (error, error) {
		_, err := deployments.Patch(ctx, "db", types.MergePatchType, frozen("no"), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err, nil
	}
	until(e, "the policy is in force", write, apierrors.IsInvalid)

	// A version that the policy does not let through.
	e.patch("example", `{"spec": {"version": "8.4.5"}}`)
	d := e.untilReady("example", "Invalid")
	if message := readyOf(d).Message; !strings.Contains(message, "frozen") {
		t.Errorf("message %q", message)
	}
	e.failsQuietly(c, &counted, "example")
	if err := lift(); err != nil {
		t.Fatal(err)
	}
	until(e, "the policy is lifted", write, func(err error) bool { return err == nil })
	c.resync(t) // before the delay of the retry is over
	e.untilReady("example", rollout.ReasonScaledToZero)
}

// updatesOf matches creations and updates of a resource in the namespace, for an admission policy.
func (e *env) updatesOf(group string, resources ...string) *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.namespace}},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: resources,
				},
			},
		}},
	}
}
