package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/netfault"
)

// Proxy is the API server for one controller. It hands all requests on, and what comes back at once, so that watches work: with
// TLS and HTTP/2 on both sides, in whatever format the two agree on. The requests keep their tokens: the server knows who asks.
//
// A controller that watches all namespaces sees only the world's own: the proxy puts the namespace into the request. So the suite
// leaves alone what else is on the cluster.
type Proxy struct {
	who       string
	namespace string
	resources map[string]bool // whose requests for all namespaces become requests for one
	tap       *Tap
	kill      func()
	reverse   *httputil.ReverseProxy
	server    *httptest.Server

	connections netfault.Cutter // of the controller
	noBookmarks atomic.Bool     // the server does not get to know that the controller wants bookmarks
	writes      sync.RWMutex    // read-locked by each write: who locks it holds them back
}

// start starts the proxy in front of the server of config, behind gates. Its address is in p.server.
func (p *Proxy) start(config *rest.Config, gates map[string]*netfault.Gate) error {
	config = rest.AnonymousClientConfig(config)
	for _, gate := range gates {
		config = gate.Wrap(config)
	}
	config.DisableCompression = true // or the transport would unpack what the controller has asked for packed
	transport, err := rest.TransportFor(config)
	if err != nil {
		return err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return err
	}
	quiet := log.New(io.Discard, "", 0) // connections of killed controllers end in the middle
	p.reverse = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // each event of a watch at once
		ErrorLog:      quiet,
	}
	p.server = httptest.NewUnstartedServer(p)
	accept := p.server.Listener.Accept
	p.connections.Silent, p.connections.Dialer = true, func(context.Context, string, string) (net.Conn, error) { return accept() }
	p.server.Listener = &listener{p.server.Listener, &p.connections}
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = quiet
	p.server.StartTLS()
	return nil
}

// silence lets all connections be silent, as after a NAT has forgotten them. New ones work.
func (p *Proxy) silence() {
	p.connections.Cut()
	p.connections.Restore()
}

// listener hands out connections that can be silenced.
type listener struct {
	net.Listener
	cutter *netfault.Cutter
}

// Accept waits for the next connection.
func (l *listener) Accept() (net.Conn, error) {
	return l.cutter.Dial(context.Background(), l.Addr().Network(), "")
}

// certificate returns the one that a client has to trust.
func (p *Proxy) certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
}

// stop ends the proxy, and all connections that are still open.
func (p *Proxy) stop() {
	p.server.CloseClientConnections()
	p.server.Close()
}

// ServeHTTP handles one request of the controller.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := p.read(r)
	if query := r.URL.Query(); p.noBookmarks.Load() {
		if query.Has("sendInitialEvents") { // they end with a bookmark: such a server has no streaming lists
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		query.Del("allowWatchBookmarks")
		r.URL.RawQuery = query.Encode()
	}
	fault := p.tap.begin(request)
	if request.isWrite() {
		p.writes.RLock()
		defer p.writes.RUnlock()
	}
	answer := &answer{ResponseWriter: w}
	defer func() { p.tap.end(request, answer.code) }()
	if fault == nil {
		p.reverse.ServeHTTP(answer, r)
		return
	}
	if fault.Done {
		lost := httptest.NewRecorder()
		p.reverse.ServeHTTP(lost, r)
		answer.code = lost.Code
	}
	if fault.Kill {
		p.kill()
	}
	if fault.Kill || fault.Code == 0 {
		panic(http.ErrAbortHandler) // net/http closes the stream, and answers nothing
	}
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: int32(fault.Code), Reason: reasons[fault.Code], Message: "the conformance suite answers in the server's place",
	}
	w.Header().Set("Content-Type", "application/json")
	switch fault.Code {
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	case http.StatusForbidden: // in the API server's words
		resource, _, _ := strings.Cut(request.Resource, "/")
		resource = strings.TrimSuffix(resource+"."+request.Group, ".")
		status.Message = fmt.Sprintf("%s %q is forbidden: User \"controller\" cannot %s resource %q in API group %q",
			resource, request.Name, request.Verb, request.Resource, request.Group)
	}
	w.WriteHeader(fault.Code)
	_ = json.NewEncoder(w).Encode(status) // fails only if the controller is gone
}

var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
}

// read says what a request is. Paths are /api/v1/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE, with /apis/GROUP/VERSION for all
// groups but the first, and without the namespace for all of them.
func (p *Proxy) read(r *http.Request) *Request {
	request := &Request{Who: p.who, Verb: verbs[r.Method]}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	prefix := map[string]int{"api": 2, "apis": 3}[parts[0]]
	if prefix == 0 || len(parts) <= prefix {
		request.Resource, request.Verb = r.URL.Path, "get" // /version, /apis and the like
		return request
	}
	if prefix == 3 {
		request.Group = parts[1]
	}
	rest := parts[prefix:]
	if len(rest) == 1 && p.resources[rest[0]] {
		r.URL.Path = "/" + strings.Join(append(parts[:prefix:prefix], "namespaces", p.namespace, rest[0]), "/")
	}
	if len(rest) > 2 && rest[0] == "namespaces" {
		rest = rest[2:]
	}
	request.Resource = rest[0]
	switch {
	case r.URL.Query().Has("watch"):
		request.Verb = "watch"
	case r.Method == http.MethodGet && len(rest) == 1:
		request.Verb = "list"
	case r.Method == http.MethodPost:
		request.Name = nameInBody(r)
	}
	if len(rest) > 1 {
		request.Name = rest[1]
	}
	if len(rest) > 2 {
		request.Resource += "/" + rest[2]
	}
	return request
}

var verbs = map[string]string{"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

// nameInBody returns the name of an object that is to be created, which is not in the path. The request can still be read.
func nameInBody(r *http.Request) string {
	if r.Body == nil {
		return ""
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return "" // the server will find out as well
	}
	var partial metav1.PartialObjectMetadata
	if object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil { // JSON or protobuf
		if metadata, err := apimeta.Accessor(object); err == nil {
			return metadata.GetName() + metadata.GetGenerateName()
		}
	}
	_ = json.Unmarshal(body, &partial) // of a kind that client-go does not know
	return partial.Name + partial.GenerateName
}

// answer is an http.ResponseWriter that keeps the code.
type answer struct {
	http.ResponseWriter
	code int
}

// WriteHeader keeps the code, and writes it.
func (a *answer) WriteHeader(code int) {
	a.code = code
	a.ResponseWriter.WriteHeader(code)
}

// Unwrap lets net/http find what the writer beneath can do, such as to flush.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
