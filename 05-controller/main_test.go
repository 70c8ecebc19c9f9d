package main

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// The tests of this file are about what only a process has: arguments, signals, an exit code, a sudden end.

func TestMain(m *testing.M) {
	testkit.Main(main)
	m.Run()
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	taken := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { taken.Close() })
	kubeconfig := testcluster.Kubeconfig(t)
	for _, args := range [][]string{
		{"--nonsense"}, {"databases"}, {"--workers", "0"}, {"--workers", "-1"}, {"--workers", "two"}, {"--resync", "often"},
		{"--lease-duration", "0s"}, {"--lease-duration", "1900ms"}, {"--listen", "nowhere"}, {"--namespace", "nowhere"},
		{"--listen", taken.Addr().String()},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := testkit.Run(t, testkit.Program(t, append([]string{"--kubeconfig", kubeconfig}, args...)...))
			if code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			// The first line can name the cluster.
			complaint := stderr
			if line, rest, _ := strings.Cut(complaint, "\n"); strings.HasPrefix(line, "context ") {
				complaint = rest
			}
			if strings.Count(complaint, "\n") != 1 || stdout != "" {
				t.Errorf("want one line:\n%s%s", complaint, stdout)
			}
		})
	}
}

// $KUBECONFIG alone is not enough for a program that writes.
func TestKubeconfigFromEnvironment(t *testing.T) {
	t.Parallel()
	cmd := testkit.Program(t)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+testcluster.Kubeconfig(t))
	_, stderr, code := testkit.Run(t, cmd)
	if code == 0 || !strings.Contains(stderr, "--context") {
		t.Errorf("exit code %d, want a question for --context:\n%s", code, stderr)
	}
}

func TestKilledAfterAWrite(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testcluster.Config(t))
	args := []string{"--kubeconfig", testcluster.Kubeconfig(t), "--namespace", e.namespace}
	e.createConfigMap("orders", "deploymentName", "orders-db")
	first := testkit.Start(t, testkit.Program(t, args...))
	first.Await(t, "^CREATED")
	first.Kill()
	created := e.deployment("orders-db")

	second := testkit.Start(t, testkit.Program(t, append(args, "--resync", "1s", "--wire")...))
	e.createConfigMap("witness", "deploymentName", "witness")
	e.awaitDeployments("orders-db=1", "witness=1")
	if got := e.deployment("orders-db"); got.UID != created.UID || got.Generation != created.Generation {
		t.Errorf("it was created again, or changed: %v", got)
	}
	second.Signal(t, syscall.SIGTERM)
	if code := second.Exit(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
	second.Await(t, "^DRAINED")
	if got := len(second.Out.Lines("CREATED", "UPDATED")); got != 1 {
		t.Errorf("%d writes, want one, for witness", got)
	}
}

// TestFeatureGates switches off what the controller builds on in client-go. It still converges, and then writes nothing.
func TestFeatureGates(t *testing.T) {
	testkit.All(t, "switches features of client-go off")
	t.Parallel()
	const objects = 5
	for name, test := range map[string]struct {
		gates  []string
		logged string
	}{
		"lists instead of streaming lists": {[]string{"WatchListClient=false"}, ""},
		"stores without a resourceVersion": {
			[]string{"AtomicFIFO=false", "UnlockWhileProcessingFIFO=false"}, // the second needs the first
			"The feature gate AtomicFIFO is off",
		},
		"a locked gate": {[]string{"InOrderInformers=false"}, "feature is locked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, testcluster.Config(t))
			for i := range objects {
				e.createConfigMap(fmt.Sprintf("c%d", i), "deploymentName", fmt.Sprintf("d%d", i), "replicas", "0")
			}
			cmd := testkit.Program(t, "--kubeconfig", testcluster.Kubeconfig(t), "--namespace", e.namespace,
				"--wire", "--resync", "1s", "--listen", "127.0.0.1:0")
			for _, gate := range test.gates {
				cmd.Env = append(cmd.Env, "KUBE_FEATURE_"+gate)
			}
			p := testkit.Start(t, cmd)
			url := strings.Fields(p.Await(t, "^LISTENING .*"))[1]
			for replicas := range 2 {
				for i := range objects {
					e.setData(fmt.Sprintf("c%d", i), "replicas", fmt.Sprint(replicas))
				}
				testkit.Await(t, "the Deployments", func() bool {
					for i := range objects {
						if d := e.deployment(fmt.Sprintf("d%d", i)); d == nil || *d.Spec.Replicas != int32(replicas) {
							return false
						}
					}
					return true
				})
			}
			writes := func() int {
				return strings.Count(p.Out.String(), " PATCH /apis/apps/v1/namespaces/"+e.namespace+"/deployments/")
			}
			awaitResyncs := func(n int) {
				adds := metric(t, url, "workqueue_adds_total")
				testkit.Await(t, "resyncs", func() bool { return metric(t, url, "workqueue_adds_total") >= adds+n*objects })
			}
			// Not always the first two: without its resourceVersion, a store that is late is not known to be.
			testkit.Await(t, "two resyncs without a write", func() bool {
				before := writes()
				awaitResyncs(2)
				return writes() == before
			})
			if n := writes(); n > 5*objects {
				t.Errorf("%d writes for %d changes", n, 2*objects)
			}
			if got := p.Err.String(); !strings.Contains(got, test.logged) ||
				strings.Contains(got, "AtomicFIFO is off") != strings.Contains(test.logged, "AtomicFIFO") {
				t.Errorf("the log lacks %q:\n%s", test.logged, got)
			}
			p.Signal(t, syscall.SIGTERM)
			if code := p.Exit(t); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
		})
	}
}

func TestLeaderKilled(t *testing.T) {
	testkit.All(t, "waits for the end of a lease")
	t.Parallel()
	e := newEnv(t, testcluster.Config(t))
	args := []string{"--kubeconfig", testcluster.Kubeconfig(t), "--namespace", e.namespace, "--leader-elect", "--lease-duration", "10s"}
	first := testkit.Start(t, testkit.Program(t, args...))
	first.Await(t, "^LEADER +this process")
	second := testkit.Start(t, testkit.Program(t, args...))
	second.Await(t, "^WAITING")
	for i := range 20 {
		e.createConfigMap(fmt.Sprintf("c%d", i), "deploymentName", fmt.Sprintf("d%d", i), "replicas", "0")
	}
	first.Await(t, "^CREATED")
	first.Kill() // somewhere among the twenty
	testkit.Await(t, "all Deployments", func() bool {
		for i := range 20 {
			if e.deployment(fmt.Sprintf("d%d", i)) == nil {
				return false
			}
		}
		return true
	})
	t.Logf("%d by the first, %d by the second", len(first.Out.Lines("CREATED")), len(second.Out.Lines("CREATED")))
}
