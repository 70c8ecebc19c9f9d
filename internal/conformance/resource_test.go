package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// TestResourceFileThatIsWrong reads files with a mistake: what is said names it, and no server is asked.
func TestResourceFileThatIsWrong(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"a field that is misspelled": {"sample: []", `unknown field "sample"`},
		"no children":                {"samples: [{kind: A}]\nchange: {spec: {a: 1}}", "children are missing"},
		"no way to know children":    {"samples: [{kind: A}]\nchange: {spec: {a: 1}}\nchildren: [{kind: B}]", "knownBy"},
		"two ways to be ready": {
			"samples: [{kind: A}]\nchange: {spec: {a: 1}}\nchildren: [{kind: B}]\nknownBy: owner\nready: {condition: Ready, jsonPath: '{.a}'}",
			"keep one",
		},
		"a path without braces": {
			"samples: [{kind: A}]\nchange: {spec: {a: 1}}\nchildren: [{kind: B}]\nknownBy: owner\nready: {jsonPath: .status.a, value: b}",
			"{.status.phase}",
		},
		"an expression": {
			"samples: [{kind: A}]\nchange: {spec: {a: 1}}\nchildren: [{kind: B}]\nknownBy: owner\nignore: ['(']", "missing closing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "my.yaml")
			if err := os.WriteFile(file, []byte(test.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := readResource(file, &rest.Config{Host: "http://127.0.0.1:1"})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want one line with %q", err, test.want)
			}
		})
	}
}

// TestKindThatTheServerDoesNotHave asks for the resource of such a kind.
func TestKindThatTheServerDoesNotHave(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`)) // the test ends if it is not read
	}))
	t.Cleanup(server.Close)
	_, err := readResource("databasemanager.yaml", &rest.Config{Host: server.URL})
	if err == nil || !strings.Contains(err.Error(), `no matches for kind "DatabaseManager"`) {
		t.Errorf("%v, want the kind", err)
	}
}

// TestTold reads statuses.
func TestTold(t *testing.T) {
	status := func(of, observed int64, value string) map[string]any {
		return map[string]any{"observedGeneration": observed, "phase": value, "conditions": []any{
			map[string]any{"type": "Available", "status": value, "observedGeneration": of, "reason": "R", "message": "m"},
		}}
	}
	both := Ready{Condition: "Available", ObservedGeneration: []string{"condition", "status"}}
	byPath := Ready{JSONPath: "{.status.phase}", Value: "True"}
	for _, test := range []struct {
		ready  Ready
		status map[string]any
		want   string
	}{
		{both, nil, "no condition Available"},
		{both, status(2, 2, "True"), isReady},
		{both, status(2, 2, "False"), "Available=False R: m"},
		{both, status(1, 2, "True"), "Available with observedGeneration 1 of generation 2"},
		{both, status(2, 1, "True"), "Available=True, but status.observedGeneration 1 of generation 2"},
		{Ready{Condition: "Available"}, status(1, 1, "True"), isReady},
		{byPath, nil, `{.status.phase} is ""`},
		{byPath, status(1, 1, "True"), isReady},
		{Ready{}, nil, isReady},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetGeneration(2)
		if test.status != nil {
			o.Object["status"] = test.status
		}
		r := &Resource{Ready: test.ready}
		if got := r.told(o); got != test.want {
			t.Errorf("%+v, %v: %q, want %q", test.ready, test.status, got, test.want)
		}
	}
}

// TestChangeIsUndone applies a change to the sample, and then what takes it back.
func TestChangeIsUndone(t *testing.T) {
	r := &Resource{Samples: []patch{{"kind": "A", "spec": map[string]any{"a": "{name}", "b": 1}}}}
	change := patch{"spec": map[string]any{"a": "x", "b": nil, "c": 2}}
	text := merge(merge(r.Samples[0].String(), change.String()), r.undo(change).String())
	if want := r.Samples[0].String(); text != want {
		t.Errorf("%s, want %s", text, want)
	}
}

// TestRulesAreParted has a rule about resources with and without a namespace.
func TestRulesAreParted(t *testing.T) {
	r := &Resource{global: map[schema.GroupResource]bool{{Resource: "nodes"}: true}}
	namespaced, global := r.split([]rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods", "nodes"}, Verbs: []string{"delete"}},
		{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
	})
	wantNamespaced := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"delete"}}}
	wantGlobal := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}}}
	if diff := cmp.Diff(wantNamespaced, namespaced) + cmp.Diff(wantGlobal, global); diff != "" {
		t.Error(diff)
	}
}

// TestRequestsAboutAnObject compares names.
func TestRequestsAboutAnObject(t *testing.T) {
	for name, want := range map[string]bool{
		"one": true, "one-root": true, "alertmanager-one": true, "a-one-0": true, "ones": false, "none": false, "two": false,
	} {
		if got := (Request{Name: name}).about("one"); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}

// TestDiff compares texts, and what is none.
func TestDiff(t *testing.T) {
	for _, test := range []struct {
		expected, seen any
		want           string
	}{
		{"a\nb\n", "a\nb", ""},
		{"Ready=True", "no condition", "- Ready=True\n+ no condition"},
		{0, 1, "- 0\n+ 1"},
		{map[string]int{"b": 1, "a": 2}, map[string]int{"a": 2}, "  a: 2\n- b: 1"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9", "0\n1\n2\n3\n4\n5\n6\n7\n8", "+ 0\n  1\n  2\n  3\n  ...\n  6\n  7\n  8\n- 9"},
	} {
		if got := diffOf(test.expected, test.seen); got != test.want {
			t.Errorf("%v and %v:\n%s\nwant:\n%s", test.expected, test.seen, got, test.want)
		}
	}
}
