package codegen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercise/isolatedgroup"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// ScaleAnswer is what exercise.go has.
type ScaleAnswer struct {
	SpecReplicasPath, StatusReplicasPath, LabelSelectorPath string

	Selector func(labels map[string]string) string
}

// Scale grades the answers to "The scale subresource".
var Scale = grade.Exercise[ScaleAnswer]{
	Cluster: true,
	Grade:   gradeScale,
}

func gradeScale(t *grade.T, a ScaleAnswer) {
	config := isolatedgroup.Config(t, testcluster.Config(t))
	t.Doing("the API server serves a CRD with these paths")
	if err := testcluster.InstallCRD(t.Context(), config, scaleManifest(a)); apierrors.IsInvalid(err) {
		t.Reject("the API server accepts the paths",
			strings.TrimPrefix(firstLine(err.Error()), "CustomResourceDefinition.apiextensions.k8s.io "),
			"a path begins with .spec or .status, and has a dot before each field")
	} else if err != nil {
		t.Fatal(err)
	}
	caches := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "coolops.cn", Version: "v1",
		Resource: "caches"})

	// Letters that differ in each run, because a map's order does, too.
	podLabels := map[string]string{
		fmt.Sprintf("app-%d", t.Rand.IntN(1000)):  fmt.Sprintf("cache-%d", t.Rand.IntN(1000)),
		fmt.Sprintf("tier-%d", t.Rand.IntN(1000)): fmt.Sprintf("data-%d", t.Rand.IntN(1000)),
	}
	text := a.Selector(maps.Clone(podLabels))
	desired, running := 2+t.Rand.Int64N(20), 1+t.Rand.Int64N(20)
	cache := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coolops.cn/v1", "kind": "Cache", "metadata": map[string]any{"name": "c"},
		"spec": map[string]any{"size": map[string]any{"shards": desired}},
	}}
	cache = testkit.Must(caches.Create(t.Context(), cache, metav1.CreateOptions{}))(t)
	cache.Object["status"] = map[string]any{"pods": map[string]any{"running": running, "selector": text}}
	testkit.Must(caches.UpdateStatus(t.Context(), cache, metav1.UpdateOptions{}))(t)

	scale, err := caches.Get(t.Context(), "c", metav1.GetOptions{}, "scale")
	if err != nil {
		t.Reject("the API server returns the scale of a Cache with "+fmt.Sprintf("%d shards", desired), firstLine(err.Error()),
			"where is this number in the YAML of the task?")
	}
	if got, _, _ := unstructured.NestedInt64(scale.Object, "spec", "replicas"); got != desired {
		t.Reject(fmt.Sprintf("scale has spec.replicas %d, as the Cache desires", desired), fmt.Sprintf("%d", got), "SpecReplicasPath")
	}
	if got, _, _ := unstructured.NestedInt64(scale.Object, "status", "replicas"); got != running {
		t.Reject(fmt.Sprintf("scale has status.replicas %d, the pods that run", running), fmt.Sprintf("%d", got), "StatusReplicasPath")
	}
	text, _, _ = unstructured.NestedString(scale.Object, "status", "selector")
	selects(t, text, podLabels)
	selects(t, a.Selector(map[string]string{"app": "cache"}), map[string]string{"app": "cache"})
	many := map[string]string{"example.com/tier": "", "a": "b"} // a prefix, and an empty value
	for range 1 + t.Rand.IntN(4) {
		many[fmt.Sprintf("label-%d", t.Rand.IntN(1000))] = "a.b_c"
	}
	selects(t, a.Selector(maps.Clone(many)), many)
	// Labels that differ in one thing only.
	alike := map[string]string{"tier-1": "data", "tier-2": "data", "Tier-1": "data", "example.com/tier-1": "data", "tier-3": "Data"}
	for _, podLabels := range []map[string]string{podLabels, alike} {
		text := a.Selector(maps.Clone(podLabels))
		for range 1000 { // Go begins at a random one of a small map's eight slots: seven times of eight, the order is the same
			if again := a.Selector(maps.Clone(podLabels)); again != text {
				t.Reject("the same labels always give the same text", text+", and then "+again,
					"the order of a map; a status whose text changes is written again and again")
			}
		}
	}

	desired += 1 + t.Rand.Int64N(5)
	if err := unstructured.SetNestedField(scale.Object, desired, "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	if _, err := caches.Update(t.Context(), scale, metav1.UpdateOptions{}, "scale"); err != nil {
		t.Reject(fmt.Sprintf("the API server scales the Cache to %d", desired), firstLine(err.Error()), "SpecReplicasPath")
	}
	cache = testkit.Must(caches.Get(t.Context(), "c", metav1.GetOptions{}))(t)
	if got, _, _ := unstructured.NestedInt64(cache.Object, "spec", "size", "shards"); got != desired {
		t.Reject(fmt.Sprintf("the Cache has %d shards after it was scaled", desired), fmt.Sprintf("%d", got), "SpecReplicasPath")
	}
}

// selects rejects the answer if the selector does not select the pods with all these labels.
func selects(t *grade.T, text string, podLabels map[string]string) {
	if text == "" {
		t.Reject(fmt.Sprintf("scale has a selector for the pods with %v", podLabels), "the selector of scale is empty",
			"LabelSelectorPath and Selector; without it the autoscaler finds no pods")
	}
	selector, err := labels.Parse(text)
	if err != nil {
		t.Reject(fmt.Sprintf("%q is a label selector", text), err.Error(),
			"package k8s.io/apimachinery/pkg/labels, which formats and parses them")
	}
	if !selector.Matches(labels.Set(podLabels)) {
		t.Reject(fmt.Sprintf("%q selects pods with %v", text, podLabels), "it does not", "Selector")
	}
	for _, name := range slices.Sorted(maps.Keys(podLabels)) {
		part := maps.Clone(podLabels)
		delete(part, name)
		if selector.Matches(labels.Set(part)) {
			t.Reject(fmt.Sprintf("%q selects pods with all of %v", text, podLabels),
				fmt.Sprintf("it also selects pods that have %d of the %d labels only", len(part), len(podLabels)),
				"which labels are in the text?")
		}
		part[name] = "another-value"
		if selector.Matches(labels.Set(part)) {
			t.Reject(fmt.Sprintf("%q selects pods with all of %v", text, podLabels),
				"it also selects pods that have another value of "+name, "which values are in the text?")
		}
	}
}

func scaleManifest(a ScaleAnswer) []byte {
	selectorPath := ""
	if a.LabelSelectorPath != "" {
		selectorPath = fmt.Sprintf("\n        labelSelectorPath: %q", a.LabelSelectorPath)
	}
	return fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: caches.coolops.cn}
spec:
  group: coolops.cn
  names: {kind: Cache, plural: caches}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale:
        specReplicasPath: %q
        statusReplicasPath: %q%s
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: object, properties: {shards: {type: integer}}}
          status:
            type: object
            properties:
              pods: {type: object, properties: {running: {type: integer}, selector: {type: string}}}
`, a.SpecReplicasPath, a.StatusReplicasPath, selectorPath)
}
