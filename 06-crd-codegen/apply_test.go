package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/test/testkit"
)

// change is a change of a child by another user, as an RFC 6902 patch.
type change struct {
	resource schema.GroupVersionResource
	suffix   string
	name     string // of the change: the operation and the path
	patch    string
}

// serverRejects are the changes that the API server itself rejects, so that nobody has to undo them: fields that are immutable,
// required, or bound to another. (Together with the other the field can change: see unions.)
var serverRejects = []string{
	`deployments /spec/selector/matchLabels/coolops.cn~1databasemanager to "uidx"`,
	`deployments /spec/template/metadata/labels/coolops.cn~1databasemanager to "uidx"`,
	`deployments /spec/template/spec/containers/0/volumeMounts/0/name to "datax"`,
	`deployments /spec/template/spec/volumes/0/name to "datax"`,
	"deployments without /spec/selector/matchLabels/coolops.cn~1databasemanager",
	"deployments without /spec/template/metadata/labels/coolops.cn~1databasemanager",
	"deployments without /spec/template/spec/containers/0/env/0/name",
	"deployments without /spec/template/spec/containers/0/env/0/valueFrom/secretKeyRef/key",
	"deployments without /spec/template/spec/containers/0/env/0/valueFrom/secretKeyRef/name",
	"deployments without /spec/template/spec/containers/0/image",
	"deployments without /spec/template/spec/containers/0/livenessProbe/tcpSocket/port",
	"deployments without /spec/template/spec/containers/0/name",
	"deployments without /spec/template/spec/containers/0/ports/0/containerPort",
	"deployments without /spec/template/spec/containers/0/readinessProbe/tcpSocket/port",
	"deployments without /spec/template/spec/containers/0/startupProbe/tcpSocket/port",
	"deployments without /spec/template/spec/containers/0/volumeMounts/0/mountPath",
	"deployments without /spec/template/spec/containers/0/volumeMounts/0/name",
	"deployments without /spec/template/spec/securityContext/seccompProfile/type",
	"deployments without /spec/template/spec/volumes/0/name",
	"deployments without /spec/template/spec/volumes/0/persistentVolumeClaim/claimName",
	`persistentvolumeclaims /spec/accessModes/0 to "ReadWriteMany"`,
	`persistentvolumeclaims /spec/resources/requests/storage to "600Mi"`,
	"persistentvolumeclaims without /spec/accessModes/0",
	"persistentvolumeclaims without /spec/resources/requests/storage",
	`secrets /data/password to "b3RoZXI="`,
	"secrets /immutable to false",
	`secrets /type to "Opaquex"`,
	"secrets without /data/password",
	"secrets without /immutable",
	`services /spec/clusterIP to "10.96.255.254"`,
	"services without /spec/ports/0/port",
}

// TestEachOwnedFieldIsRestored changes each field that the controller sets: to another value, and away. They are taken from the desired
// objects. After each change the child must be what it was before.
func TestEachOwnedFieldIsRestored(t *testing.T) {
	testkit.All(t, "changes each field of each child")
	t.Parallel()
	e := newEnv(t)
	var counted requests
	c := e.startController(counted.wrap(e.config))
	client := dynamic.NewForConfigOrDie(e.admin)
	var changes []change
	d := &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "example", UID: "uid"},
		Spec: dbv1alpha1.DatabaseManagerSpec{
			Dbtype: dbv1alpha1.MySQL, DeploymentName: "db", Replicas: new(int32(0)), StorageSize: new(resource.MustParse("1Gi")),
		},
	}
	core := schema.GroupVersion{Version: "v1"}
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	services := core.WithResource("services")
	for _, child := range []struct {
		resource schema.GroupVersionResource
		suffix   string
		desired  any
	}{
		{deployments, "", database.Deployment(d, nil)},
		{services, "", database.Service(d, nil)},
		{core.WithResource("secrets"), database.SecretSuffix, database.Secret(d, nil)},
		{core.WithResource("persistentvolumeclaims"), database.ClaimSuffix, database.Claim(d, nil)},
	} {
		var desired map[string]any
		text := testkit.Must(json.Marshal(child.desired))(t)
		if err := json.Unmarshal(text, &desired); err != nil {
			t.Fatal(err)
		}
		delete(desired, "apiVersion")
		delete(desired, "kind")
		for path, value := range leaves("", desired) {
			if path == "/metadata/name" || path == "/metadata/namespace" || strings.HasPrefix(path, "/metadata/ownerReferences") {
				continue // another object; the owner reference is in TestDeletedChildrenAndRemovedMetadataComeBack
			}
			for _, to := range others(path, value) {
				name := fmt.Sprintf("%s %s to %s", child.resource.Resource, path, to)
				patch := fmt.Sprintf(`[{"op": "replace", "path": %q, "value": %s}]`, path, to)
				changes = append(changes, change{child.resource, child.suffix, name, patch})
			}
			name := fmt.Sprintf("%s without %s", child.resource.Resource, path)
			changes = append(changes, change{child.resource, child.suffix, name, fmt.Sprintf(`[{"op": "remove", "path": %q}]`, path)})
		}
	}
	// Another member of each union, and elements of lists under another key.
	const pod, container = "/spec/template/spec", "/spec/template/spec/containers/0"
	replace := func(path, value string) string {
		return fmt.Sprintf(`{"op": "replace", "path": %q, "value": %s}`, path, value)
	}
	for name, patch := range map[string]string{
		"strategy": replace("/spec/strategy", `{"type": "RollingUpdate"}`),
		"env":      replace(container+"/env/0", `{"name": "MYSQL_ROOT_PASSWORD", "value": "foo"}`),
		"envFrom":  replace(container+"/env/0/valueFrom", `{"fieldRef": {"fieldPath": "metadata.name"}}`),
		"volume":   replace(pod+"/volumes/0", `{"name": "data", "hostPath": {"path": "/"}}`),
		"emptyDir": replace(pod+"/volumes/0", `{"name": "data", "emptyDir": {}}`),
		"probes": replace(container+"/readinessProbe", `{"httpGet": {"port": 80}}`) + "," +
			replace(container+"/livenessProbe", `{"exec": {"command": ["true"]}}`) + "," +
			replace(container+"/startupProbe", `{"grpc": {"port": 80}}`),
		"privileged":        replace(container+"/securityContext", `{"privileged": true}`),
		"seccomp":           replace(pod+"/securityContext/seccompProfile", `{"type": "Localhost", "localhostProfile": "x.json"}`),
		"container renamed": replace(container+"/name", `"renamed"`),
		"volume renamed": replace(pod+"/volumes/0/name", `"renamed"`) + "," +
			replace(container+"/volumeMounts/0/name", `"renamed"`),
		"containers replaced":    replace(pod+"/containers", `[{"name": "other", "image": "other:1.0.0"}]`),
		"a port more":            replace(container+"/ports", `[{"name": "other", "containerPort": 3307}]`),
		"template's labels":      replace("/spec/template/metadata/labels/app.kubernetes.io~1name", `"other"`),
		"quantities, as written": replace(container+"/resources/limits/memory", `"1073741824"`),
	} {
		changes = append(changes, change{deployments, "", "deployments union: " + name, "[" + patch + "]"})
	}
	for name, patch := range map[string]string{
		"ExternalName": replace("/spec", `{"type": "ExternalName", "externalName": "example.com"}`),
		"port":         replace("/spec/ports/0/port", "3307"),
		"ports":        replace("/spec/ports", `[{"port": 1, "name": "database", "protocol": "UDP"}]`),
	} {
		changes = append(changes, change{services, "", "services union: " + name, "[" + patch + "]"})
	}
	slices.SortFunc(changes, func(a, b change) int { return strings.Compare(a.name, b.name) })

	// Several at a time, each with a DatabaseManager of its own.
	jobs := make(chan change)
	var mu sync.Mutex
	rejected := map[string]bool{}
	var slowest time.Duration
	var group sync.WaitGroup
	for worker := range 8 {
		name := fmt.Sprintf("db-%d", worker)
		e.create(name, func(s *dbv1alpha1.DatabaseManagerSpec) {
			s.DeploymentName, s.Replicas, s.StorageSize = name, d.Spec.Replicas, d.Spec.StorageSize
		})
		e.untilReady(name, rollout.ReasonScaledToZero)
		group.Go(func() {
			for job := range jobs {
				objects := client.Resource(job.resource).Namespace(e.namespace)
				before, err := objects.Get(t.Context(), name+job.suffix, metav1.GetOptions{})
				if err != nil {
					t.Error(err)
					continue
				}
				options := metav1.PatchOptions{FieldManager: "others"}
				_, err = objects.Patch(t.Context(), name+job.suffix, types.JSONPatchType, []byte(job.patch), options)
				if apierrors.IsInvalid(err) {
					mu.Lock()
					rejected[job.name] = true
					mu.Unlock()
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", job.name, err)
					continue
				}
				start := time.Now()
				diff := "" // not testkit.Await, which must not be called in this goroutine
				undone := func(ctx context.Context) (bool, error) {
					after, err := objects.Get(ctx, name+job.suffix, metav1.GetOptions{})
					if apierrors.IsNotFound(err) { // replaced by a new one
						return false, nil
					}
					if err == nil {
						diff = cmp.Diff(state(before), state(after))
					}
					return diff == "", err
				}
				if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 5*time.Minute, false, undone); err != nil {
					t.Errorf("%s is not undone: %v (-before +after):\n%s", job.name, err, diff)
				}
				mu.Lock()
				slowest = max(slowest, time.Since(start))
				mu.Unlock()
			}
		})
	}
	for _, job := range changes {
		jobs <- job
	}
	close(jobs)
	group.Wait()
	if diff := cmp.Diff(serverRejects, slices.Sorted(maps.Keys(rejected))); diff != "" {
		t.Errorf("rejected by the API server (-expected +rejected):\n%s", diff)
	}
	t.Logf("%d changes, %d rejected by the API server, the others undone in %s at most",
		len(changes), len(rejected), slowest.Round(time.Millisecond))
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

// leaves are the values of an object that are neither objects nor lists, by their JSON pointers, and the lists and
// objects that are empty.
func leaves(path string, value any) map[string]any {
	all := map[string]any{}
	switch value := value.(type) {
	case map[string]any:
		for key, value := range value {
			maps.Copy(all, leaves(path+"/"+strings.ReplaceAll(key, "/", "~1"), value))
		}
		if len(value) > 0 {
			return all
		}
	case []any:
		for i, value := range value {
			maps.Copy(all, leaves(fmt.Sprintf("%s/%d", path, i), value))
		}
		return all
	}
	all[path] = value
	return all
}

// others are other values for a field, as JSON.
func others(path string, value any) []string {
	last := path[strings.LastIndex(path, "/")+1:]
	switch value := value.(type) {
	case bool:
		return []string{fmt.Sprint(!value)}
	case float64:
		return []string{fmt.Sprint(value + 1)}
	case string:
		switch {
		case last == "protocol":
			return []string{`"UDP"`}
		case last == "clusterIP":
			return []string{`"10.96.255.254"`, `""`}
		case strings.HasSuffix(path, "strategy/type"):
			return []string{`"RollingUpdate"`}
		case strings.HasSuffix(path, "seccompProfile/type"):
			return []string{`"Unconfined"`}
		case strings.HasSuffix(path, "accessModes/0"):
			return []string{`"ReadWriteMany"`}
		case strings.Contains(path, "/drop/"):
			return []string{`"NET_RAW"`}
		case strings.HasPrefix(path, "/data/"):
			return []string{`"b3RoZXI="`}
		case strings.Contains(path, "/resources/"):
			return []string{`"600Mi"`}
		}
		return []string{fmt.Sprintf("%q", value+"x")}
	}
	return nil
}

// TestWhatIsThereTwiceIsRepaired has another user put an element into a list that has one of that name. The API server accepts it,
// with a warning, and client-go cannot read the managed fields then. The controller must go on: with a change of the spec, and
// with the owner reference.
func TestWhatIsThereTwiceIsRepaired(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.startController(e.config)
	const container = "/spec/template/spec/containers/0"
	finalizers := `[{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/twice", "example.com/twice"]}]`
	for name, test := range map[string]struct{ kind, patch string }{
		"env": {"Deployment", `[{"op": "add", "path": "` + container + `/env/-", "value": {"name": "MYSQL_ROOT_PASSWORD", "value": "x"}}]`},
		"other-env": {"Deployment", `[{"op": "add", "path": "` + container + `/env/-", "value": {"name": "A"}},
			{"op": "add", "path": "` + container + `/env/-", "value": {"name": "A"}}]`},
		"finalizer": {"Secret", finalizers},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := e.in(t)
			e.createWithAll(name)
			e.untilReady(name, rollout.ReasonScaledToZero)
			patch := []byte(test.patch)
			var err error
			if test.kind == "Secret" {
				_, err = e.secrets.Patch(t.Context(), name+database.SecretSuffix, types.JSONPatchType, patch, metav1.PatchOptions{})
				defer func() {
					_ = childKinds["Secret"].patch(e, name+database.SecretSuffix, `{"metadata": {"finalizers": null}}`)
				}()
			} else {
				_, err = e.deployments.Patch(t.Context(), name, types.JSONPatchType, patch, metav1.PatchOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			e.patch(name, `{"spec": {"version": "8.4.5", "deletionPolicy": "Retain"}}`)
			e.untilReady(name, rollout.ReasonScaledToZero)
			first := e.deployment(name).Spec.Template.Spec.Containers[0]
			if first.Image != "mysql:8.4.5" || len(first.Env) != 1 || first.Env[0].ValueFrom == nil {
				t.Errorf("image %s, env %+v", first.Image, first.Env)
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
	until(e, "the policy is in force", func(ctx context.Context) (error, error) {
		_, err := deployments.Patch(ctx, "db", types.MergePatchType, frozen("no"), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err, nil
	}, apierrors.IsInvalid)

	// A version that the policy does not let through.
	e.patch("example", `{"spec": {"version": "8.4.5"}}`)
	d := e.untilReady("example", "Invalid")
	if message := readyOf(d).Message; !strings.Contains(message, "frozen") {
		t.Errorf("message %q", message)
	}
	syncs := c.syncs.Load()
	counted.take()
	time.Sleep(10 * time.Second) // the span in which the requests are counted
	counts := counted.take()
	t.Logf("%d syncs in 10 s, with %v", c.syncs.Load()-syncs, counts)
	if n := total(counts); n > 40 {
		t.Errorf("%d requests in 10 s: %v", n, counts)
	}
	if err := lift(); err != nil {
		t.Fatal(err)
	}
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
