package exercise

import (
	"os"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

func NewPods(config *rest.Config, silence time.Duration) (corev1client.PodsGetter, error) {
	os.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", (silence / 2).String())
	os.Setenv("HTTP2_PING_TIMEOUT_SECONDS", (silence / 2).String())
	return corev1client.NewForConfig(config)
}
