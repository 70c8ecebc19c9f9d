package main

import (
	"context"
	"fmt"
	"math"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/shard"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// BenchmarkInformer10000Pods starts an informer on 10,000 pods. It reports the time until it has synced; how much more memory is in use
// afterwards, with the garbage collected; what the program has received until then, and its CPU time; and the API server's.
func BenchmarkInformer10000Pods(b *testing.B) {
	config := rest.CopyConfig(testcluster.Config(b))
	namespace := testcluster.Namespace(b, config)
	createPods(b, config, namespace, 0, 10_000)
	var received atomic.Int64
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return countedConn{conn, &received}, err
	}
	clientset := kubernetes.NewForConfigOrDie(config)
	pods := func(transform cache.TransformFunc, part string) cache.SharedIndexInformer {
		var s shard.Shard
		if err := s.Parse(part); err != nil {
			b.Fatal(err)
		}
		informer := coreinformers.NewFilteredPodInformer(clientset, namespace, 0, nil, func(options *metav1.ListOptions) {
			options.ShardSelector = s.String()
		})
		if err := informer.SetTransform(transform); err != nil {
			b.Fatal(err)
		}
		return informer
	}
	for _, variant := range []struct {
		name     string
		share    float64 // of the pods
		informer func() cache.SharedIndexInformer
	}{
		{"as they come", 1, func() cache.SharedIndexInformer { return pods(nil, "1/1") }},
		{"without managedFields", 1, func() cache.SharedIndexInformer { return pods(stripManagedFields, "1/1") }},
		{"metadata", 1, func() cache.SharedIndexInformer {
			client := metadata.NewForConfigOrDie(config)
			resource := corev1.SchemeGroupVersion.WithResource("pods")
			return metadatainformer.NewFilteredMetadataInformer(client, resource, namespace, 0, nil, nil).Informer()
		}},
		{"a quarter", 0.25, func() cache.SharedIndexInformer { return pods(nil, "1/4") }},
	} {
		b.Run(variant.name, func(b *testing.B) {
			fastest := time.Hour // what takes longer has waited for others on this machine
			var memory, bytes, cpu float64
			server := serverCPU(b, clientset)
			for b.Loop() {
				memoryBefore, bytesBefore, cpuBefore := heapInUse(), received.Load(), ownCPU(b)
				ctx, cancel := context.WithCancel(b.Context())
				var group sync.WaitGroup
				informer := variant.informer()
				start := time.Now()
				group.Go(func() { informer.RunWithContext(ctx) })
				if !cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
					b.Fatal("it has not synced")
				}
				fastest = min(fastest, time.Since(start))
				bytes += float64(received.Load() - bytesBefore)
				cpu += (ownCPU(b) - cpuBefore).Seconds()
				memory += float64(heapInUse() - memoryBefore)
				if share := float64(len(informer.GetStore().ListKeys())) / 10_000; math.Abs(share-variant.share) > 0.05 {
					b.Errorf("it has %.2f of the pods, want %.2f", share, variant.share)
				}
				cancel()
				group.Wait()
			}
			each := func(value float64) float64 { return value / float64(b.N) }
			b.ReportMetric(float64(fastest.Milliseconds()), "fastest-ms/sync")
			b.ReportMetric(each(memory)/1e6, "heap-MB")
			b.ReportMetric(each(bytes)/1e6, "received-MB")
			b.ReportMetric(each(cpu)*1e3, "cpu-ms")
			b.ReportMetric(each(serverCPU(b, clientset)-server)*1e3, "server-cpu-ms")
			b.ReportMetric(0, "ns/op") // would count the garbage collection, too
		})
	}
}

// BenchmarkGrowth starts an informer on 1,000, 10,000 and 50,000 pods, which resyncs each second. It reports the time until it has synced,
// how much more memory is in use then, and how long a resync takes, until a handler has seen all pods. The exponents say how these grow
// with the number of pods, from one number to the next: 1 is in proportion.
func BenchmarkGrowth(b *testing.B) {
	config := testcluster.Config(b)
	namespace := testcluster.Namespace(b, config)
	clientset := kubernetes.NewForConfigOrDie(config)
	var before growth
	for _, count := range []int{1_000, 10_000, 50_000} {
		createPods(b, config, namespace, before.pods, count)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			now := growth{pods: count, sync: time.Hour, resync: time.Hour}
			for b.Loop() {
				heap := heapInUse()
				informer := coreinformers.NewFilteredPodInformer(clientset, namespace, time.Second, nil, nil)
				resynced := resyncOf(b, informer, count)
				ctx, cancel := context.WithCancel(b.Context())
				var group sync.WaitGroup
				start := time.Now()
				group.Go(func() { informer.RunWithContext(ctx) })
				if !cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
					b.Fatal("it has not synced")
				}
				now.sync = min(now.sync, time.Since(start)) // what takes longer has waited for others on this machine
				now.memory += float64(heapInUse() - heap)
				now.resync = min(now.resync, <-resynced)
				cancel()
				group.Wait()
			}
			now.memory /= float64(b.N)
			b.ReportMetric(now.sync.Seconds()*1e3, "fastest-ms/sync")
			b.ReportMetric(now.memory/1e6, "heap-MB")
			b.ReportMetric(now.resync.Seconds()*1e3, "fastest-ms/resync")
			b.ReportMetric(0, "ns/op")
			if before.pods > 0 {
				more := math.Log(float64(now.pods) / float64(before.pods))
				b.ReportMetric(math.Log(now.sync.Seconds()/before.sync.Seconds())/more, "sync-exponent")
				b.ReportMetric(math.Log(now.memory/before.memory)/more, "heap-exponent")
				b.ReportMetric(math.Log(now.resync.Seconds()/before.resync.Seconds())/more, "resync-exponent")
			}
			before = now
		})
	}
}

// growth is what so many pods cost.
type growth struct {
	pods         int
	sync, resync time.Duration
	memory       float64 // in bytes
}

// resyncOf returns how long the first resync takes, from its first pod to its last.
func resyncOf(b *testing.B, informer cache.SharedIndexInformer, pods int) <-chan time.Duration {
	took := make(chan time.Duration, 1)
	seen, start := 0, time.Time{}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
		switch seen++; seen {
		case 1:
			start = time.Now()
		case pods:
			took <- time.Since(start)
		}
	}})
	if err != nil {
		b.Fatal(err)
	}
	return took
}

// countedConn counts what it reads.
type countedConn struct {
	net.Conn
	received *atomic.Int64
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}

// ownCPU returns the CPU time of this process.
func ownCPU(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// serverCPU returns the API server's CPU time, in seconds, by its own metrics.
func serverCPU(b *testing.B, clientset kubernetes.Interface) float64 {
	metrics, err := clientset.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(metrics)) {
		if value, ok := strings.CutPrefix(line, "process_cpu_seconds_total "); ok {
			seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				b.Fatal(err)
			}
			return seconds
		}
	}
	b.Fatal("the API server does not say how much CPU time it has taken")
	return 0
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // the first run's finalizers let go of more
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// createPods creates pods with the fields that a Deployment and a node would set. Neither exists: a scheduling
// gate keeps the scheduler away, so that nothing changes while the benchmark runs.
func createPods(b *testing.B, config *rest.Config, namespace string, from, to int) {
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(namespace)
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz"}}}
	probe.HTTPGet.Port.IntVal = 80
	spec := corev1.PodSpec{
		SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/never"}},
		Containers: []corev1.Container{{
			Name: "nginx", Image: "nginx:1.28.0",
			Ports:          []corev1.ContainerPort{{ContainerPort: 80}},
			Env:            []corev1.EnvVar{{Name: "TZ", Value: "UTC"}},
			Resources:      corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
			ReadinessProbe: probe,
			LivenessProbe:  probe,
		}},
	}
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: new(metav1.Now()), PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "nginx", Image: "nginx:1.28.0", Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}},
	}
	for _, condition := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
		})
	}

	testkit.Repeat(b, "creating pods", to-from, func(ctx context.Context, number int) error {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name:   fmt.Sprintf("nginx-%05d", from+number),
				Labels: map[string]string{"app": "nginx", "pod-template-hash": "5c689d88bb"},
			},
			Spec: spec,
		}
		pod, err := pods.Create(ctx, pod, metav1.CreateOptions{FieldManager: "kube-controller-manager"})
		if err == nil {
			pod.Status = status
			_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: "kubelet"})
		}
		return err
	})
}

func TestBenchmarksWithoutACluster(t *testing.T) { testcluster.CheckBenchmarks(t) }
