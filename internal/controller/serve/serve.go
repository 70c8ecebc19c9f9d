// Package serve answers Prometheus, and Kubernetes' probes.
//
// A program adds the flags of a [Server], and starts it when it has something to serve. Importing the package is what
// makes client-go measure requests, and each workqueue that has a name.
package serve

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // its init measures requests
	_ "k8s.io/component-base/metrics/prometheus/workqueue"  // its init measures queues

	"example.com/client-go-workbook/internal/program"
)

// Server serves /metrics, /healthz and /readyz.
type Server struct {
	Listener net.Listener // nil: serve nothing
	Shard    string       // of the objects that this process has; empty: all
}

// shardInfo is always 1. A query joins it with the others: ... * on (instance) group_left(shard) workbook_shard.
var shardInfo = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Name: "workbook_shard",
	Help: "1, with the shard of the objects that this process has",
}, []string{"shard"})

func init() { legacyregistry.MustRegister(shardInfo) }

// AddFlags adds --listen.
func (s *Server) AddFlags(flags *pflag.FlagSet) {
	flags.Func("listen", "serve /metrics, /healthz and /readyz at this address, such as 127.0.0.1:8080", func(value string) (err error) {
		// Already here: if the port is taken, the program must end before it has begun with anything.
		s.Listener, err = net.Listen("tcp", value)
		return err
	})
}

// Start serves until the returned function is called. An error of healthz says that a restart of the process would help;
// nil stands for a check that never fails. /readyz fails until all of hasSynced are done.
func (s *Server) Start(out *program.Printer, healthz func(*http.Request) error, hasSynced ...cache.DoneChecker) (stop func()) {
	if s.Listener == nil {
		return func() {}
	}
	if s.Shard != "" {
		shardInfo.WithLabelValues(s.Shard).Set(1)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", legacyregistry.Handler())
	mux.Handle("GET /healthz", probe(healthz))
	mux.Handle("GET /readyz", probe(func(*http.Request) error {
		for _, checker := range hasSynced {
			if !cache.IsDone(checker) {
				return errors.New("the first lists are not there yet")
			}
		}
		return nil
	}))
	server := http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(s.Listener) // always an error, which says that it is closed
	}()
	out.Line("LISTENING", "http://%s", s.Listener.Addr())
	return func() {
		_ = server.Close()
		<-ended
	}
}

func probe(check func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if check != nil {
			if err := check(r); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		fmt.Fprintln(w, "ok")
	}
}
