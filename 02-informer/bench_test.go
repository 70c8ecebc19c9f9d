package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/features"
	clientfeatures "k8s.io/client-go/features/testing"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/shard"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// BenchmarkInformer10000Pods starts an informer on 10,000 pods. It reports the time until it has synced; how much more memory is in use
// afterwards, with the garbage collected; what the program has received until then, and its CPU time; and the API server's.
func BenchmarkInformer10000Pods(b *testing.B) {
	p := newPods(b)
	p.create(b, 10_000)
	for _, v := range p.variants() {
		p.benchmark(b, v)
	}
}

// Benchmark50000Pods starts an informer on 1,000, 10,000 and 50,000 pods. Then it measures what there is in place of an informer on all
// of them: less of each pod, some of the pods, another format, a list, ten informers; and replicas that share them.
func Benchmark50000Pods(b *testing.B) {
	p := newPods(b)
	var before growth
	for _, number := range []int{1_000, 10_000, 50_000} {
		p.create(b, number)
		b.Run(fmt.Sprintf("growth/%d", number), func(b *testing.B) { before = p.growth(b, before) })
	}
	for _, v := range slices.Concat(p.variants(), p.moreVariants()) {
		p.benchmark(b, v)
	}
	testcluster.Replicas(b, func(b *testing.B, number, count int, byServer bool) testcluster.Costs {
		share := map[bool]float64{true: 1 / float64(count), false: 1}[byServer]
		_, costs := p.sync(b, share, p.replica(b, number, count, byServer))
		return costs
	})
}

// pods are the pods that informers are measured on.
type pods struct {
	*testcluster.Meter
	config    *rest.Config // what is received by it is counted
	client    kubernetes.Interface
	namespace string
	number    int
}

func newPods(b *testing.B) *pods {
	config := testcluster.Config(b)
	p := &pods{namespace: testcluster.Namespace(b, config)}
	p.Meter, p.config = testcluster.NewMeter(b, config)
	p.client = kubernetes.NewForConfigOrDie(p.config)
	return p
}

// create creates pods until there are so many.
func (p *pods) create(b *testing.B, number int) {
	createPods(b, p.client, p.namespace, p.number, number)
	p.number = number
}

// informer returns an informer on those of the pods that the list options ask for.
func (p *pods) informer(tweak func(*metav1.ListOptions)) cache.SharedIndexInformer {
	return coreinformers.NewFilteredPodInformer(p.client, p.namespace, 0, nil, tweak)
}

// variant is a way to have pods in a store.
type variant struct {
	name      string
	share     float64 // of the pods, in each store
	informers func(*testing.B) []cache.SharedIndexInformer
}

func (p *pods) variants() []variant {
	return []variant{
		{"as they come", 1, func(*testing.B) []cache.SharedIndexInformer { return []cache.SharedIndexInformer{p.informer(nil)} }},
		{"without managedFields", 1, func(b *testing.B) []cache.SharedIndexInformer {
			informer := p.informer(nil)
			if err := informer.SetTransform(stripManagedFields); err != nil {
				b.Fatal(err)
			}
			return []cache.SharedIndexInformer{informer}
		}},
		{"metadata", 1, func(*testing.B) []cache.SharedIndexInformer {
			client, resource := metadata.NewForConfigOrDie(p.config), corev1.SchemeGroupVersion.WithResource("pods")
			informer := metadatainformer.NewFilteredMetadataInformer(client, resource, p.namespace, 0, nil, nil)
			return []cache.SharedIndexInformer{informer.Informer()}
		}},
		{"a quarter", 0.25, func(b *testing.B) []cache.SharedIndexInformer {
			return []cache.SharedIndexInformer{p.replica(b, 1, 4, true)}
		}},
	}
}

func (p *pods) moreVariants() []variant {
	return []variant{
		{"a tenth, by a field selector", 0.1, func(*testing.B) []cache.SharedIndexInformer {
			tweak := func(options *metav1.ListOptions) { options.FieldSelector = "spec.schedulerName=" + otherScheduler }
			return []cache.SharedIndexInformer{p.informer(tweak)}
		}},
		{"in JSON", 1, func(*testing.B) []cache.SharedIndexInformer {
			config := rest.CopyConfig(p.config)
			config.ContentType = "application/json" // the clientset asks for protobuf where nothing is set
			client := kubernetes.NewForConfigOrDie(config)
			return []cache.SharedIndexInformer{coreinformers.NewFilteredPodInformer(client, p.namespace, 0, nil, nil)}
		}},
		{"by a list, not a stream", 1, func(b *testing.B) []cache.SharedIndexInformer {
			clientfeatures.SetFeatureDuringTest(b, features.WatchListClient, false)
			return []cache.SharedIndexInformer{p.informer(nil)}
		}},
		{"ten informers", 1, func(*testing.B) (informers []cache.SharedIndexInformer) {
			for range 10 {
				informers = append(informers, p.informer(nil))
			}
			return informers
		}},
	}
}

func (p *pods) benchmark(b *testing.B, v variant) {
	b.Run(v.name, func(b *testing.B) {
		var costs testcluster.Costs
		fastest := time.Hour // what takes longer has waited for others on this machine
		for b.Loop() {
			took, more := p.sync(b, v.share, v.informers(b)...)
			fastest = min(fastest, took)
			costs.Add(more)
		}
		b.ReportMetric(float64(fastest.Milliseconds()), "fastest-ms/sync")
		costs.Report(b, 1/float64(b.N), "")
		b.ReportMetric(0, "ns/op") // would count the garbage collection, too
	})
}

// sync starts informers that have a share of the pods each. It returns how long it took until they had synced, and what that has cost.
func (p *pods) sync(b *testing.B, share float64, informers ...cache.SharedIndexInformer) (time.Duration, testcluster.Costs) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	end, start := p.Start(b), time.Now()
	for _, informer := range informers {
		group.Go(func() { informer.RunWithContext(ctx) })
	}
	for _, informer := range informers {
		if !cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
			b.Fatal("it has not synced")
		}
	}
	took := time.Since(start)
	costs := end()
	for _, informer := range informers {
		objects := len(informer.GetStore().ListKeys())
		costs.Objects += objects
		if have := float64(objects) / float64(p.number); math.Abs(have-share) > 0.05 {
			b.Errorf("it has %.2f of the pods, want %.2f", have, share)
		}
	}
	return took, costs
}

// replica returns the informer of one of so many replicas. Its handler gets the replica's pods: either the server sends no others, or it
// sends all.
func (p *pods) replica(b *testing.B, number, count int, byServer bool) cache.SharedIndexInformer {
	b.Helper()
	var s shard.Shard
	if err := s.Parse(fmt.Sprintf("%d/%d", number, count)); err != nil {
		b.Fatal(err)
	}
	informer := cache.NewTypedSharedIndexInformer[*corev1.Pod](p.informer(func(options *metav1.ListOptions) {
		if byServer {
			options.ShardSelector = s.String()
		}
	}))
	var handler cache.TypedResourceEventHandler[*corev1.Pod] = coreinformers.PodHandlerFuncs{}
	registration, err := informer.AddTypedEventHandler(shard.Filter(s, program.NewPrinter(io.Discard), handler))
	if err != nil {
		b.Fatal(err)
	}
	return handled{informer, registration}
}

// handled has synced when its handler has seen all.
type handled struct {
	cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
}

func (h handled) HasSyncedChecker() cache.DoneChecker { return h.registration.HasSyncedChecker() }

// growth is what so many pods cost.
type growth struct {
	pods         int
	sync, resync time.Duration
	memory       float64 // in bytes
}

// growth reports the time until an informer has synced, how much more memory is in use then, and how long a resync takes, until a handler
// has seen all pods. The exponents say how these grow with the number of pods since the last time: 1 is in proportion.
func (p *pods) growth(b *testing.B, before growth) growth {
	now := growth{pods: p.number, sync: time.Hour, resync: time.Hour}
	for b.Loop() {
		took, costs := p.sync(b, 1, p.informer(nil))
		now.sync = min(now.sync, took) // what takes longer has waited for others on this machine
		now.memory += costs.Memory
		now.resync = min(now.resync, p.resync(b))
	}
	now.memory /= float64(b.N)
	b.ReportMetric(now.sync.Seconds()*1e3, "fastest-ms/sync")
	b.ReportMetric(now.memory/1e6, "heap-MB")
	b.ReportMetric(now.resync.Seconds()*1e3, "fastest-ms/resync")
	b.ReportMetric(0, "ns/op")
	if before.pods > 0 && before.pods < now.pods {
		more := math.Log(float64(now.pods) / float64(before.pods))
		b.ReportMetric(math.Log(now.sync.Seconds()/before.sync.Seconds())/more, "sync-exponent")
		b.ReportMetric(math.Log(now.memory/before.memory)/more, "heap-exponent")
		b.ReportMetric(math.Log(now.resync.Seconds()/before.resync.Seconds())/more, "resync-exponent")
	}
	return now
}

// resync has an informer resync each second. It returns how long the fastest of five resyncs takes, from its first pod to its last.
func (p *pods) resync(b *testing.B) time.Duration {
	b.Helper()
	informer := coreinformers.NewFilteredPodInformer(p.client, p.namespace, time.Second, nil, nil)
	took := make(chan time.Duration, 1)
	seen, start, fastest := 0, time.Time{}, time.Hour
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
		if seen%p.number == 0 {
			start = time.Now()
		}
		if seen++; seen%p.number == 0 {
			fastest = min(fastest, time.Since(start))
		}
		if seen == 5*p.number {
			took <- fastest
		}
	}})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { informer.RunWithContext(ctx) })
	return <-took
}

// BenchmarkDecode decodes a pod from each of the formats that a client can ask for. The API server sends CBOR only with its feature gate
// CBORServingAndStorage. client-go asks for it only with its own gate ClientsAllowCBOR, and a clientset only with ClientsPreferCBOR, too.
func BenchmarkDecode(b *testing.B) {
	types := scheme.Scheme
	for _, format := range []struct {
		name string
		runtime.Serializer
	}{
		{"protobuf", protobuf.NewSerializer(types, types)},
		{"CBOR", cbor.NewSerializer(types, types)},
		{"JSON", json.NewSerializerWithOptions(json.DefaultMetaFactory, types, types, json.SerializerOptions{})},
	} {
		b.Run(format.name, func(b *testing.B) {
			pod := benchPod(1)
			pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
			text, err := runtime.Encode(format, pod)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := runtime.Decode(format, text); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(text)), "bytes")
		})
	}
}

// benchPod returns a pod with the fields that a Deployment and a node set. Neither exists: a scheduling gate keeps the scheduler away,
// so that nothing changes while the benchmark runs.
func benchPod(number int) *corev1.Pod {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz"}}}
	probe.HTTPGet.Port.IntVal = 80
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:   fmt.Sprintf("nginx-%05d", number),
			Labels: map[string]string{"app": "nginx", "pod-template-hash": "5c689d88bb"},
		},
		Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/never"}},
			Containers: []corev1.Container{{
				Name: "nginx", Image: "nginx:1.28.0",
				Ports:          []corev1.ContainerPort{{ContainerPort: 80}},
				Env:            []corev1.EnvVar{{Name: "TZ", Value: "UTC"}},
				Resources:      corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
				ReadinessProbe: probe,
				LivenessProbe:  probe,
			}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: new(metav1.Now()), PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "nginx", Image: "nginx:1.28.0", Ready: true, Started: new(true),
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
			}},
		},
	}
	if number%10 == 0 {
		pod.Spec.SchedulerName = otherScheduler
	}
	for _, condition := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
		})
	}
	return pod
}

// createPods creates the pods with these numbers.
func createPods(b *testing.B, client kubernetes.Interface, namespace string, from, to int) {
	pods := client.CoreV1().Pods(namespace)
	testkit.Repeat(b, "creating pods", to-from, func(ctx context.Context, number int) error {
		wanted := benchPod(from + number)
		pod, err := pods.Create(ctx, wanted, metav1.CreateOptions{FieldManager: "kube-controller-manager"})
		if err == nil {
			pod.Status = wanted.Status
			_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: "kubelet"})
		}
		return err
	})
}

// otherScheduler is that of each tenth pod. There is none with this name.
const otherScheduler = "other"

func TestBenchmarksWithoutACluster(t *testing.T) { testcluster.CheckBenchmarks(t) }
