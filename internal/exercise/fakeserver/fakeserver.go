// Package fakeserver is an API server in memory that does what a test orders.
//
// It answers get, list, watch, create, update and delete of each resource that client-go's scheme knows, over HTTP/2 and
// TLS, in JSON. TestDialect sends the same requests to it and to a real API server, and compares the answers.
// There are no sockets, so a server and its clients can live in a bubble of testing/synctest.
//
// It has no more than that: no defaults, no validation, no admission, no patches, no finalizers, no controllers. It does
// not check whether a namespace exists. A test of such things needs the real API server: package testcluster.
package fakeserver

import (
	"cmp"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/netfault"
)

// Server is an API server without a cluster.
type Server struct {
	t       testing.TB
	config  *rest.Config
	client  *http.Client
	network netfault.Cutter
	kinds   map[schema.GroupVersionResource]schema.GroupVersionKind
	stopped chan struct{} // closed at the end, for the watches

	mu        sync.Mutex
	requests  []Request
	history   []change // all writes, from the oldest on
	version   int64    // of the last write
	next      int64    // of the next write, if it is greater than version
	compacted int64    // the oldest version from which a watch can begin
	watches   map[*openWatch]struct{}
}

// Request is a request that the server got.
type Request struct {
	Verb        string // get, list, watch, create, update, patch or delete
	Resource    string // as in the path: pods
	Namespace   string // empty for all namespaces, and for objects without one
	Name        string // empty for list, watch and create
	Subresource string // status, or empty
	Query       url.Values
}

// Object is a pointer to an API type, such as *corev1.Pod.
type Object interface {
	metav1.Object
	runtime.Object
}

// change is one write. No object is ever changed: each write has a copy of its own.
type change struct {
	version  int64
	resource schema.GroupVersionResource
	before   *unstructured.Unstructured // nil for a creation
	after    *unstructured.Unstructured // nil for a deletion
}

// Start starts a server without objects. It is stopped at the end of the test.
func Start(t testing.TB) *Server {
	t.Helper()
	network := newMemory()
	s := &Server{
		t:       t,
		kinds:   map[schema.GroupVersionResource]schema.GroupVersionKind{},
		stopped: make(chan struct{}),
		version: 1000 + rand.Int64N(9000), // a real cluster is not new, either
		watches: map[*openWatch]struct{}{},
		network: netfault.Cutter{Silent: true, Dialer: network.dial},
	}
	for kind := range scheme.Scheme.AllKnownTypes() {
		resource, _ := apimeta.UnsafeGuessKindToResource(kind)
		s.kinds[resource] = kind
	}
	server := &httptest.Server{Listener: network, EnableHTTP2: true, Config: &http.Server{Handler: s}}
	server.StartTLS()
	s.config = &rest.Config{
		Host:            server.URL,
		TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
		ContentConfig:   rest.ContentConfig{ContentType: runtime.ContentTypeJSON},
		QPS:             -1,
		Dial:            s.network.Dial,
	}
	var err error
	if s.client, err = rest.HTTPClientFor(s.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(s.stopped)
		s.client.CloseIdleConnections()
		server.CloseClientConnections() // Close alone would wait for the clients
		server.Close()
	})
	return s
}

// Config returns the configuration for a client of this server.
func (s *Server) Config() *rest.Config { return rest.CopyConfig(s.config) }

// Core returns a client for the resources of core/v1.
func (s *Server) Core() typedcorev1.CoreV1Interface {
	s.t.Helper()
	client, err := typedcorev1.NewForConfigAndClient(s.config, s.client)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// Create creates the object and returns its resourceVersion. An object of a namespace must name it.
func (s *Server) Create(object Object) string { return s.mustWrite(object, (*Server).create) }

// Update replaces the object of that name, whatever its resourceVersion is, and returns the new resourceVersion.
func (s *Server) Update(object Object) string {
	object = object.DeepCopyObject().(Object)
	object.SetResourceVersion("")
	return s.mustWrite(object, func(s *Server, resource schema.GroupVersionResource, sent *unstructured.Unstructured) (written, error) {
		return s.update(resource, sent, "all")
	})
}

// Delete deletes the object of that name and namespace, and returns the resourceVersion of the deletion.
func (s *Server) Delete(object Object) string {
	return s.mustWrite(object, func(s *Server, resource schema.GroupVersionResource, sent *unstructured.Unstructured) (written, error) {
		return s.delete(resource, sent.GetNamespace(), sent.GetName(), nil)
	})
}

// written is the object in its new version.
type written = *unstructured.Unstructured

// mustWrite writes an object of a Go type, which does not name its kind.
func (s *Server) mustWrite(
	object Object, write func(*Server, schema.GroupVersionResource, *unstructured.Unstructured) (written, error),
) string {
	s.t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		s.t.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		s.t.Fatal(err)
	}
	sent := &unstructured.Unstructured{Object: content}
	sent.SetGroupVersionKind(kinds[0])
	resource, _ := apimeta.UnsafeGuessKindToResource(kinds[0])
	s.mu.Lock()
	defer s.mu.Unlock()
	after, err := write(s, resource, sent)
	if err != nil {
		s.t.Fatal(err)
	}
	return after.GetResourceVersion()
}

// Version returns the resourceVersion of the last write: the one that a list has now.
func (s *Server) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strconv.FormatInt(s.version, 10)
}

// NextWrite says which version the next write gets, if the last one had a smaller version: as if others had written meanwhile.
func (s *Server) NextWrite(version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = version
}

// Compact forgets the history: the versions before the current one expire. Open watches are not affected.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacted = s.version
}

// Watches returns how many watches are open.
func (s *Server) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches)
}

// CloseWatches ends the open watches, as a server does after some time: without an error, after all events so far. It
// returns how many there were.
func (s *Server) CloseWatches() int {
	return s.eachWatch(func(w *openWatch) bool {
		w.ended = true
		delete(s.watches, w)
		return true
	})
}

// Bookmark sends a bookmark with the current version to the open watches that allow it, and returns how many those are.
func (s *Server) Bookmark() int {
	return s.eachWatch(func(w *openWatch) bool {
		if w.options.AllowWatchBookmarks {
			w.bookmark(s.version, nil)
		}
		return w.options.AllowWatchBookmarks
	})
}

// eachWatch returns for how many watches do returned true.
func (s *Server) eachWatch(do func(*openWatch) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := 0
	for w := range s.watches {
		if do(w) {
			done++
			w.notify()
		}
	}
	return done
}

// Silence lets the packets of all open connections disappear, in both directions, without an end or an error. Connections
// that are opened later work. It returns how many connections were open.
func (s *Server) Silence() int {
	silenced := s.network.Cut()
	s.network.Restore()
	return silenced
}

// Requests returns what was asked so far, in the order of arrival: all, or only the requests of these verbs.
func (s *Server) Requests(verbs ...string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(r Request) bool {
		return len(verbs) > 0 && !slices.Contains(verbs, r.Verb)
	})
}

// at returns the objects of a resource as they were at a version, in the order of their names.
func (s *Server) at(resource schema.GroupVersionResource, version int64) []*unstructured.Unstructured {
	objects := map[types.NamespacedName]*unstructured.Unstructured{}
	for _, c := range s.history {
		switch {
		case c.version > version || c.resource != resource:
		case c.after == nil:
			delete(objects, nameOf(c.before))
		default:
			objects[nameOf(c.after)] = c.after
		}
	}
	sorted := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		sorted = append(sorted, object)
	}
	slices.SortFunc(sorted, func(a, b *unstructured.Unstructured) int { return strings.Compare(keyOf(a), keyOf(b)) })
	return sorted
}

// find returns an object as it is now, or nil.
func (s *Server) find(resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	for _, c := range slices.Backward(s.history) {
		if c.resource == resource && nameOf(cmp.Or(c.after, c.before)) == (types.NamespacedName{Namespace: namespace, Name: name}) {
			return c.after
		}
	}
	return nil
}

// write stores an object under a new version and sends it to the watches. The numbers of a real cluster have gaps, too:
// other resources count with them.
func (s *Server) write(resource schema.GroupVersionResource, before, after *unstructured.Unstructured) written {
	if s.next > s.version {
		s.version = s.next
	} else {
		s.version += 1 + rand.Int64N(3)
	}
	c := change{version: s.version, resource: resource, before: before, after: after}
	if after != nil {
		after.SetResourceVersion(strconv.FormatInt(s.version, 10))
		if after.GetUID() == "" {
			after.SetUID(uuid.NewUUID())
			after.SetCreationTimestamp(metav1.Now())
		}
	}
	s.history = append(s.history, c)
	for w := range s.watches {
		w.send(c)
		w.notify()
	}
	if after == nil {
		after = withVersion(before, s.version)
	}
	return after
}

func withVersion(object *unstructured.Unstructured, version int64) *unstructured.Unstructured {
	object = object.DeepCopy()
	object.SetResourceVersion(strconv.FormatInt(version, 10))
	return object
}

func nameOf(object *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// keyOf returns the object's key in etcd without the resource: the order of a list.
func keyOf(object *unstructured.Unstructured) string {
	return strings.TrimPrefix(fmt.Sprintf("%s/%s", object.GetNamespace(), object.GetName()), "/")
}
