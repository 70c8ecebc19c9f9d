package exercise

import (
	"os"
	"strconv"
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

func NewPods(config *rest.Config, silence time.Duration) (typedcorev1.PodsGetter, error) {
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	os.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", strconv.Itoa(int(silence.Seconds())/2))
	os.Setenv("HTTP2_PING_TIMEOUT_SECONDS", strconv.Itoa(int(silence.Seconds())/2))
	return client, nil
}
