package exercise

import (
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

func NewPods(config *rest.Config, silence time.Duration) (corev1client.PodsGetter, error) {
	config = rest.CopyConfig(config)
	config.Timeout = silence
	return corev1client.NewForConfig(config)
}
