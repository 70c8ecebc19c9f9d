package testcluster

import (
	"bytes"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// AsRole returns a copy of config for a user who may do, in that namespace, what the ClusterRole in a manifest allows,
// and nothing else. The function that it returns fails the test if the server has refused a request made with it, or
// if the role allows what none of them has needed: such a right is one too many.
func AsRole(t testing.TB, config *rest.Config, namespace, manifest string) (*rest.Config, func()) {
	t.Helper()
	role := readRole(t, manifest)
	user := "system:serviceaccount:" + namespace + ":" + role.Name
	rbac := kubernetes.NewForConfigOrDie(config).RbacV1()
	if _, err := rbac.Roles(namespace).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		Rules:      role.Rules,
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := rbac.RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	var mu sync.Mutex
	used := map[string]bool{}
	var refused []string
	config = AsUser(config, user)
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := transport.RoundTrip(request)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			// Whether the namespace is there, every chapter asks, and takes a refusal for a yes.
			case response.StatusCode == http.StatusForbidden && request.URL.Path != "/api/v1/namespaces/"+namespace:
				refused = append(refused, request.Method+" "+request.URL.Path)
			case response.StatusCode < 300:
				for _, right := range rightsFor(request, response.StatusCode) {
					used[right] = true
				}
			}
			return response, nil
		})
	})

	return config, func() {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		allowed := map[string]bool{}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					allowed[verb+" "+resource] = true
				}
			}
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(allowed)), slices.Sorted(maps.Keys(used))); diff != "" {
			t.Errorf("rights (-in %s +used):\n%s", manifest, diff)
		}
		if len(refused) > 0 {
			t.Errorf("refused: %q", refused)
		}
	}
}

// readRole returns the ClusterRole of a manifest.
func readRole(t testing.TB, manifest string) (role rbacv1.ClusterRole) {
	t.Helper()
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); role.Kind != "ClusterRole"; {
		role = rbacv1.ClusterRole{}
		if err := decoder.Decode(&role); err != nil {
			t.Fatalf("no ClusterRole in %s: %v", manifest, err)
		}
	}
	return role
}

// rightsFor returns which rights a request to a namespace's resource has needed, such as "patch deployments".
func rightsFor(request *http.Request, code int) (rights []string) {
	_, path, _ := strings.Cut(request.URL.Path, "/namespaces/")
	parts := strings.Split(path, "/")
	if len(parts) < 2 {
		return nil // the namespace itself, or not in one
	}
	resource := parts[1]
	if len(parts) > 3 {
		resource += "/" + parts[3]
	}
	switch {
	case request.URL.Query().Get("watch") != "":
		// An informer asks for its list by a watch, if the server has streaming lists. It lists where it hasn't.
		return []string{"list " + resource, "watch " + resource}
	case request.Method == http.MethodGet && len(parts) == 2:
		return []string{"list " + resource}
	case request.Method == http.MethodPatch && code == http.StatusCreated:
		return []string{"patch " + resource, "create " + resource}
	}
	return []string{map[string]string{
		http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[request.Method] + " " + resource}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
