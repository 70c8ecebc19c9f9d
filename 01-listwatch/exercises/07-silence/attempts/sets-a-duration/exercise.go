package exercise

import (
	"os"
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

func NewPods(config *rest.Config, silence time.Duration) (typedcorev1.PodsGetter, error) {
	os.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", (silence / 2).String())
	os.Setenv("HTTP2_PING_TIMEOUT_SECONDS", (silence / 2).String())
	return typedcorev1.NewForConfig(config)
}
