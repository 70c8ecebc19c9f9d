package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/requestlog"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// get returns the status and the body of an answer.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	response := testkit.Must(http.Get(url))(t)
	defer response.Body.Close()
	return response.StatusCode, string(testkit.Must(io.ReadAll(response.Body))(t))
}

// metric returns the value of a metric of this chapter's queue: of all queues in the process. A test of a controller in this
// process that looks at it cannot be parallel.
func metric(t *testing.T, url, name string) int {
	t.Helper()
	return testkit.Metric(t, url, fmt.Sprintf("%s{name=%q}", name, queueName))
}

func TestSyncWithNothingToDoMakesNoRequest(t *testing.T) {
	config := rest.CopyConfig(testcluster.Config(t))
	e := newEnv(t, config)
	const objects = 50
	for i := range objects - 2 {
		e.createConfigMap(fmt.Sprintf("c%d", i), "deploymentName", fmt.Sprintf("d%d", i), "replicas", "0")
	}
	// These stay as they are as well, and are reported once.
	e.createConfigMap("invalid", "deploymentName", "invalid", "replicas", "two")
	e.createOthersDeployment("taken")
	e.createConfigMap("conflict", "deploymentName", "taken")
	var log requestlog.Log
	config.Wrap(log.Wrap)
	listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	url := "http://" + listener.Addr().String()
	r := start(t, config, e.namespace, func(o *options) { o.resync, o.server.Listener = time.Second, listener })
	testkit.Await(t, "all Deployments", func() bool { return len(r.out.Lines("CREATED")) == objects-2 })
	// The events about it are written after it, one after the other, however long the server takes for one. No other request
	// is due when the server has them all.
	testkit.Await(t, "an event about each ConfigMap", func() bool {
		about := metav1.ListOptions{FieldSelector: "involvedObject.kind=ConfigMap"}
		return len(testkit.Must(e.client.CoreV1().Events(e.namespace).List(t.Context(), about))(t).Items) == objects
	})
	before := log.Requests()
	adds := metric(t, url, "workqueue_adds_total")
	testkit.Await(t, "three resyncs", func() bool { return metric(t, url, "workqueue_adds_total") >= adds+3*objects })
	if requests := log.Requests() - before; requests != 0 {
		t.Errorf("%d requests in three resyncs of %d objects, want none", requests, objects)
	}
	if problems := len(r.out.Lines("STUCK")); problems != 2 {
		t.Errorf("%d problems reported, want two, one for each", problems)
	}
}

func TestEndpoints(t *testing.T) {
	config := testcluster.Config(t)
	e := newEnv(t, config)
	lists := make(chan struct{})
	// The lists wait until the test has asked for /readyz.
	slow := interceptor(func(request *http.Request) (*http.Response, error) {
		if request.URL.Query().Get("watch") != "" {
			select {
			case <-lists:
			case <-request.Context().Done():
			}
		}
		return nil, nil
	}).wrap(config)
	listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	url := "http://" + listener.Addr().String()
	r := start(t, slow, e.namespace, func(o *options) { o.server.Listener = listener })
	awaitLine(t, r.out, "LISTENING", url)
	if code, body := get(t, url+"/healthz"); code != http.StatusOK {
		t.Errorf("/healthz: %d %s", code, body)
	}
	if code, body := get(t, url+"/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz before the lists: %d %s", code, body)
	}
	close(lists)
	testkit.Await(t, "/readyz", func() bool {
		code, _ := get(t, url+"/readyz")
		return code == http.StatusOK
	})
	if depth := metric(t, url, "workqueue_depth"); depth != 0 {
		t.Errorf("workqueue_depth %d", depth)
	}
	if code, _ := get(t, url+"/nonsense"); code != http.StatusNotFound {
		t.Errorf("/nonsense: %d", code)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := http.Get(url + "/healthz"); err == nil {
		t.Error("the port is still open")
	}
}
