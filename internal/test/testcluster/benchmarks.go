package testcluster

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Meter measures what a part of a benchmark costs.
type Meter struct {
	client   *kubernetes.Clientset
	received atomic.Int64
}

// Costs is what a part of a benchmark has cost.
type Costs struct {
	Objects   int           // in the stores
	Memory    float64       // in bytes, in use more than before, with the garbage collected
	Received  float64       // in bytes, of all connections
	CPU       time.Duration // of this process
	ServerCPU time.Duration // of the API server
}

// NewMeter returns a Meter, and a copy of config whose connections it counts.
func NewMeter(b *testing.B, config *rest.Config) (*Meter, *rest.Config) {
	b.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	m := &Meter{client: client}
	counted := rest.CopyConfig(config)
	counted.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return countedConn{conn, &m.received}, err
	}
	return m, counted
}

// Start begins to measure. What it returns ends that. The collections of garbage before and after it do not count.
func (m *Meter) Start(b *testing.B) (end func() Costs) {
	b.Helper()
	memory := LiveHeap()
	server, received, cpu := m.serverCPU(b), m.received.Load(), ownCPU(b)
	return func() Costs {
		c := Costs{CPU: ownCPU(b) - cpu, Received: float64(m.received.Load() - received), ServerCPU: m.serverCPU(b) - server}
		c.Memory = LiveHeap() - memory
		return c
	}
}

// Add adds costs, as of the next replica.
func (c *Costs) Add(more Costs) {
	c.Objects, c.Memory, c.Received = c.Objects+more.Objects, c.Memory+more.Memory, c.Received+more.Received
	c.CPU, c.ServerCPU = c.CPU+more.CPU, c.ServerCPU+more.ServerCPU
}

// Max makes each the larger one of the two.
func (c *Costs) Max(other Costs) {
	c.Objects, c.Memory, c.Received = max(c.Objects, other.Objects), max(c.Memory, other.Memory), max(c.Received, other.Received)
	c.CPU, c.ServerCPU = max(c.CPU, other.CPU), max(c.ServerCPU, other.ServerCPU)
}

// Report reports a share of the costs, such as 1/b.N, under names that end with a suffix.
func (c Costs) Report(b *testing.B, share float64, suffix string) {
	b.ReportMetric(float64(c.Objects)*share, "objects"+suffix)
	b.ReportMetric(c.Memory*share/1e6, "heap-MB"+suffix)
	b.ReportMetric(c.Received*share/1e6, "received-MB"+suffix)
	b.ReportMetric(c.CPU.Seconds()*share*1e3, "cpu-ms"+suffix)
	b.ReportMetric(c.ServerCPU.Seconds()*share*1e3, "server-cpu-ms"+suffix)
}

// Replicas measures 1, 2, 4 and 8 replicas that share the objects, one after the other: the server filters, and then each replica does. It
// reports the largest of each cost, and that of all replicas, and draws these.
func Replicas(b *testing.B, measure func(b *testing.B, number, count int, byServer bool) Costs) {
	b.Helper()
	var names []string
	var costs []Costs // of all replicas
	objects := 0      // of one that has all
	for _, byServer := range []bool{true, false} {
		filter := "each replica filters"
		if byServer {
			filter = "the server filters"
		}
		for _, count := range []int{1, 2, 4, 8} {
			name := fmt.Sprintf("replicas=%d, %s", count, filter)
			b.Run(name, func(b *testing.B) {
				var all, largest Costs
				for b.Loop() {
					for number := range count {
						one := measure(b, number+1, count, byServer)
						all.Add(one)
						largest.Max(one)
					}
				}
				share := 1 / float64(b.N)
				b.ReportMetric(0, "ns/op")
				largest.Report(b, 1, "")
				all.Report(b, share, "-of-all")
				all.Objects /= b.N
				all.Memory, all.CPU = all.Memory*share, all.CPU/time.Duration(b.N)
				names, costs = append(names, name), append(costs, all)
				want := objects
				switch {
				case count == 1:
					objects, want = all.Objects, all.Objects
				case !byServer:
					want *= count
				}
				if all.Objects != want && objects > 0 { // -bench can leave out the one
					b.Errorf("the stores have %d objects, want %d", all.Objects, want)
				}
			})
		}
	}
	fmt.Fprintln(os.Stderr, bars("memory in use, of all replicas", "MB", names, costs, func(c Costs) float64 { return c.Memory / 1e6 }))
	fmt.Fprintln(os.Stderr, bars("CPU time of all replicas", "s", names, costs, func(c Costs) float64 { return c.CPU.Seconds() }))
}

// bars draws a value of each of the costs.
func bars(title, unit string, names []string, costs []Costs, value func(Costs) float64) string {
	if len(costs) == 0 {
		return ""
	}
	width, most := 0, 0.0
	for i := range costs {
		width, most = max(width, len(names[i])), max(most, value(costs[i]))
	}
	text := title + "\n"
	for i := range costs {
		bar := strings.Repeat("█", max(0, int(math.Ceil(40*value(costs[i])/most))))
		text += fmt.Sprintf("%-*s %s %.1f %s\n", width, names[i], bar, value(costs[i]), unit)
	}
	return text
}

// LiveHeap collects the garbage, and returns the bytes of what is left.
func LiveHeap() float64 {
	runtime.GC()
	runtime.GC() // the first run's finalizers let go of more
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
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
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// serverCPU returns the API server's CPU time, by its own metrics.
func (m *Meter) serverCPU(b *testing.B) time.Duration {
	b.Helper()
	metrics, err := m.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(metrics)) {
		if value, ok := strings.CutPrefix(line, "process_cpu_seconds_total "); ok {
			seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				b.Fatal(err)
			}
			return time.Duration(seconds * float64(time.Second))
		}
	}
	b.Fatal("the API server does not say how much CPU time it has taken")
	return 0
}

// A command of a README that runs benchmarks of the README's package, and a line of its output with a figure.
var (
	benchCommand = regexp.MustCompile(`\bgo test \./\S+ -run '\^\$' -bench (\S+)`)
	benchFigure  = regexp.MustCompile(`(?m)^Benchmark\S+\s+1\s+.*\d`)
)

// CheckBenchmarks runs the benchmarks that README.md names where nothing is up, as the reader may. Each command has to end
// with figures, or to fail and name the command that brings up a cluster. It runs the test's own binary: go test would
// compile it once more.
func CheckBenchmarks(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := benchCommand.FindAllSubmatch(readme, -1)
	if len(commands) == 0 {
		t.Fatal("README.md has no go test -bench")
	}
	nothing := t.TempDir()
	env := append(os.Environ(), "CLUSTER_DIR="+nothing, "CLUSTER=", "KUBECONFIG=", "REQUIRE_CLUSTER=")
	// Where the local cluster's programs are, go's cache is by default, too. That stays: compiling all anew would take minutes.
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "XDG_CACHE_HOME="+nothing, "GOCACHE="+strings.TrimSpace(string(goCache)))
	for _, command := range commands {
		t.Run(string(command[1]), func(t *testing.T) {
			t.Parallel()
			binary := exec.Command(os.Args[0], "-test.run=^$", "-test.bench="+strings.Trim(string(command[1]), "`"), "-test.benchtime=1x")
			binary.Env = env
			output, err := binary.CombinedOutput()
			switch hasFigures := benchFigure.Match(output); {
			case err == nil && !hasFigures:
				t.Errorf("%s ends well, and prints no figure:\n%s", command[0], output)
			case err != nil && !strings.Contains(string(output), "make cluster`"):
				t.Errorf("%s fails (%v), and does not say what to do:\n%s", command[0], err, output)
			}
		})
	}
}
