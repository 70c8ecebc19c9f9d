// Package isolatedgroup gives each run of an exercise a copy of the group coolops.cn for itself alone. [Start] and
// [Config] are the ways in.
//
// Custom resources belong to the whole cluster: a controller that a reader runs meanwhile, or a second run of the
// exercise, would work on the same ones. So the server gets another group, and the exercise does not notice.
package isolatedgroup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

const (
	group  = "coolops.cn"
	suffix = ".exercise." + group // of the groups on the server
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Config returns a copy of config in which the group coolops.cn has another name on the server: the name is replaced in each
// request, and replaced back in each answer. Clients speak JSON, in which a name can have any length. When the
// test ends, the CRDs of that group and their objects are removed; so are the CRDs of processes that were killed before.
func Config(t testing.TB, config *rest.Config) *rest.Config {
	t.Helper()
	unique := strings.ToLower(rand.Text()[:8])
	own := unique + suffix
	copied := testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		request = request.Clone(request.Context())
		request.URL.Path = strings.ReplaceAll(request.URL.Path, group, own)
		request.URL.RawQuery = strings.ReplaceAll(request.URL.RawQuery, group, own)
		if request.Body != nil {
			body, err := io.ReadAll(request.Body)
			request.Body.Close()
			if err != nil {
				return nil, err
			}
			body = bytes.ReplaceAll(body, []byte(group), []byte(own))
			// A short name is not in a group: with the same one, kubectl would warn the reader.
			body = bytes.ReplaceAll(body, []byte(`"dbm"`), []byte(`"dbm-`+unique+`"`))
			request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		}
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		response.Body, response.ContentLength = &replacer{Closer: response.Body, lines: bufio.NewReader(response.Body), own: own}, -1
		response.Header.Del("Content-Length")
		return response, nil
	})
	copied.ContentType, copied.AcceptContentTypes = "application/json", "application/json"

	t.Cleanup(func() {
		// Not the test's context: it is over by now.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := remove(ctx, config, own); err != nil {
			t.Errorf("removing the CRDs of %s: %v", own, err)
		}
	})
	return copied
}

// Start gives an exercise chapter 6's CRD in a group of its own, and a namespace.
func Start(t testing.TB) (config *rest.Config, namespace string) {
	t.Helper()
	config = Config(t, testcluster.Config(t))
	testcluster.InstallDatabaseManagers(t, config)
	return config, testcluster.Namespace(t, config)
}

// replacer is the body of an answer. A watch has one event in each line, and must not wait for the next one.
type replacer struct {
	io.Closer
	lines *bufio.Reader
	own   string
	rest  []byte // of the line that is being read
	err   error
}

func (r *replacer) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		r.rest, r.err = r.lines.ReadBytes('\n')
		r.rest = bytes.ReplaceAll(r.rest, []byte(r.own), []byte(group))
	}
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// remove removes the CRDs of a group, and all that are older than an hour. A finalizer of an object would keep its CRD, too.
// What another process has removed meanwhile is no error.
func remove(ctx context.Context, config *rest.Config, own string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	all, err := client.Resource(definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, crd := range all.Items {
		crdGroup, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		old := strings.HasSuffix(crdGroup, suffix) && time.Since(crd.GetCreationTimestamp().Time) > time.Hour
		if crdGroup != own && !old {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
		version, _ := versions[0].(map[string]any)["name"].(string)
		objects := client.Resource(schema.GroupVersionResource{Group: crdGroup, Version: version, Resource: plural})
		list, err := objects.List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		for _, object := range list.Items {
			if len(object.GetFinalizers()) == 0 {
				continue
			}
			_, err := objects.Namespace(object.GetNamespace()).Patch(ctx, object.GetName(), types.MergePatchType,
				[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		err = client.Resource(definitions).Delete(ctx, crd.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
