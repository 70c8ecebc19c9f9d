package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// BenchmarkList10000Pods runs the program on 10,000 pods until it has listed them all, on a cluster of its own. It reports
// the time that the program prints, the most memory that its process has had, and how much memory the API server
// has allocated for the list. The last variant lists no pod: what it costs is not the list's.
func BenchmarkList10000Pods(b *testing.B) {
	cluster := testcluster.Start(b)
	config, kubeconfig := cluster.Config(), cluster.Kubeconfig()
	namespace := testcluster.Namespace(b, config)
	createPods(b, config, namespace, 10_000)
	// Not the test binary, which takes more memory.
	program := filepath.Join(b.TempDir(), "listwatch")
	if output, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, output)
	}
	for _, flag := range []string{"--page-size=500", "--page-size=0", "--stream", "--selector=none"} {
		b.Run(strings.Trim(flag, "-"), func(b *testing.B) {
			var listing time.Duration
			var memory uint64
			var server float64
			for b.Loop() {
				before := allocated(b, config)
				took, peak := runUntilSynced(b, program, flag, "--kubeconfig", kubeconfig, "--namespace", namespace)
				server += allocated(b, config) - before
				listing += took
				memory += peak
			}
			b.ReportMetric(float64(listing.Milliseconds())/float64(b.N), "ms/list")
			b.ReportMetric(float64(memory)/float64(b.N)/1e6, "client-peak-MB")
			b.ReportMetric(server/float64(b.N)/1e6, "server-alloc-MB")
			b.ReportMetric(0, "ns/op") // would count the start of the process, too
		})
	}
}

var syncedLine = regexp.MustCompile(`^SYNCED +(?:10000|0) object.* in (\S+)$`)

var peakLine = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// runUntilSynced returns how long the program says the list took, and its peak memory in bytes, 0 if unknown.
func runUntilSynced(b *testing.B, program string, args ...string) (took time.Duration, peak uint64) {
	cmd := exec.Command(program, args...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); took == 0 && lines.Scan(); {
		if match := syncedLine.FindStringSubmatch(lines.Text()); match != nil {
			if took, err = time.ParseDuration(match[1]); err != nil {
				b.Fatal(err)
			}
		}
	}
	// Not from the exit status: that maximum also has the memory of the process that has started it, which is this one.
	// Only Linux has this file.
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if match := peakLine.FindSubmatch(status); match != nil {
		peak = testkit.Must(strconv.ParseUint(string(match[1]), 10, 64))(b) * 1024
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || took == 0 {
		b.Fatalf("%s: %v, and no line of 10000 objects", cmd, err)
	}
	return took, peak
}

// createPods creates pods that no scheduler touches, so that nothing changes while the benchmark runs.
func createPods(b *testing.B, config *rest.Config, namespace string, count int) {
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(namespace)
	testkit.Repeat(b, "creating pods", count, func(ctx context.Context, number int) error {
		_, err := pods.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%05d", number)},
			Spec: corev1.PodSpec{
				SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/never"}},
				Containers:      []corev1.Container{{Name: "main", Image: "nginx:1.28"}},
			},
		}, metav1.CreateOptions{})
		return err
	})
}

// allocated returns how much memory the API server has allocated since its start, in bytes.
func allocated(b *testing.B, config *rest.Config) float64 {
	metrics := testkit.Must(kubernetes.NewForConfigOrDie(config).RESTClient().Get().AbsPath("/metrics").DoRaw(b.Context()))(b)
	match := allocatedMetric.FindSubmatch(metrics)
	if match == nil {
		b.Fatal("the API server has no metric go_memstats_alloc_bytes_total")
	}
	return testkit.Must(strconv.ParseFloat(string(match[1]), 64))(b)
}

var allocatedMetric = regexp.MustCompile(`(?m)^go_memstats_alloc_bytes_total (\S+)$`)

func TestBenchmarksWithoutACluster(t *testing.T) { testcluster.CheckBenchmarks(t) }
