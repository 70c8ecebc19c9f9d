package main

import (
	"bytes"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/testcluster"
)

// readRole returns the ClusterRole of rbac.yaml.
func readRole(t *testing.T) rbacv1.ClusterRole {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(must(os.ReadFile("rbac.yaml"))(t)), 4096)
	for {
		var role rbacv1.ClusterRole
		if err := decoder.Decode(&role); err != nil {
			t.Fatalf("no ClusterRole in rbac.yaml: %v", err)
		}
		if role.Kind == "ClusterRole" {
			return role
		}
	}
}

// TestRights runs the controller as a user who may do what rbac.yaml says, and nothing else. Then it compares what
// the role allows with what was used of it: a right that nothing needs is one too many.
func TestRights(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	role := readRole(t)
	user := "system:serviceaccount:" + w.namespace + ":" + role.Name
	must(w.client.RbacV1().Roles(w.namespace).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		Rules:      role.Rules,
	}, metav1.CreateOptions{}))(t)
	must(w.client.RbacV1().RoleBindings(w.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}, metav1.CreateOptions{}))(t)

	var mu sync.Mutex
	used := map[string]bool{}
	var refused []string
	as := rest.CopyConfig(config)
	as.Impersonate.UserName = user
	as.Wrap(func(transport http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := transport.RoundTrip(request)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && response.StatusCode == http.StatusForbidden {
				refused = append(refused, request.Method+" "+request.URL.Path)
			}
			if err == nil && response.StatusCode < 300 {
				verbs, resource := verbsOf(request, response.StatusCode)
				for _, verb := range verbs {
					used[verb+" "+resource] = true
				}
			}
			return response, err
		})
	})

	r := start(t, as, w.namespace, elect(3*time.Second))
	w.ask("orders", "deploymentName", "orders-db")
	w.awaitDeployments("orders-db=1")
	w.change("orders", "replicas", "2")
	w.awaitDeployments("orders-db=2")
	w.change("orders", "deploymentName", "new-db")
	w.awaitDeployments("new-db=2")
	for range 2 { // the second event is an update of the first
		w.change("orders", "replicas", "many")
		r.out.await(t, "STUCK")
		w.change("orders", "replicas", "0")
		w.awaitDeployments("new-db=0")
	}
	await(t, "an event that counts two", func() bool {
		told := w.events("orders")
		return len(told) > len(slices.Compact(slices.Sorted(slices.Values(told))))
	})
	renewed := w.lease().Spec.RenewTime
	await(t, "a renewal", func() bool { return w.lease().Spec.RenewTime.After(renewed.Time) })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	allowed := map[string]bool{}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				allowed[verb+" "+resource] = true
			}
		}
	}
	// An informer asks for its list by a watch, if the server has streaming lists. It lists where it hasn't.
	used["list configmaps"], used["list deployments"] = true, true
	if diff := cmp.Diff(slices.Sorted(maps.Keys(allowed)), slices.Sorted(maps.Keys(used))); diff != "" {
		t.Errorf("rights (-in rbac.yaml +used):\n%s", diff)
	}
	// Whether the namespace is there, it asks in any case, and takes a refusal for a yes.
	refused = slices.DeleteFunc(refused, func(request string) bool { return request == "GET /api/v1/namespaces/"+w.namespace })
	if len(refused) > 0 {
		t.Errorf("refused: %q", refused)
	}
}

// verbsOf returns which rights a request to a namespace's resource has needed.
func verbsOf(request *http.Request, code int) (verbs []string, resource string) {
	_, path, _ := strings.Cut(request.URL.Path, "/namespaces/")
	parts := strings.Split(path, "/")
	if len(parts) < 2 {
		return nil, ""
	}
	resource = parts[1]
	switch {
	case request.URL.Query().Get("watch") != "":
		return []string{"watch"}, resource
	case request.Method == http.MethodGet && len(parts) == 2:
		return []string{"list"}, resource
	case request.Method == http.MethodPatch && code == http.StatusCreated:
		return []string{"patch", "create"}, resource
	}
	return []string{map[string]string{
		http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[request.Method]}, resource
}
