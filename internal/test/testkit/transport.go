package testkit

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// RoundTripper is a function that answers requests: an [http.RoundTripper].
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f RoundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Intercept returns a copy of config whose requests go through f, which sends them on with next.RoundTrip.
func Intercept(config *rest.Config, f func(request *http.Request, next http.RoundTripper) (*http.Response, error)) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return RoundTripper(func(request *http.Request) (*http.Response, error) { return f(request, next) })
	})
	return config
}

// IgnoreShards returns a copy of config whose server sends all objects, as one does whose feature gate ShardedListAndWatch is off. A
// watch that does not ask for a shard is an error.
func IgnoreShards(t testing.TB, config *rest.Config) *rest.Config {
	return Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		query := request.URL.Query()
		if query.Has("watch") && !query.Has("shardSelector") {
			t.Errorf("a watch of everything: %s", request.URL)
		}
		query.Del("shardSelector")
		request = request.Clone(request.Context())
		request.URL.RawQuery = query.Encode()
		return next.RoundTrip(request)
	})
}

// Kubeconfig writes a kubeconfig for a server at that URL, without credentials, and returns its path. Its context has the
// name "test".
func Kubeconfig(t testing.TB, url string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: url}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test"}
	config.CurrentContext = "test"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// Writes returns a copy of config, and a function that returns the writes sent with it since the function was last called:
// method, resource and name, as in "PUT pods/a".
func Writes(config *rest.Config) (*rest.Config, func() []string) {
	var mu sync.Mutex
	var writes []string
	config = Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method != http.MethodGet {
			_, path, _ := strings.Cut(request.URL.Path, "/namespaces/")
			_, object, _ := strings.Cut(path, "/")
			mu.Lock()
			writes = append(writes, request.Method+" "+object)
			mu.Unlock()
		}
		return next.RoundTrip(request)
	})
	return config, func() []string {
		mu.Lock()
		defer mu.Unlock()
		defer func() { writes = nil }()
		return writes
	}
}
