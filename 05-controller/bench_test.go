package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// BenchmarkQPS lets the controller create 200 Deployments, with client-go's default limit of 5 requests a second for the
// clients of each API group, and without a limit. It reports the time from the start until the last one is created.
func BenchmarkQPS(b *testing.B) {
	const objects = 200
	unlimited := testcluster.Config(b)
	limited := rest.CopyConfig(unlimited)
	limited.QPS, limited.Burst = 0, 0 // not set: rest.DefaultQPS and rest.DefaultBurst
	clientset := kubernetes.NewForConfigOrDie(unlimited)
	for name, config := range map[string]*rest.Config{"qps=default": limited, "qps=none": unlimited} {
		b.Run(name, func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				namespace := testcluster.Namespace(b, unlimited)
				for i := range objects {
					testkit.Must(clientset.CoreV1().ConfigMaps(namespace).Create(b.Context(), &corev1.ConfigMap{
						ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c%d", i), Labels: map[string]string{"workbook/database": "true"}},
						Data:       map[string]string{"dbtype": "mysql", "deploymentName": fmt.Sprintf("d%d", i), "replicas": "0"},
					}, metav1.CreateOptions{}))(b)
				}
				var out testkit.Buffer
				ctx, cancel := context.WithCancel(b.Context())
				ended := make(chan error, 1)
				start := time.Now()
				go func() {
					ended <- run(ctx, config, options{namespace: namespace, workers: 10}, program.NewPrinter(&out))
				}()
				testkit.Await(b, "all Deployments", func() bool { return len(out.Lines("CREATED")) == objects || len(ended) > 0 })
				took += time.Since(start)
				cancel()
				if err := <-ended; err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(took.Seconds()/float64(b.N), "s/200-objects")
			b.ReportMetric(0, "ns/op") // would count the ConfigMaps, too
		})
	}
}

func TestBenchmarksWithoutACluster(t *testing.T) { testcluster.CheckBenchmarks(t) }
