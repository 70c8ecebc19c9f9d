package main

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/picture"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testcluster"
)

// BenchmarkQueue takes the names of 100 pods through client-go's queue alone (Add, Get, Done), and through this chapter's
// controller: handler, Add, Get, lookup in the store, the lines printed (to nowhere), Forget, Done; both without metrics
// and with. One goroutine runs all of them in turns, so that other work on the machine slows all of them alike.
func BenchmarkQueue(b *testing.B) {
	indexer, pods := benchmarkedPods(b)
	bare := func(name string) func() {
		limiter := workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()
		queue := workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
			workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: name})
		b.Cleanup(queue.ShutDown)
		return func() {
			for _, pod := range pods {
				queue.Add(cache.MetaObjectToName(pod))
			}
			for range pods {
				key, _ := queue.Get()
				queue.Done(key)
			}
		}
	}
	ours := func(name string) func() { return benchmarkedController(b, indexer, pods, name, nil) }

	passes := []func(){bare(""), ours(""), bare("bench-bare"), ours("bench-ours")}
	took := make([][]time.Duration, len(passes))
	for b.Loop() {
		for i, pass := range passes {
			start := time.Now()
			pass()
			took[i] = append(took[i], time.Since(start))
		}
	}
	b.ReportMetric(0, "ns/op") // the sum of four different things
	var perSecond []float64
	for i, name := range []string{"bare/s", "ours/s", "bare+metrics/s", "ours+metrics/s"} {
		slices.Sort(took[i])
		median := took[i][len(took[i])/2]
		perSecond = append(perSecond, float64(len(pods))/median.Seconds())
		b.ReportMetric(perSecond[i], name)
	}
	b.ReportMetric(perSecond[1]/perSecond[0], "ours/bare")
	b.ReportMetric(perSecond[2]/perSecond[0], "bare+metrics/bare")
	b.ReportMetric(perSecond[3]/perSecond[0], "ours+metrics/bare")
}

func TestBenchmarksWithoutACluster(t *testing.T) { testcluster.CheckBenchmarks(t) }

// BenchmarkPicture takes the names of 100 pods through this chapter's controller, as BenchmarkQueue does, in turns without a
// picture, with one that is off, and with one at full speed.
func BenchmarkPicture(b *testing.B) {
	indexer, pods := benchmarkedPods(b)
	chapter := program.New("benchmark")
	on := picture.New(chapter)
	if err := chapter.Flags.Parse([]string{"--picture", "127.0.0.1:0"}); err != nil {
		b.Fatal(err)
	}
	passes := []func(){
		benchmarkedController(b, indexer, pods, "", nil),
		benchmarkedController(b, indexer, pods, "", picture.New(program.New("benchmark"))),
		benchmarkedController(b, indexer, pods, "", on),
	}
	took := make([][]time.Duration, len(passes))
	for b.Loop() {
		for i, pass := range passes {
			start := time.Now()
			pass()
			took[i] = append(took[i], time.Since(start))
		}
	}
	b.ReportMetric(0, "ns/op") // the sum of three different things
	var perSecond []float64
	for i, name := range []string{"without/s", "off/s", "on/s"} {
		slices.Sort(took[i])
		perSecond = append(perSecond, float64(len(pods))/took[i][len(took[i])/2].Seconds())
		b.ReportMetric(perSecond[i], name)
	}
	b.ReportMetric(perSecond[1]/perSecond[0], "off/without")
	b.ReportMetric(perSecond[2]/perSecond[0], "on/without")
}

// benchmarkedPods returns 100 pods, and a store that has them.
func benchmarkedPods(b *testing.B) (indexer cache.Indexer, pods []*corev1.Pod) {
	b.Helper()
	indexer = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for i := range 100 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("nginx-deployment-7dc6dfb96b-%05d", i)}}
		pods = append(pods, pod)
		if err := indexer.Add(pod); err != nil {
			b.Fatal(err)
		}
	}
	return indexer, pods
}

// benchmarkedController returns a function that takes the pods through a controller.
func benchmarkedController(b *testing.B, indexer cache.Indexer, pods []*corev1.Pod, name string, p *picture.Picture) func() {
	b.Helper()
	c := &Controller{indexer: indexer, queue: newTestQueue(name), out: program.NewPrinter(io.Discard)}
	c.syncHandler = p.Controller(c.queue, name, c.syncToStdout)
	b.Cleanup(c.queue.ShutDown)
	handler := podHandler(c.out, c.queue)
	return func() {
		for _, pod := range pods {
			handler.OnAdd(pod, false)
		}
		for range pods {
			c.processNextItem(b.Context())
		}
	}
}
