package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

func TestKubectlErrorIsTheLineThatSaysWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct{ stderr, want string }{
		"a conflict": {
			`error: Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the ` + "`--force-conflicts`" + ` flag.
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
`, `error: Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas`,
		},
		"after logs": {
			`E1126 22:01:02.123456   12345 memcache.go:265] "Unhandled Error" err="couldn't get current server API group list"
The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?
`, "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?",
		},
		"after a warning": {
			"Warning: unknown field \"spec.x\"\nError from server (Forbidden): no\n", "Error from server (Forbidden): no",
		},
		"a list": {
			"The Deployment \"web\" is invalid: \n* spec.selector: immutable\n* spec.replicas: negative\n",
			`The Deployment "web" is invalid: * spec.selector: immutable`,
		},
		"a patch": {
			"Error from server (Forbidden): error when applying patch:\n{\"spec\":1}\nto:\nResource: \"x\"\nfor: \"a.yaml\": exceeded quota\n",
			`for: "a.yaml": exceeded quota`,
		},
		"nothing": {"", ""},
	} {
		if got := kubectlError(test.stderr); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// The server says by which name it has a kind: there is no rule that makes one of the other.
func TestAllObjectsOfAManifest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/apis/networking.k8s.io/v1":
			fmt.Fprint(w, `{"resources": [{"name": "networkpolicies/status", "kind": "NetworkPolicy", "namespaced": true},
				{"name": "networkpolicies", "kind": "NetworkPolicy", "namespaced": true}, {"name": "ingressclasses", "kind": "IngressClass"}]}`)
		case "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/deny":
		case "/apis/networking.k8s.io/v1/ingressclasses/web":
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	a := &api{Server: server.URL, client: server.Client()}
	for manifest, want := range map[string]bool{
		"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: deny}\n":                  true,
		"apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: web}\n":                    true,
		"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: deny, namespace: shop}\n": false,
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: deny}\n":                        false,
		"apiVersion: coolops.cn/v1alpha1\nkind: DatabaseManager\nmetadata: {name: mysql}\n":                false,
	} {
		file := filepath.Join(t.TempDir(), "manifest.yaml")
		if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := a.hasAll(t.Context(), file); got != want {
			t.Errorf("%q: got %t, want %t", manifest, got, want)
		}
	}
}
