package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// readyMessage waits until a DatabaseManager is not ready for a reason, and returns the message.
func (w *world) readyMessage(name, reason string) string {
	w.Helper()
	return apimeta.FindStatusCondition(w.untilReady(name, reason).Status.Conditions, dbv1alpha1.ConditionReady).Message
}

// TestUnschedulable has pods that no node takes.
func TestUnschedulable(t *testing.T) {
	w := newWorld(t)
	w.run(w.config)
	w.make("example")
	w.untilReady("example", reasonReplicasReady)
	nodeSelector := func(value string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"spec": {"template": {"spec": {"nodeSelector": %s}}}}`, value)
		got(w.client.AppsV1().Deployments(w.namespace).Patch(t.Context(), "db", types.StrategicMergePatchType, patch, metav1.PatchOptions{}))(w)
	}
	start := time.Now()
	nodeSelector(`{"example.com/no-such": "node"}`)
	message := w.readyMessage("example", corev1.PodReasonUnschedulable)
	t.Logf("%s after the change: %s", time.Since(start).Round(time.Millisecond), message)
	if !strings.HasSuffix(message, ": no node is available: node(s) didn't match Pod's node affinity/selector") {
		t.Errorf("message %q", message)
	}
	nodeSelector("null")
	w.untilReady("example", reasonReplicasReady)
}

// TestKubeletCauses writes a pod's status as a kubelet does that can't pull the image, or whose container crashes. What
// it reports alternates; the condition must not.
func TestKubeletCauses(t *testing.T) {
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
			w := newWorld(t)
			var counted requests
			c, _ := w.inside(counted.wrap(w.config))
			w.make("example")
			d := w.untilReady("example", reasonReplicasReady)
			pods := w.client.CoreV1().Pods(w.namespace)
			pod := got(pods.List(t.Context(), metav1.ListOptions{LabelSelector: d.Status.Selector}))(w).Items[0]
			kubelet := func(phase, ready, state string, restarts int) {
				t.Helper()
				patch := fmt.Appendf(nil, `{"status": {"phase": %q, "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": %q}],
					"containerStatuses": [{"name": "mysql", "image": "mysql:8.4.6", "imageID": "", "restartCount": %d, %s}]}}`, phase, ready, restarts, state)
				got(pods.Patch(t.Context(), pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"))(w)
			}
			start := time.Now()
			kubelet("Pending", "False", test.states[0](0), 0)
			if message := w.readyMessage("example", test.reason); message != test.message {
				t.Errorf("message %q, want %q", message, test.message)
			}
			t.Logf("%s after the kubelet's report", time.Since(start).Round(time.Millisecond))
			w.quiet(c, &counted)
			syncs := c.syncs.Load()
			for i := range 4 * len(test.states) {
				kubelet("Pending", "False", test.states[i%len(test.states)](i), i)
			}
			latest := got(pods.Get(t.Context(), pod.Name, metav1.GetOptions{}))(w).ResourceVersion
			until(w, "the store has the last one", func(context.Context) (bool, error) {
				order, err := resourceversion.CompareResourceVersion(c.pods.LastStoreSyncResourceVersion(), latest)
				return order >= 0, err
			}, func(has bool) bool { return has })
			until(w, "no sync is left", func(context.Context) (bool, error) { return c.idle(), nil }, func(idle bool) bool { return idle })
			if counts := counted.take(); total(counts) > 0 {
				t.Errorf("requests while the kubelet's reports alternate: %v", counts)
			}
			t.Logf("%d syncs, no request in %d reports that alternate", c.syncs.Load()-syncs, 4*len(test.states))
			kubelet("Running", "True", fmt.Sprintf(`"ready": true, "state": {"running": {"startedAt": %q}}`, now), 20)
			w.untilReady("example", reasonReplicasReady)
		})
	}
}
