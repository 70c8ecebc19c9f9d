package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestStatusReportsThatNoNodeFits has pods that no node takes.
func TestStatusReportsThatNoNodeFits(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.run(e.config)
	e.create("example")
	e.untilReady("example", rollout.ReasonReplicasReady)
	nodeSelector := func(value string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"spec": {"template": {"spec": {"nodeSelector": %s}}}}`, value)
		testkit.Must(e.deployments.Patch(t.Context(), "db", types.StrategicMergePatchType, patch, metav1.PatchOptions{}))(e)
	}
	start := time.Now()
	nodeSelector(`{"example.com/no-such": "node"}`)
	message := e.readyMessage("example", corev1.PodReasonUnschedulable)
	t.Logf("%s after the change: %s", time.Since(start).Round(time.Millisecond), message)
	// A cluster of several nodes gives another reason for its control plane.
	if !strings.Contains(message, ": no node is available: node(s) didn't match Pod's node affinity/selector") {
		t.Errorf("message %q", message)
	}
	nodeSelector("null")
	e.untilReady("example", rollout.ReasonReplicasReady)
}

// TestStatusReportsWhatAKubeletReports writes a pod's status as a kubelet does that can't pull the image, or whose container crashes. What
// it reports alternates; the condition must not.
func TestStatusReportsWhatAKubeletReports(t *testing.T) {
	if os.Getenv("CLUSTER") == "kind" {
		t.Skip("a kubelet of kind's writes the same status: TestKindStatusNamesTheCause is about what it reports")
	}
	now := metav1.Now().UTC().Format(time.RFC3339)
	waiting := func(reason string, i int) string {
		return fmt.Sprintf(`"ready": false, "state": {"waiting": {"reason": %q, "message": "attempt %d"}}`, reason, i)
	}
	ended := fmt.Sprintf(`{"terminated": {"exitCode": 1, "reason": "Error", "startedAt": %q, "finishedAt": %q}}`, now, now)
	for name, test := range map[string]struct {
		states  []func(i int) string
		reason  string
		message string
	}{
		"image": {
			states: []func(int) string{
				func(i int) string { return waiting("ErrImagePull", i) },
				func(i int) string { return waiting("ImagePullBackOff", i) },
			},
			reason: "ImagePullBackOff", message: "0 of 1 replicas are ready: the image mysql:8.4.6 cannot be pulled",
		},
		"crash": {
			states: []func(int) string{
				func(int) string { return `"ready": false, "state": ` + ended },
				func(i int) string { return waiting("CrashLoopBackOff", i) + `, "lastState": ` + ended },
				func(int) string {
					return fmt.Sprintf(`"ready": false, "state": {"running": {"startedAt": %q}}, "lastState": %s`, now, ended)
				},
			},
			reason: "CrashLoopBackOff", message: "0 of 1 replicas are ready: the container mysql ends with exit code 1 (Error)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			var counted requests
			c := e.startController(counted.wrap(e.config))
			e.create("example")
			d := e.untilReady("example", rollout.ReasonReplicasReady)
			pods := e.pods
			pod := testkit.Must(pods.List(t.Context(), metav1.ListOptions{LabelSelector: d.Status.Selector}))(e).Items[0]
			kubelet := func(phase, ready, state string, restarts int) {
				t.Helper()
				patch := fmt.Appendf(nil, `{"status": {
					"phase": %q,
					"conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": %q}],
					"containerStatuses": [{"name": "mysql", "image": "mysql:8.4.6", "imageID": "", "restartCount": %d, %s}]}}`,
					phase, ready, restarts, state)
				testkit.Must(pods.Patch(t.Context(), pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"))(e)
			}
			start := time.Now()
			kubelet("Pending", "False", test.states[0](0), 0)
			if message := e.readyMessage("example", test.reason); message != test.message {
				t.Errorf("message %q, want %q", message, test.message)
			}
			t.Logf("%s after the kubelet's report", time.Since(start).Round(time.Millisecond))
			syncs := c.syncs.Load()
			counts := e.undisturbed(c, &counted, func() {
				for i := range 4 * len(test.states) {
					kubelet("Pending", "False", test.states[i%len(test.states)](i), i)
				}
				testkit.Await(t, "the store to have the last one", func() bool { _, stored := e.versions(c); return stored })
				testkit.Await(t, "no sync to be left", c.idle)
			})
			if total(counts) > 0 {
				t.Errorf("requests while the kubelet's reports alternate: %v", counts)
			}
			t.Logf("%d syncs, no request in %d reports that alternate", c.syncs.Load()-syncs, 4*len(test.states))
			kubelet("Running", "True", fmt.Sprintf(`"ready": true, "state": {"running": {"startedAt": %q}}`, now), 20)
			e.untilReady("example", rollout.ReasonReplicasReady)
		})
	}
}
