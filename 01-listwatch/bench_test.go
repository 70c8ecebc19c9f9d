package main

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/testcluster"
)

// BenchmarkList10000Pods runs the program on 10,000 pods until it has listed them all. It reports the time that
// the program prints, and the most memory that its process has had.
func BenchmarkList10000Pods(b *testing.B) {
	config := testcluster.Config(b)
	kubeconfig := testcluster.Kubeconfig(b)
	namespace := testcluster.Namespace(b, config)
	createPods(b, config, namespace, 10_000)
	// Not the test binary, which takes more memory.
	program := filepath.Join(b.TempDir(), "listwatch")
	if output, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, output)
	}
	for _, flag := range []string{"--page-size=500", "--page-size=0", "--stream"} {
		b.Run(strings.Trim(flag, "-"), func(b *testing.B) {
			var listing time.Duration
			var memory int64
			for b.Loop() {
				took, peak := runUntilSynced(b, program, flag, "--kubeconfig", kubeconfig, "--namespace", namespace)
				listing += took
				memory += peak
			}
			b.ReportMetric(float64(listing.Milliseconds())/float64(b.N), "ms/list")
			b.ReportMetric(float64(memory)/float64(b.N)/1e6, "peak-MB")
			b.ReportMetric(0, "ns/op") // would count the start of the process, too
		})
	}
}

var syncedLine = regexp.MustCompile(`^SYNCED +10000 object.* in (\S+)$`)

// runUntilSynced returns how long the program says the list took, and its peak memory in bytes.
func runUntilSynced(b *testing.B, program string, args ...string) (took time.Duration, peak int64) {
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
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || took == 0 {
		b.Fatalf("%s: %v, and no line of 10000 objects", cmd, err)
	}
	// In kilobytes on Linux. macOS has bytes there.
	return took, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024
}

// createPods creates pods that no scheduler touches, so that nothing changes while the benchmark runs.
func createPods(b *testing.B, config *rest.Config, namespace string, count int) {
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(namespace)
	numbers := make(chan int)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for number := range numbers {
				_, err := pods.Create(b.Context(), &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%05d", number)},
					Spec: corev1.PodSpec{
						SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/never"}},
						Containers:      []corev1.Container{{Name: "main", Image: "nginx:1.28"}},
					},
				}, metav1.CreateOptions{})
				if err != nil {
					b.Errorf("creating pod %d: %v", number, err)
				}
			}
		})
	}
	for number := range count {
		numbers <- number
	}
	close(numbers)
	group.Wait()
}
