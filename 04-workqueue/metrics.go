package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/workqueue" // its init gives every queue with a name metrics
)

// queueName is the queue's label in the metrics.
const queueName = "pods"

// serveMetrics answers Prometheus until the returned function is called.
func serveMetrics(listener net.Listener) (stop func() error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", legacyregistry.Handler())
	server := http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener)
	return server.Close
}

// metricsSummary returns the queue's metrics in a line.
func metricsSummary(queue string) string {
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		return err.Error()
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			if len(metric.Label) != 1 || metric.Label[0].GetName() != "name" || metric.Label[0].GetValue() != queue {
				continue
			}
			values[family.GetName()] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			if h := metric.GetHistogram(); h.GetSampleCount() > 0 {
				values[family.GetName()] = h.GetSampleSum() / float64(h.GetSampleCount())
			}
		}
	}
	average := func(name string) time.Duration {
		return time.Duration(values[name] * float64(time.Second)).Round(time.Microsecond)
	}
	return fmt.Sprintf("%.0f adds, %.0f retries, %.0f queued; a key waited %s and was in work for %s, on average",
		values["workqueue_adds_total"], values["workqueue_retries_total"], values["workqueue_depth"],
		average("workqueue_queue_duration_seconds"), average("workqueue_work_duration_seconds"))
}
