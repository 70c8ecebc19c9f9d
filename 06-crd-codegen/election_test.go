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
	"example.com/client-go-workbook/internal/controller/election"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestEarlierLeaderWritesNothingAfterTheNext takes the Lease away from a leader that is writing, in two ways, and counts
// its writes after another process leads. With -count=20 it does each 20 times.
func TestEarlierLeaderWritesNothingAfterTheNext(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ stop, again syscall.Signal }{
		"paused":                {syscall.SIGSTOP, syscall.SIGCONT},
		"its renewals are held": {syscall.SIGUSR1, 0}, // see printWrites
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			kubeconfig := e.kubeconfig()
			first := e.startProcess(kubeconfig, leaderVar+"=1")
			testkit.Await(t, "the first to lead", func() bool { return leads(first) }, &first.Out)
			second := e.startProcess(kubeconfig, leaderVar+"=1")
			const databases = 10
			for i := range databases {
				e.create(fmt.Sprintf("example-%d", i), func(s *dbv1alpha1.DatabaseManagerSpec) {
					s.DeploymentName, s.Replicas = fmt.Sprintf("db-%d", i), new(int32(0))
				})
			}
			// There is always something to write.
			changing, stop := context.WithCancel(context.Background())
			var group sync.WaitGroup
			t.Cleanup(func() { stop(); group.Wait() })
			group.Go(func() {
				for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
					if changing.Err() != nil {
						return
					}
					patch := fmt.Appendf(nil, `{"spec": {"version": "8.4.%d"}}`, rand.IntN(1000))
					name := fmt.Sprintf("example-%d", rand.IntN(databases))
					_, _ = e.databases.Patch(changing, name, types.MergePatchType, patch, metav1.PatchOptions{})
				}
			})
			testkit.Await(t, "writes of the first", func() bool { return len(first.Out.Lines("UPDATED")) > 10 })

			first.Signal(t, test.stop)
			testkit.Await(t, "writes of the second", func() bool { return len(second.Out.Lines("UPDATED")) > 10 })
			if test.again != 0 {
				first.Signal(t, test.again)
			}
			if code := first.Exit(t); code != 1 || !strings.Contains(first.Err.String(), election.ErrLost.Error()) {
				t.Errorf("the first ends with exit code %d:\n%s%s", code, &first.Out, &first.Err)
			}
			lease := testkit.Must(e.client.CoordinationV1().Leases(e.namespace).Get(t.Context(), leaseName, metav1.GetOptions{}))(e)
			before, after := 0, 0
			for line := range strings.Lines(first.Out.String()) {
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
