package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// setSize is how many pods have the same owner, and the same label as well.
const setSize = 10

// numbered returns one of many pods.
func numbered(namespace string, number int) *corev1.Pod {
	set := number / setSize
	pod := newPod(fmt.Sprintf("%s/pod-%05d owner=set-%d image=nginx:1.28.0 set=set-%d", namespace, number, set, set))
	pod.Spec.Containers[0].Name = "nginx"
	return pod
}

func newCacheOf(t testing.TB, namespace string, count int) podCache {
	t.Helper()
	pods := newCache(t)
	for number := range count {
		if err := pods.indexer.Add(numbered(namespace, number)); err != nil {
			t.Fatal(err)
		}
	}
	return pods
}

// Two ways to ask the same: which pods belong to this owner?

func byOwnerIndex(pods podCache, owner string) ([]*corev1.Pod, error) {
	return pods.indexer.ByTypedIndex(ownerIndex, owner)
}

func byFullScan(pods podCache, owner string) ([]*corev1.Pod, error) {
	all, err := pods.lister.List(labels.Everything())
	return slices.DeleteFunc(all, func(pod *corev1.Pod) bool {
		return !slices.ContainsFunc(pod.OwnerReferences, func(reference metav1.OwnerReference) bool {
			return string(reference.UID) == owner
		})
	}), err
}

// BenchmarkQuery asks for a set of pods in a cache and on an API server, of 1,000 and of 10,000 pods. Where it has asked both, it
// reports how many times as long as the index the full scan and the server took. Without a cluster, the server's part fails.
func BenchmarkQuery(b *testing.B) {
	for _, count := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", count), func(b *testing.B) {
			pods := newCacheOf(b, "bench", count)
			name, set := fmt.Sprintf("pod-%05d", count/2), fmt.Sprintf("set-%d", count/setSize/2)
			selector := labels.SelectorFromSet(labels.Set{"set": set})
			measure(b, "Get", 1, func() (int, error) {
				_, err := pods.lister.Pods("bench").Get(name)
				return 1, err
			})
			index := measure(b, "ByIndex", setSize, func() (int, error) {
				found, err := byOwnerIndex(pods, set)
				return len(found), err
			})
			measure(b, "ListBySelector", setSize, func() (int, error) {
				found, err := pods.lister.List(selector)
				return len(found), err
			})
			scan := measure(b, "FullScan", setSize, func() (int, error) {
				found, err := byFullScan(pods, set)
				return len(found), err
			})
			server := math.NaN()
			b.Run("Server", func(b *testing.B) {
				config := testcluster.Config(b)
				pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(testcluster.Namespace(b, config))
				createPods(b, pods, count)
				measure(b, "Get", 1, func() (int, error) {
					_, err := pods.Get(b.Context(), name, metav1.GetOptions{})
					return 1, err
				})
				server = measure(b, "ListBySelector", setSize, func() (int, error) {
					list, err := pods.List(b.Context(), metav1.ListOptions{LabelSelector: selector.String()})
					return len(list.Items), err
				})
			})
			if math.IsNaN(server) {
				return
			}
			b.Run("Ratio", func(b *testing.B) {
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(scan/index, "FullScan/ByIndex")
				b.ReportMetric(server/index, "Server/ByIndex")
			})
		})
	}
}

// measure runs a benchmark of a question with this number of answers, and returns how many nanoseconds it took: in the
// fastest of all tries: the others were slowed down by other programs on the machine.
func measure(b *testing.B, name string, want int, question func() (int, error)) (fastest float64) {
	fastest = math.Inf(1)
	b.Run(name, func(b *testing.B) {
		const try = 100 * time.Microsecond // at least, as the clock is too coarse for a single query
		for b.Loop() {
			start, queries := time.Now(), 0
			for ; time.Since(start) < try; queries++ {
				if got, err := question(); err != nil || got != want {
					b.Fatalf("found %d and error %v, want %d", got, err, want)
				}
			}
			fastest = min(fastest, float64(time.Since(start).Nanoseconds())/float64(queries))
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(fastest, "ns/query")
	})
	return fastest
}

// createPods creates pods of which nothing will change: a scheduling gate keeps the scheduler away. They have no
// owners: the garbage collector would look for these, and delete the pods.
func createPods(b *testing.B, pods typedcorev1.PodInterface, count int) {
	b.Helper()
	testkit.Repeat(b, "creating pods", count, func(ctx context.Context, number int) error {
		pod := numbered("", number)
		pod.OwnerReferences = nil
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/never"}}
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

func TestIndexIs100TimesAsFastAsAFullScan(t *testing.T) {
	pods := newCacheOf(t, "bench", 10_000)
	fastest := func(ask func(podCache, string) ([]*corev1.Pod, error)) time.Duration {
		best := time.Hour
		for range 50 {
			start := time.Now()
			found, err := ask(pods, "set-500")
			best = min(best, time.Since(start))
			if err != nil || len(found) != setSize {
				t.Fatalf("found %d and error %v, want %d", len(found), err, setSize)
			}
		}
		return best
	}
	index, scan := fastest(byOwnerIndex), fastest(byFullScan)
	if scan < 100*index {
		t.Errorf("by index %s, by full scan %s, want at least 100 times as long", index, scan)
	}
}

func TestBenchmarksWithoutACluster(t *testing.T) { testcluster.CheckBenchmarks(t) }
