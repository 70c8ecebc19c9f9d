package main

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/client-go-workbook/internal/testcluster"
)

// TestProcess is about what only a process has: arguments, signals, an exit code, a sudden end.
func TestProcess(t *testing.T) {
	program := filepath.Join(t.TempDir(), "controller")
	if output, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	for name, test := range map[string]func(*testing.T, string){
		"wrong usage is one line and exit 2":           testWrongUsage,
		"KUBECONFIG alone does not say where to write": testKubeconfig,
		"killed after a write":                         testKilledAfterAWrite,
		"leader killed":                                testLeaderKilled,
	} {
		t.Run(name, func(t *testing.T) { test(t, program) })
	}
}

// process is the program, running.
type process struct {
	*exec.Cmd
	out *output
}

// launch runs the program until the test kills it, which it does at the latest when it ends.
func launch(t *testing.T, program string, args ...string) process {
	t.Helper()
	p := process{exec.Command(program, args...), &output{}}
	p.Stdout = p.out
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
		if t.Failed() {
			t.Logf("printed:\n%s", strings.Join(p.out.lines(), "\n"))
		}
	})
	return p
}

// kill ends the process in a way that it can't know of.
func (p process) kill() {
	p.Process.Kill()
	p.Wait()
}

func testWrongUsage(t *testing.T, program string) {
	taken := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	kubeconfig := testcluster.Kubeconfig(t)
	for _, args := range [][]string{
		{"--nonsense"}, {"databases"}, {"--workers", "0"}, {"--workers", "-1"}, {"--workers", "two"}, {"--resync", "often"},
		{"--qps", "-1"}, {"--qps", "fast"}, {"--lease-duration", "0s"}, {"--lease-duration", "1900ms"}, {"--listen", "nowhere"}, {"--namespace", "nowhere"},
		{"--listen", taken.Addr().String()},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var stdout, stderr strings.Builder
			cmd := exec.Command(program, append([]string{"--kubeconfig", kubeconfig}, args...)...)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 {
				t.Errorf("%v, want exit code 2", err)
			}
			// The first line may name the cluster.
			complaint := stderr.String()
			if line, rest, _ := strings.Cut(complaint, "\n"); strings.HasPrefix(line, "context ") {
				complaint = rest
			}
			if strings.Count(complaint, "\n") != 1 || stdout.String() != "" {
				t.Errorf("want one line:\n%s%s", complaint, stdout.String())
			}
		})
	}
}

func testKubeconfig(t *testing.T, program string) {
	cmd := exec.Command(program)
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+testcluster.Kubeconfig(t))
	output, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "--context") {
		t.Errorf("%v, want a question for --context:\n%s", err, output)
	}
}

func testKilledAfterAWrite(t *testing.T, program string) {
	w := newWorld(t, testcluster.Config(t))
	args := []string{"--kubeconfig", testcluster.Kubeconfig(t), "--namespace", w.namespace}
	w.ask("orders", "deploymentName", "orders-db")
	first := launch(t, program, args...)
	first.out.await(t, "CREATED")
	first.kill()
	made := w.deployment("orders-db")

	second := launch(t, program, append(args, "--resync", "1s", "--wire")...)
	w.ask("witness", "deploymentName", "witness")
	w.awaitDeployments("orders-db=1", "witness=1")
	if got := w.deployment("orders-db"); got.UID != made.UID || got.Generation != made.Generation {
		t.Errorf("it was made again, or changed: %v", got)
	}
	if err := second.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := second.Wait(); err != nil {
		t.Errorf("SIGTERM: %v, want exit code 0", err)
	}
	second.out.await(t, "DRAINED")
	if got := second.out.count("CREATED") + second.out.count("UPDATED"); got != 1 {
		t.Errorf("%d writes, want one, for witness", got)
	}
}

func testLeaderKilled(t *testing.T, program string) {
	w := newWorld(t, testcluster.Config(t))
	args := []string{"--kubeconfig", testcluster.Kubeconfig(t), "--namespace", w.namespace, "--leader-elect", "--lease-duration", "10s"}
	first := launch(t, program, args...)
	first.out.await(t, "LEADER", "this process")
	second := launch(t, program, args...)
	second.out.await(t, "WAITING")
	for i := range 20 {
		w.ask(fmt.Sprintf("c%d", i), "deploymentName", fmt.Sprintf("d%d", i), "replicas", "0")
	}
	first.out.await(t, "CREATED")
	first.kill() // somewhere among the twenty
	await(t, "all Deployments", func() bool {
		for i := range 20 {
			if w.deployment(fmt.Sprintf("d%d", i)) == nil {
				return false
			}
		}
		return true
	})
	t.Logf("%d by the first, %d by the second", first.out.count("CREATED"), second.out.count("CREATED"))
}
