package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/testcluster"
)

// BenchmarkQPS lets the controller make 200 Deployments, with client-go's default limit for clients of 5 requests a
// second, and without. It reports the time from the start until the last one is made.
func BenchmarkQPS(b *testing.B) {
	const objects = 200
	config := testcluster.Config(b)
	client := kubernetes.NewForConfigOrDie(config)
	for name, qps := range map[string]float32{"qps=5": 5, "qps=none": 0} {
		b.Run(name, func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				namespace := testcluster.Namespace(b, config)
				for i := range objects {
					_, err := client.CoreV1().ConfigMaps(namespace).Create(b.Context(), &corev1.ConfigMap{
						ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c%d", i), Labels: map[string]string{"workbook/database": "true"}},
						Data:       map[string]string{"dbtype": "mysql", "deploymentName": fmt.Sprintf("d%d", i), "replicas": "0"},
					}, metav1.CreateOptions{})
					if err != nil {
						b.Fatal(err)
					}
				}
				out := &output{}
				ctx, cancel := context.WithCancel(b.Context())
				ended := make(chan error, 1)
				start := time.Now()
				go func() {
					ended <- run(ctx, config, settings{namespace: namespace, workers: 10, qps: qps, leaseDuration: 15 * time.Second}, program.NewPrinter(out))
				}()
				err := wait.PollUntilContextTimeout(b.Context(), 5*time.Millisecond, 5*time.Minute, true, func(context.Context) (bool, error) {
					return out.count("CREATED") == objects || len(ended) > 0, nil
				})
				took += time.Since(start)
				cancel()
				if ended := <-ended; err != nil || ended != nil {
					b.Fatal(err, ended)
				}
			}
			b.ReportMetric(took.Seconds()/float64(b.N), "s/200-objects")
			b.ReportMetric(0, "ns/op") // would count the ConfigMaps, too
		})
	}
}
