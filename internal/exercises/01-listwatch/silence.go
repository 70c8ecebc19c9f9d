package listwatch

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/follow"
)

type silenceAnswer = func(config *rest.Config, silence time.Duration) (typedcorev1.PodsGetter, error)

// Silence grades the answers to "Notice a silent connection".
var Silence = grade.Exercise[silenceAnswer]{
	Grade: func(t *grade.T, newPods silenceAnswer) {
		t.Bubble(func(t *grade.T) { gradeNewPods(t, newPods) })
		gradeConnections(t, newPods)
	},
}

const lookSilence = `"A silent connection" in the chapter's README`

func gradeNewPods(t *grade.T, newPods silenceAnswer) {
	gradeSilence(t, newPods, time.Duration(20+2*t.Rand.IntN(5))*time.Second)
	gradeSilence(t, newPods, 10*time.Second) // another client, and the shortest time
	gradeTimeout(t, newPods)
	gradeBadConfig(t, newPods)
}

func gradeSilence(t *grade.T, newPods silenceAnswer, silence time.Duration) {
	s := fakeserver.Start(t)
	config := s.Config()
	dialed, wrapped, asked := false, false, false
	config.Proxy = func(*http.Request) (*url.URL, error) {
		asked = true
		return nil, nil // none for this request
	}
	dial := config.Dial
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed = true
		conn, err := dial(ctx, network, address)
		return &counted{Conn: conn, t: t}, err
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		wrapped = true
		return next
	})
	client, err := newPods(config, silence)
	switch {
	case err != nil:
		t.Reject("a client", "the error "+err.Error(), lookSilence)
	case client == nil:
		t.Reject("a client", "nil, and no error", "what NewPods returns")
	case !wrapped:
		t.Reject("a client that has all of config: its Wrap, a token", "a client without them",
			"rest.HTTPWrappersForConfig, if the transport is your own")
	}
	pods := client.Pods("default")
	begin := time.Now()
	w, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: s.Version()})
	switch {
	case !dialed:
		t.Reject("a client that uses config.Dial", "it has connections of its own", "Dial in rest.Config")
	case !asked:
		t.Reject("a client that asks config.Proxy", "it has not asked", "Proxy in rest.Config")
	case err != nil:
		t.Reject("a watch that opens", "the error "+err.Error(), lookSilence)
	}
	defer w.Stop()
	select {
	case <-w.ResultChan():
		t.Reject("a watch that stays open while nothing happens",
			fmt.Sprintf("it ended after %s, although the connection works", time.Since(begin)), lookSilence)
	case <-time.After(3*time.Hour + time.Second/2): // not while a ping is on its way: those leave at whole seconds
	}

	s.Create(follow.Pod("last")) // so that the last packet comes right before the silence
	<-w.ResultChan()
	s.Silence()
	silent := time.Now()
	expected := fmt.Sprintf("a watch that ends within %s after the last packet", silence)
	select {
	case <-w.ResultChan():
	case <-time.After(time.Hour):
		t.Reject(expected, "it was still open after an hour", lookSilence)
	}
	if took := time.Since(silent); took > silence {
		t.Reject(expected, fmt.Sprintf("it ended after %s", took), lookSilence)
	}
	ctx, cancel := context.WithTimeout(t.Context(), silence)
	defer cancel()
	if _, err := pods.List(ctx, metav1.ListOptions{}); err != nil {
		t.Reject("a list on a new connection", "the error "+err.Error(), lookSilence)
	}
}

// counted is a connection whose packets are counted. In a bubble no time passes while somebody sends one after the other.
type counted struct {
	net.Conn
	t      *grade.T
	last   time.Time
	atOnce int // how many packets at this time
}

func (c *counted) Write(p []byte) (int, error) {
	if now := time.Now(); now != c.last {
		c.last, c.atOnce = now, 0
	}
	if c.atOnce++; c.atOnce > 1000 {
		c.t.Reject("a ping after some seconds without a packet", "pings without end, one after the other",
			"a time that is negative or too small, for some silence from 10s on")
	}
	return c.Conn.Write(p)
}

// gradeTimeout sends a request that is not answered, with a config that limits its time.
func gradeTimeout(t *grade.T, newPods silenceAnswer) {
	t.Doing("config.Timeout is 3 seconds, and a list gets no answer")
	config := fakeserver.Start(t).Config()
	config.Timeout = 3 * time.Second
	config.Wrap(func(http.RoundTripper) http.RoundTripper { return noAnswer{} })
	pods, err := newPods(config, 10*time.Second)
	if err != nil {
		t.Reject("a client", "the error "+err.Error(), lookSilence)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	begin := time.Now()
	if _, err := pods.Pods("default").List(ctx, metav1.ListOptions{}); err == nil || time.Since(begin) > config.Timeout {
		t.Reject("an error after config.Timeout", fmt.Sprintf("it ended after %s", time.Since(begin)),
			"rest.HTTPClientFor: what a http.Client of your own needs besides a transport")
	}
}

type noAnswer struct{}

func (noAnswer) RoundTrip(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

// gradeBadConfig tries configurations of which no client can be made.
func gradeBadConfig(t *grade.T, newPods silenceAnswer) {
	badCertificate := &rest.Config{Host: "https://server", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("no certificate")}}
	twoIdentities := &rest.Config{Host: "https://server", Username: "somebody", Password: "secret", BearerToken: "token"}
	for what, config := range map[string]*rest.Config{"a bad certificate": badCertificate, "both a user and a token": twoIdentities} {
		if _, err := newPods(config, 10*time.Second); err == nil {
			t.Reject("an error, because config has "+what, "no error", "the errors of the functions that NewPods calls")
		}
	}
}

// gradeConnections asks for two clients of one config, which has no Dial. Their times differ, so they can't share a connection.
func gradeConnections(t *grade.T, newPods silenceAnswer) {
	t.Doing("NewPods is called twice with one config")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind": "PodList", "apiVersion": "v1"}`)
	}))
	opened := make(chan struct{}, 100)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened <- struct{}{}
		}
	}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
	before := rest.CopyConfig(config)
	for _, silence := range []time.Duration{10 * time.Second, 20 * time.Second} {
		pods, err := newPods(config, silence)
		if err == nil {
			_, err = pods.Pods("default").List(t.Context(), metav1.ListOptions{})
		}
		if err != nil {
			t.Reject("two clients that list pods", "the error "+err.Error(), lookSilence)
		}
	}
	if connections := len(opened); connections < 2 {
		t.Reject("two connections: each client has its own silence", "both clients use one: the second silence has no effect",
			"which clients share a transport: transport/cache.go of client-go")
	}
	if !reflect.DeepEqual(config, before) { // its functions are nil, and must still be
		t.Reject("the caller's config as it was", "another one: NewPods has changed it", "rest.CopyConfig")
	}
}
