package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/election"
	"example.com/client-go-workbook/internal/testcluster"
)

// TestTwoWriters takes the lead away from a process in the middle of its work, in two ways, and counts what it writes
// after another process leads. With -count=20 it does each 20 times.
func TestTwoWriters(t *testing.T) {
	kubeconfig := testcluster.Kubeconfig(t)
	for name, test := range map[string]struct{ stop, again syscall.Signal }{
		"paused":                {syscall.SIGSTOP, syscall.SIGCONT},
		"its renewals are held": {syscall.SIGUSR1, 0}, // see beController
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			leads := func(p *process) bool { return strings.Contains(p.output.String(), "this process") }
			wait := func(what string, met func() bool) {
				t.Helper()
				until(w, what, func(context.Context) (bool, error) { return met(), nil }, func(ok bool) bool { return ok })
			}
			first := w.start(kubeconfig, leaderVar+"=1")
			wait("the first leads", func() bool { return leads(first) })
			second := w.start(kubeconfig, leaderVar+"=1")
			const databases = 10
			for i := range databases {
				w.make(fmt.Sprintf("example-%d", i), func(s *dbv1alpha1.DatabaseManagerSpec) {
					s.DeploymentName, s.Replicas = fmt.Sprintf("db-%d", i), new(int32(0))
				})
			}
			// There is always something to write.
			changing, stop := context.WithCancel(context.Background())
			var group sync.WaitGroup
			t.Cleanup(func() { stop(); group.Wait() })
			group.Go(func() {
				for changing.Err() == nil {
					patch := fmt.Appendf(nil, `{"spec": {"version": "8.4.%d"}}`, rand.IntN(1000))
					_, _ = w.databases.Patch(changing, fmt.Sprintf("example-%d", rand.IntN(databases)), types.MergePatchType, patch, metav1.PatchOptions{})
				}
			})
			wait("the first writes", func() bool { return first.output.lines("APPLIED") > 10 })

			if err := first.Process.Signal(test.stop); err != nil {
				t.Fatal(err)
			}
			wait("the second leads, and writes", func() bool { return second.output.lines("APPLIED") > 10 })
			if test.again != 0 {
				if err := first.Process.Signal(test.again); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-first.ended:
			case <-time.After(time.Minute):
				t.Fatalf("the first does not end:\n%s", first.output.String())
			}
			if code := first.ProcessState.ExitCode(); code != 1 || !strings.Contains(first.output.String(), election.ErrLost.Error()) {
				t.Errorf("the first ends with exit code %d:\n%s", code, first.output.String())
			}
			lease := got(w.client.CoordinationV1().Leases(w.namespace).Get(t.Context(), leaseName, metav1.GetOptions{}))(w)
			before, after := 0, 0
			for line := range strings.Lines(first.output.String()) {
				var sent int64
				if n, _ := fmt.Sscanf(line, "WRITE %d", &sent); n != 1 {
					continue
				}
				if time.Unix(0, sent).After(lease.Spec.AcquireTime.Time) {
					after++
				} else {
					before++
				}
			}
			t.Logf("%d writes of the first leader, %d of them after the second led", before+after, after)
			if after > 0 || before == 0 {
				t.Errorf("%d writes before the second led, %d after", before, after)
			}
		})
	}
}
