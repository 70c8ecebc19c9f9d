package fielddiff

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestBetween has a real API server record who wrote, since that is what is read here.
func TestBetween(t *testing.T) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(namespace)
	pod := testkit.Must(pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "example", Labels: map[string]string{"a": "1"}},
		Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/never"}}, // so that nobody else writes
			Containers:      []corev1.Container{{Name: "main", Image: "nginx:1.28"}},
		},
	}, metav1.CreateOptions{FieldManager: "first"}))(t)
	resource := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	dynamicPods := dynamic.NewForConfigOrDie(config).Resource(resource).Namespace(namespace)
	asMap := testkit.Must(dynamicPods.Get(t.Context(), "example", metav1.GetOptions{}))(t)

	condition := func(name string) string {
		return fmt.Sprintf(`{"status": {"conditions": [{"type": %q, "status": "True"}]}}`, name)
	}
	for _, step := range []struct{ manager, subresource, patch, want string }{
		{"second", "", `{"metadata": {"labels": {"a": "2", "b": "1"}}}`, ": metadata.labels.a, metadata.labels.b, by second"},
		{"first", "", `{"metadata": {"labels": {"b": null}}}`, ": metadata.labels.b"},
		{"third", "", `{"spec": {"containers": [{"name": "main", "image": "nginx:1.29"}]}}`,
			": spec.containers, by third"},
		// Both managers write into the same list. Each owns its own element.
		{"kubelet", "status", condition("Ready"), ": status.conditions, by kubelet"},
		{"prober", "status", condition("example.com/Probed"), ": status.conditions, by prober"},
		{"kubelet", "status", `{"status": {"message": "m", "reason": "r", "hostIP": "10.0.0.1", "phase": "Running"}}`,
			": status.hostIP, status.message and 2 more, by kubelet"},
	} {
		var subresources []string
		if step.subresource != "" {
			subresources = []string{step.subresource}
		}
		patched, err := pods.Patch(t.Context(), "example", types.StrategicMergePatchType, []byte(step.patch),
			metav1.PatchOptions{FieldManager: step.manager}, subresources...)
		if err != nil {
			t.Fatalf("%s: %v", step.patch, err)
		}
		check(t, step.patch, Between(pod, patched), step.want)
		patchedMap := testkit.Must(dynamicPods.Get(t.Context(), "example", metav1.GetOptions{}))(t)
		check(t, "as a map: "+step.patch, Between(asMap, patchedMap), step.want)
		pod, asMap = patched, patchedMap
	}
	check(t, "nothing", Between(pod, pod), "")
	check(t, "a new object", Between(nil, pod), "")
}

// TestBetweenOfACustomResource has a type without a schema.
func TestBetweenOfACustomResource(t *testing.T) {
	gadget := func(size int64, list ...any) runtime.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Gadget",
			"metadata": map[string]any{
				"name": "example", "resourceVersion": fmt.Sprint(size),
				"managedFields": []any{
					map[string]any{"manager": "m", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:size": map[string]any{}}}},
					map[string]any{"manager": "broken"},
				},
			},
			"spec": map[string]any{"size": size, "list": list},
		}}
	}
	check(t, "a field", Between(gadget(1), gadget(2)), ": spec.size, by m")
	check(t, "a list", Between(gadget(1, "a"), gadget(1, "a", "b")), ": spec.list")
}

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// fieldsV1 is what a real server has recorded for a pod.
const fieldsV1 = `{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:image":{},` +
	`"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}},"f:tolerations":{"i:0":{},"v:\"a\"":{}}}}`

// TestBetweenWithBrokenManagedFields damages a pod's managedFields, which are not compared: what has changed is shown all
// the same, and who has written only if that can still be read.
func TestBetweenWithBrokenManagedFields(t *testing.T) {
	damaged := []string{"", "null", "[]", `""`, "1", "{}{}", `{"f:a":1}`, `{"x:a":{}}`, `{"f:":{}}`, `{":":{}}`, `{"":{}}`, `{"k:":{}}`,
		`{"k:{":{}}`, `{"k:[]":{}}`, `{"k:{}":{}}`, `{"v:":{}}`, `{"v:{":{}}`, `{"i:":{}}`, `{"i:x":{}}`, `{"i:-1":{}}`,
		`{"i:99999999999999999999":{}}`, `{"f:a":null}`, `{"f:a":{".":null}}`,
		`{"f:a":{".":[]}}`, "\xff", `{"f:\xff":{}}`, strings.Repeat(`{"f:a":`, 20000),
		strings.Repeat(`{"f:a":`, 20000) + "{}" + strings.Repeat("}", 20000)}
	for i := range len(fieldsV1) {
		inverted := []byte(fieldsV1)
		inverted[i] ^= 0xff
		flipped := []byte(fieldsV1)
		flipped[i] ^= 1
		damaged = append(damaged, fieldsV1[:i], fieldsV1[i:], fieldsV1[:i]+fieldsV1[i+1:], fieldsV1[:i]+fieldsV1[i:i+1]+fieldsV1[i:],
			fieldsV1[:i]+"\x00"+fieldsV1[i+1:], string(inverted), string(flipped))
	}
	pod := func(image, raw string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "example", ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "broken", FieldsV1: metav1.NewFieldsV1(raw)},
				{Manager: "whole", FieldsV1: metav1.NewFieldsV1(fieldsV1)},
				{Manager: "empty"},
			}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
		}
	}
	for _, raw := range damaged {
		for what, got := range map[string]string{
			"before": Between(pod("nginx:1", raw), pod("nginx:2", fieldsV1)),
			"after":  Between(pod("nginx:1", fieldsV1), pod("nginx:2", raw)),
		} {
			if got != ": spec.containers, by whole" && got != ": spec.containers, by broken and whole" {
				t.Errorf("%s: %.100q: %q", what, raw, got)
			}
		}
	}
}

// TestBetweenWithManagedFieldsOfAnotherShape has objects that are maps: in them, anything can stand there.
func TestBetweenWithManagedFieldsOfAnotherShape(t *testing.T) {
	gadget := func(size int64, managedFields any) runtime.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Gadget",
			"metadata": map[string]any{"name": "example", "managedFields": managedFields},
			"spec":     map[string]any{"size": size},
		}}
	}
	for _, managedFields := range []any{
		nil, "text", int64(1), true, map[string]any{}, []any{}, []any{nil}, []any{"text"}, []any{int64(1)}, []any{[]any{}},
		[]any{map[string]any{"manager": int64(1)}}, []any{map[string]any{"fieldsV1": "text"}}, []any{map[string]any{"fieldsV1": []any{}}},
		[]any{map[string]any{"fieldsV1": map[string]any{"x": int64(1)}}}, []any{map[string]any{"time": "yesterday"}},
	} {
		for _, got := range []string{Between(gadget(1, managedFields), gadget(2, nil)), Between(gadget(1, nil), gadget(2, managedFields))} {
			if got != ": spec.size" {
				t.Errorf("%v: %q, want the field", managedFields, got)
			}
		}
	}
}

// TestBetweenOfWhatCannotBeEncoded has a value that no JSON stands for. A server can only send it as protobuf, and damaged.
func TestBetweenOfWhatCannotBeEncoded(t *testing.T) {
	pod := func(port intstr.IntOrString) *corev1.Pod {
		probe := corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: port}}}
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", LivenessProbe: &probe}}}}
	}
	broken := pod(intstr.IntOrString{Type: 7})
	const want = ": the change cannot be shown: "
	for what, got := range map[string]string{
		"before": Between(broken, pod(intstr.FromInt32(80))),
		"after":  Between(pod(intstr.FromInt32(80)), broken),
	} {
		if !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q, want %q and why", what, got, want)
		}
	}
}

// TestAgainst has somebody else change a field of a Deployment that was applied.
func TestAgainst(t *testing.T) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	deployments := kubernetes.NewForConfigOrDie(config).AppsV1().Deployments(namespace)
	desired := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "db", "namespace": namespace},
		"spec": map[string]any{
			"replicas": int64(0),
			"selector": map[string]any{"matchLabels": map[string]any{"app": "db"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "db"}},
				"spec": map[string]any{"containers": []any{
					map[string]any{"name": "db", "image": "db:1", "ports": []any{map[string]any{"containerPort": int64(3306)}}},
				}},
			},
		},
	}}
	before := testkit.Must(Against(desired, nil))(t)
	if len(before) != 6 || before[0].Actual != nil || before[0].Managers != "" {
		t.Errorf("before it is created: %+v", before)
	}
	applied := testkit.Must(json.Marshal(desired))(t)
	options := metav1.PatchOptions{FieldManager: "workbook"}
	testkit.Must(deployments.Patch(t.Context(), "db", types.ApplyPatchType, applied, options))(t)
	actual := testkit.Must(deployments.Patch(t.Context(), "db", types.MergePatchType, []byte(`{"spec": {"replicas": 3}}`),
		metav1.PatchOptions{FieldManager: "somebody"}))(t)

	fields := testkit.Must(Against(desired, actual))(t)
	want := Field{Path: "spec.replicas", Desired: int64(0), Actual: int64(3), Managers: "somebody"}
	if len(fields) != len(before) || !reflect.DeepEqual(fields[0], want) {
		t.Errorf("%+v, want %+v first", fields, want)
	}
	for _, f := range fields[1:] {
		if !reflect.DeepEqual(f.Desired, f.Actual) || f.Managers != "workbook" {
			t.Errorf("%+v, want no difference, and workbook", f)
		}
	}
}
