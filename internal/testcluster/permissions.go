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
	typedrbacv1 "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/testkit"
)

// AsRole returns a copy of config for a user who has, in that namespace, the permissions of the ClusterRole in a manifest,
// and no others. The function that it returns fails the test if the server has denied a request made with this config,
// or if the ClusterRole has a permission that none of these requests has used: such a permission is not needed.
//
// The server authorizes each request by one verb. An informer that gets its list as the beginning of a watch uses watch
// alone, and list only on a server without streaming lists. So a test uses list in a second run of the controller,
// for which it switches client-go's feature WatchListClient off.
func AsRole(t testing.TB, config *rest.Config, namespace, manifest string) (*rest.Config, func()) {
	t.Helper()
	role := readRole(t, manifest)
	user := "system:serviceaccount:" + namespace + ":" + role.Name
	rbac := typedrbacv1.NewForConfigOrDie(config)
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
	var denied []string
	config = testkit.Intercept(AsUser(config, user), func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		// Every chapter checks that the namespace exists, and goes on if it has no permission to do so.
		case response.StatusCode == http.StatusForbidden && request.URL.Path != "/api/v1/namespaces/"+namespace:
			denied = append(denied, request.Method+" "+request.URL.Path)
		case response.StatusCode < 300:
			for _, permission := range permissionsFor(request, response.StatusCode) {
				used[permission] = true
			}
		}
		return response, nil
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
			t.Errorf("permissions (-in %s +used):\n%s", manifest, diff)
		}
		if len(denied) > 0 {
			t.Errorf("denied: %q", denied)
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

// permissionsFor returns the permissions that a request to a namespace's resource has used, such as "patch deployments".
// The code is the answer's.
func permissionsFor(request *http.Request, code int) []string {
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
		return []string{"watch " + resource}
	case request.Method == http.MethodGet && len(parts) == 2:
		return []string{"list " + resource}
	case request.Method == http.MethodPatch && code == http.StatusCreated: // an apply that has created the object
		return []string{"patch " + resource, "create " + resource}
	}
	return []string{map[string]string{
		http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[request.Method] + " " + resource}
}
