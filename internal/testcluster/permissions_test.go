package testcluster

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestPermissionsFor(t *testing.T) {
	for name, test := range map[string]struct {
		request string
		code    int
		want    []string
	}{
		"a streaming list is a watch": {"GET x/deployments?sendInitialEvents=true&watch=true", 200, []string{"watch deployments"}},
		"a list":                      {"GET x/deployments?limit=500", 200, []string{"list deployments"}},
		"one object":                  {"GET x/deployments/db", 200, []string{"get deployments"}},
		"a subresource":               {"PATCH x/deployments/db/status", 200, []string{"patch deployments/status"}},
		"an apply":                    {"PATCH x/deployments/db", 200, []string{"patch deployments"}},
		"an apply that creates":       {"PATCH x/deployments/db", 201, []string{"patch deployments", "create deployments"}},
		"a deletion":                  {"DELETE x/deployments/db", 200, []string{"delete deployments"}},
		"the namespace itself":        {"GET x", 200, nil},
	} {
		t.Run(name, func(t *testing.T) {
			method, path, _ := strings.Cut(test.request, " ")
			request, err := http.NewRequest(method, "https://server/apis/apps/v1/namespaces/"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := permissionsFor(request, test.code); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
