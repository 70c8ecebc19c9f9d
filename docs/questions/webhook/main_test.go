package main

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestNothingIsLost converts crates there and back, from each version.
func TestNothingIsLost(t *testing.T) {
	const v1, v2 = "example.com/v1", "example.com/v2"
	maybe := func(fields map[string]any, name string, value any) {
		if rand.N(2) == 0 {
			fields[name] = value
		}
	}
	for range 1000 {
		spec, annotations := map[string]any{}, map[string]any{}
		maybe(annotations, "example.com/note", "by somebody")
		from, to := v1, v2
		if rand.N(2) == 0 {
			from, to = v2, v1
			maybe(spec, "capacity", rand.Int64N(11))
			maybe(spec, "color", []string{"red", ""}[rand.N(2)])
		} else {
			maybe(spec, "size", rand.Int64N(11))
			maybe(annotations, color, []string{"red", ""}[rand.N(2)])
		}
		metadata := map[string]any{"name": "first", "uid": "a"}
		if len(annotations) > 0 {
			metadata["annotations"] = annotations
		}
		before := map[string]any{"apiVersion": from, "kind": "Crate", "metadata": metadata}
		if len(spec) > 0 {
			before["spec"] = spec
		}
		there := converted(t, before, to)
		if back := converted(t, there, from); !reflect.DeepEqual(before, back) {
			t.Errorf("before %v\nthere  %v\nback   %v", before, there, back)
		}
	}
}

func converted(t *testing.T, crate map[string]any, version string) map[string]any {
	t.Helper()
	raw, err := json.Marshal(&unstructured.Unstructured{Object: crate})
	if err != nil {
		t.Fatal(err)
	}
	result, err := convert(raw, version)
	if err != nil {
		t.Fatal(err)
	}
	if result.GetAPIVersion() != version {
		t.Errorf("version %s, want %s", result.GetAPIVersion(), version)
	}
	return result.Object
}
