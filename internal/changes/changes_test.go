package changes

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/testcluster"
	"example.com/client-go-workbook/internal/testkit"
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
