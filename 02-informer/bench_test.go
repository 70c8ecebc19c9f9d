package main

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// BenchmarkInformer10000Pods starts an informer on 10,000 pods. It reports the time until it has synced, and how
// much more memory is in use afterwards, with the garbage collected.
func BenchmarkInformer10000Pods(b *testing.B) {
	config := testcluster.Config(b)
	namespace := testcluster.Namespace(b, config)
	createPods(b, config, namespace, 10_000)
	clientset := kubernetes.NewForConfigOrDie(config)
	for _, variant := range []struct {
		name      string
		transform cache.TransformFunc
	}{
		{"as they come", nil},
		{"without managedFields", stripManagedFields},
	} {
		b.Run(variant.name, func(b *testing.B) {
			fastest := time.Hour // what takes longer has waited for others on this machine
			var memory uint64
			for b.Loop() {
				before := heapInUse()
				ctx, cancel := context.WithCancel(b.Context())
				factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0,
					informers.WithNamespace(namespace), informers.WithTransform(variant.transform))
				informer := factory.Core().V1().Pods().Informer()
				start := time.Now()
				factory.StartWithContext(ctx)
				if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
					b.Fatal(err)
				}
				fastest = min(fastest, time.Since(start))
				memory += heapInUse() - before
				if pods := len(informer.GetStore().ListKeys()); pods != 10_000 {
					b.Errorf("%d pods in the store", pods)
				}
				cancel()
				factory.Shutdown()
			}
			b.ReportMetric(float64(fastest.Milliseconds()), "fastest-ms/sync")
			b.ReportMetric(float64(memory)/float64(b.N)/1e6, "heap-MB")
			b.ReportMetric(0, "ns/op") // would count the garbage collection, too
		})
	}
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
func createPods(b *testing.B, config *rest.Config, namespace string, count int) {
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

	testkit.Repeat(b, "creating pods", count, func(ctx context.Context, number int) error {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name:   fmt.Sprintf("nginx-%05d", number),
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
