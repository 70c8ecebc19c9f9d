package exercise

import (
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

func NewPods(config *rest.Config, silence time.Duration) (typedcorev1.PodsGetter, error) {
	config = rest.CopyConfig(config)
	config.Timeout = silence
	return typedcorev1.NewForConfig(config)
}
