package main

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"example.com/client-go-workbook/internal/program"
)

// problem is an error that no retry mends: a person has to.
type problem struct {
	about      *corev1.ConfigMap
	reason     string // for the event: one word, the same for the same problem
	text       string
	retryAfter time.Duration // 0: when about changes
}

func (p *problem) Error() string { return p.text }

// teller tells people what the controller does, by events, which `kubectl describe` shows, and on stdout.
type teller struct {
	recorder record.EventRecorder
	out      *program.Printer
	writes   atomic.Int64

	mu   sync.Mutex
	told map[cache.ObjectName]string // problems
}

// wrote tells of a write. Nothing is told of a reconcile without one.
func (t *teller) wrote(configMap *corev1.ConfigMap, word, deployment, what string) {
	t.writes.Add(1)
	t.out.Line(word, "Deployment %s/%s for ConfigMap %s: %s", configMap.Namespace, deployment, configMap.Name, what)
	reason := word[:1] + strings.ToLower(word[1:])
	t.recorder.Eventf(configMap, corev1.EventTypeNormal, reason, "Deployment %s: %s", deployment, what)
}

// stuck tells of a problem, if it was not told already: each resync meets it again.
func (t *teller) stuck(key cache.ObjectName, p *problem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(p.about.UID) + p.reason + p.text
	if t.told[key] == text {
		return
	}
	t.told[key] = text
	t.out.Line("STUCK", "ConfigMap %s: %s: %s", key, p.reason, p.text)
	t.recorder.Event(p.about, corev1.EventTypeWarning, p.reason, p.text)
}

// fine forgets a problem: the next one is news again.
func (t *teller) fine(key cache.ObjectName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.told, key)
}
