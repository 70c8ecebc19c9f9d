package main

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// BenchmarkProxy sends a request to the server, the same one through the proxy, and so on.
func BenchmarkProxy(b *testing.B) {
	config := testcluster.Config(b)
	testcluster.InstallDatabaseManagers(b, config)
	config.QPS = -1
	o := options{
		rbac: filepath.Join(testcluster.Root(b), rbac), resource: testkit.Must(readResource(resourceFile, config))(b), timeout: time.Minute,
	}
	w, err := newWorld(b.Context(), o, config, b.Logf)
	if err != nil {
		b.Fatal(err)
	}
	defer w.close()
	proxy := &Proxy{tap: &w.tap, namespace: w.namespace}
	if err := proxy.start(config, w.gates); err != nil {
		b.Fatal(err)
	}
	defer proxy.stop()
	direct := rest.AnonymousClientConfig(config)
	direct.BearerToken = w.token
	through := rest.CopyConfig(direct)
	through.Host, through.TLSClientConfig = proxy.server.URL, rest.TLSClientConfig{CAData: proxy.certificate()}
	clients := []*kubernetes.Clientset{kubernetes.NewForConfigOrDie(direct), kubernetes.NewForConfigOrDie(through)}
	times := make([][]time.Duration, len(clients))
	for b.Loop() {
		for i, client := range clients {
			start := time.Now()
			if _, err := client.CoreV1().Services(w.namespace).List(b.Context(), metav1.ListOptions{}); err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], time.Since(start))
		}
	}
	for i, name := range []string{"direct", "proxy"} {
		slices.Sort(times[i])
		n := len(times[i])
		b.ReportMetric(float64(times[i][n/2].Microseconds()), name+"-p50-µs")
		b.ReportMetric(float64(times[i][n*99/100].Microseconds()), name+"-p99-µs")
	}
}
