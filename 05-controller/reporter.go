// reporter.go: what users see of the controller.
// Before: controller.go. Next: handler.go.

package main

import (
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// reportWrite reports a write. A reconcile that writes nothing is not reported.
func (r *reporter) reportWrite(configMap *corev1.ConfigMap, word, deployment, text string) {
	r.out.Line(word, "Deployment %s/%s for ConfigMap %s: %s", configMap.Namespace, deployment, configMap.Name, text)
	reason := word[:1] + strings.ToLower(word[1:])
	r.recorder.Eventf(configMap, corev1.EventTypeNormal, reason, "Deployment %s: %s", deployment, text)
}

// reportProblem reports a terminal error once: a resync meets the same error, and is silent.
func (r *reporter) reportProblem(key cache.ObjectName, err *terminalError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	problem := string(err.configMap.UID) + err.reason + err.message
	if r.lastProblems[key] == problem {
		return
	}
	r.lastProblems[key] = problem
	r.out.Line("STUCK", "ConfigMap %s: %s: %s", key, err.reason, err.message)
	r.recorder.Event(err.configMap, corev1.EventTypeWarning, err.reason, err.message)
}

// clearProblem makes the next terminal error be reported again, even the same one.
func (r *reporter) clearProblem(key cache.ObjectName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.lastProblems, key)
}

// terminalError is an error that a retry does not repair: a user has to.
type terminalError struct {
	configMap  *corev1.ConfigMap // whose event it becomes
	reason     string            // of the event: one word, the same for the same problem
	message    string
	retryAfter time.Duration // 0: not before the ConfigMap changes
}

func (e *terminalError) Error() string { return e.message }
