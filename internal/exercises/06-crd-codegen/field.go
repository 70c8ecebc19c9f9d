package codegen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercise/isolatedgroup"
	"example.com/client-go-workbook/internal/test/testcluster"
)

// Field grades the answers to "Add fields, and generate the CRD". It has a value of each type: its package is what controller-gen reads.
var Field = grade.Exercise[any]{
	Cluster: true,
	Timeout: time.Minute, // and twenty times that for go, which compiles controller-gen before its first run
	Grade:   gradeField,
}

func gradeField(t *grade.T, typed any) {
	t.Doing("controller-gen to print the CRD")
	generate := exec.CommandContext(t.Context(), "go", "tool", "controller-gen", "crd", "paths="+reflect.TypeOf(typed).PkgPath(),
		"output:stdout")
	var stderr bytes.Buffer
	generate.Stderr = &stderr
	manifest, err := generate.Output()
	if err != nil {
		problem, _, _ := strings.Cut(stderr.String(), "\n")
		t.Reject("controller-gen prints a CRD", regexp.MustCompile(`^.*/exercise\.go:`).ReplaceAllString(problem, "exercise.go:"),
			"the line that it names; go tool controller-gen crd -ww lists all markers")
	}
	config := isolatedgroup.Config(t, testcluster.Config(t))
	t.Doing("the API server serves the CRD")
	if err := testcluster.InstallCRD(t.Context(), config, manifest); apierrors.IsInvalid(err) {
		t.Reject("the API server accepts the CRD", err.Error(), "the markers; +listType for a list without duplicates")
	} else if err != nil {
		t.Fatal(err)
	}
	caches := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{
		Group: "coolops.cn", Version: "v1alpha1", Resource: "caches"})

	port, zone := 1024+t.Rand.IntN(60000), fmt.Sprintf("a-%d", t.Rand.IntN(1000))
	for _, test := range []struct {
		spec     map[string]any
		accepted bool
	}{
		{map[string]any{}, true},
		{map[string]any{"port": port, "eviction": "LFU", "zones": []any{zone, "b", "c"}}, true},
		{map[string]any{"port": 1024, "eviction": "LRU", "zones": []any{zone}}, true},
		{map[string]any{"port": 65535, "eviction": "Random", "zones": []any{"c", zone}}, true},
		{map[string]any{"zones": []any{}}, true},
		{map[string]any{"zones": []any{"Zone 1/" + zone}}, true},
		{map[string]any{"megabytes": 1}, true},
		{map[string]any{"megabytes": math.MaxInt32}, true},
		{map[string]any{"port": 1023}, false},
		{map[string]any{"port": 0}, false},
		{map[string]any{"port": 65536}, false},
		{map[string]any{"port": fmt.Sprint(port)}, false},
		{map[string]any{"port": float64(port) + 0.5}, false},
		{map[string]any{"eviction": "lru"}, false},
		{map[string]any{"eviction": ""}, false},
		{map[string]any{"eviction": "FIFO"}, false},
		{map[string]any{"eviction": "None"}, false},
		{map[string]any{"eviction": "LRU" + zone}, false},
		{map[string]any{"eviction": zone + "Random"}, false},
		{map[string]any{"zones": zone}, false},
		{map[string]any{"zones": []any{1}}, false},
		{map[string]any{"zones": []any{zone, zone}}, false},
		{map[string]any{"zones": []any{zone, zone, "b"}}, false},
		{map[string]any{"zones": []any{zone, "b", zone}}, false},
		{map[string]any{"zones": []any{"b", zone, zone}}, false},
		{map[string]any{"zones": []any{zone, zone, zone}}, false},
		{map[string]any{"zones": []any{zone, "b", "c", "d"}}, false},
		{map[string]any{"megabytes": nil}, false}, // it is still required
		{map[string]any{"megabytes": 0}, false},
		{map[string]any{"megabytes": "64"}, false},
	} {
		sent := fmt.Sprintf("a spec with %s", strings.TrimPrefix(fmt.Sprint(test.spec), "map"))
		if _, set := test.spec["megabytes"]; !set {
			test.spec["megabytes"] = 64
		}
		created, err := caches.Create(t.Context(), cacheObject(t, test.spec), metav1.CreateOptions{DryRun: []string{"All"}})
		switch {
		case err != nil && !apierrors.IsInvalid(err):
			t.Fatal(err)
		case test.accepted && err != nil:
			t.Reject(sent+" is accepted", strings.ReplaceAll(err.Error(), "\n", ""), "the markers of that field, and its json tag")
		case !test.accepted && err == nil:
			t.Reject(sent+" is rejected", "the API server has accepted it",
				"the markers: README.md of the chapter, From a marker to a rule")
		case test.accepted:
			if test.spec["port"] == nil {
				test.spec["port"] = 6379
			}
			spec, want := jsonText(t, created.Object["spec"]), jsonText(t, test.spec)
			if spec != want {
				t.Reject("the server stores "+want, spec, "the names in the json tags, and the default")
			}
			if err := json.Unmarshal([]byte(jsonText(t, created.Object)), reflect.New(reflect.TypeOf(typed)).Interface()); err != nil {
				t.Reject("your Go type can hold "+spec, err.Error(), "the Go type of that field")
			}
		}
	}

	cache := cacheObject(t, map[string]any{"megabytes": 64, "port": port, "eviction": "LFU", "zones": []any{zone}})
	cache, err = caches.Create(t.Context(), cache, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []map[string]any{
		{"megabytes": int64(32), "port": int64(65535), "eviction": "LRU", "zones": []any{"b", zone}},
		{"megabytes": int64(16), "port": int64(1024), "eviction": "Random", "zones": []any{"d"}},
		{"megabytes": int64(1000), "port": int64(60000), "eviction": "LFU", "zones": []any{"e", "d", "f"}},
		{"megabytes": int64(128)}, // without the others
		{"megabytes": int64(64), "port": int64(1024), "eviction": "Random", "zones": []any{"c"}},
	} {
		cache.Object["spec"] = spec
		if cache, err = caches.Update(t.Context(), cache, metav1.UpdateOptions{}); err != nil {
			t.Reject("each field can be changed, and left out later: "+jsonText(t, spec), strings.ReplaceAll(err.Error(), "\n", ""),
				"the markers with oldSelf")
		}
	}
}

func cacheObject(t *grade.T, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(jsonText(t, map[string]any{
		"apiVersion": "coolops.cn/v1alpha1", "kind": "Cache", "metadata": map[string]any{"generateName": "cache-"}, "spec": spec,
	})), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func jsonText(t *grade.T, value any) string {
	data, err := json.Marshal(value) // the keys of a map are sorted
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
