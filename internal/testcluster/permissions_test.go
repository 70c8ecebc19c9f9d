package testcluster

import (
	"net/http"
	"slices"
	"testing"
)

func TestPermissionsFor(t *testing.T) {
	const namespace = "https://server/apis/apps/v1/namespaces/x"
	for name, test := range map[string]struct {
		method, url string
		code        int
		want        []string
	}{
		"a streaming list is a watch":  {http.MethodGet, namespace + "/deployments?sendInitialEvents=true&watch=true", 200, []string{"watch deployments"}},
		"a list":                       {http.MethodGet, namespace + "/deployments?limit=500", 200, []string{"list deployments"}},
		"one object":                   {http.MethodGet, namespace + "/deployments/db", 200, []string{"get deployments"}},
		"a subresource":                {http.MethodPatch, namespace + "/deployments/db/status", 200, []string{"patch deployments/status"}},
		"an apply":                     {http.MethodPatch, namespace + "/deployments/db", 200, []string{"patch deployments"}},
		"an apply that creates":        {http.MethodPatch, namespace + "/deployments/db", 201, []string{"patch deployments", "create deployments"}},
		"a deletion":                   {http.MethodDelete, namespace + "/deployments/db", 200, []string{"delete deployments"}},
		"the namespace itself":         {http.MethodGet, "https://server/api/v1/namespaces/x", 200, nil},
		"what belongs to no namespace": {http.MethodGet, "https://server/version", 200, nil},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequest(test.method, test.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := permissionsFor(request, test.code); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
