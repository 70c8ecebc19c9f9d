// reporter.go: what users see of the controller.
// Before: controller.go. Next: handler.go.

package main

import (
	"context"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"example.com/client-go-workbook/internal/program"
)

// reporter shows users what the controller does: by events, which `kubectl describe` prints, and on stdout.
type reporter struct {
	recorder record.EventRecorder
	out      *program.Printer

	mu           sync.Mutex
	lastProblems map[cache.ObjectName]string
}

func newReporter(recorder record.EventRecorder, out *program.Printer) *reporter {
	return &reporter{recorder: recorder, out: out, lastProblems: map[cache.ObjectName]string{}}
}

// newRecorder returns a recorder that writes events in the background, until ctx ends.
func newRecorder(ctx context.Context, clientset kubernetes.Interface) record.EventRecorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: clientset.CoreV1().Events("")})
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: fieldManager})
}

// reportWrite reports a write. A reconcile that writes nothing is not reported.
func (r *reporter) reportWrite(configMap *corev1.ConfigMap, word, deployment, text string) {
	r.out.Line(word, "Deployment %s/%s for ConfigMap %s: %s", configMap.Namespace, deployment, configMap.Name, text)
	reason := word[:1] + strings.ToLower(word[1:])
	r.recorder.Eventf(configMap, corev1.EventTypeNormal, reason, "Deployment %s: %s", deployment, text)
}

// reportProblem reports a terminal error, but not again if nothing else has happened to the key since: every resync
// meets the same error.
func (r *reporter) reportProblem(key cache.ObjectName, err *terminalError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	problem := string(err.configMap.UID) + err.reason + err.text
	if r.lastProblems[key] == problem {
		return
	}
	r.lastProblems[key] = problem
	r.out.Line("STUCK", "ConfigMap %s: %s: %s", key, err.reason, err.text)
	r.recorder.Event(err.configMap, corev1.EventTypeWarning, err.reason, err.text)
}

// clearProblem has the next terminal error reported, even if it is the same one again.
func (r *reporter) clearProblem(key cache.ObjectName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.lastProblems, key)
}

// terminalError is an error that a retry does not repair: a user has to.
type terminalError struct {
	configMap  *corev1.ConfigMap // whose event it becomes
	reason     string            // of the event: one word, the same for the same problem
	text       string
	retryAfter time.Duration // 0: not before the ConfigMap changes
}

func (e *terminalError) Error() string { return e.text }
