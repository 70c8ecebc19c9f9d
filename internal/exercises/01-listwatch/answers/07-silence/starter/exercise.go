// Package exercise answers "Notice a silent connection". README.md has the task.
package exercise

import (
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// NewPods returns a client for pods that notices within silence that its connection is dead.
func NewPods(config *rest.Config, silence time.Duration) (typedcorev1.PodsGetter, error) {
	// TODO: silence is the time that you have. The default is 45 seconds.
	return typedcorev1.NewForConfig(config)
}
