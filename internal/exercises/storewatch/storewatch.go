// Package storewatch sees an answer that changes an object of the store only for a moment, and changes it back before it returns.
// Everything else that reads the store sees this moment.
package storewatch

import (
	"net/http"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testkit"
)

// Unchanged returns a copy of config that compares the objects while each request is on its way, and a function that rejects the
// answer if one of them was another then, or is another now.
func Unchanged(t *grade.T, config *rest.Config, objects ...runtime.Object) (_ *rest.Config, check func()) {
	var copies, all []any
	for _, object := range objects {
		copies, all = append(copies, object.DeepCopyObject()), append(all, object)
	}
	unchanged := t.Unchanged(all...)
	var mu sync.Mutex // an answer may send two requests at once
	during := ""      // the first request during which one was another
	config = testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		mu.Lock()
		if during == "" && !reflect.DeepEqual(all, copies) {
			_, resource, _ := strings.Cut(request.URL.Path, "/namespaces/")
			_, resource, _ = strings.Cut(resource, "/")
			during = request.Method + " of " + resource
		}
		mu.Unlock()
		return next.RoundTrip(request)
	})
	return config, func() {
		t.Helper()
		unchanged()
		mu.Lock()
		defer mu.Unlock()
		if during != "" {
			t.Reject("objects of a store stay as they are, also for a moment: others read them at the same time",
				"one is another while you send "+during+", and is changed back after that",
				"DeepCopy before you change an object that a lister, a handler or a caller gave you")
		}
	}
}
