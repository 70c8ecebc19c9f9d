package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // its init counts requests, and how long a limit holds them back
	_ "k8s.io/component-base/metrics/prometheus/workqueue"  // its init gives every queue with a name metrics
)

// queueName is the queue's label in the metrics.
const queueName = "databases"

// serve answers Prometheus and Kubernetes' probes until the returned function is called.
//
// alive tells whether it would help to end this process and start it anew, ready whether it can do its work.
func serve(listener net.Listener, alive func(*http.Request) error, ready func() bool) (stop func() error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", legacyregistry.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if err := alive(r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "the first lists are not there yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	server := http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener)
	return server.Close
}
