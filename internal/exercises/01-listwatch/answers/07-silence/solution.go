// Package exercise answers "Notice a silent connection". README.md has the task.
package exercise

import (
	"net"
	"os"
	"strconv"
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// NewPods returns a client for pods that notices within silence that its connection is dead.
func NewPods(config *rest.Config, silence time.Duration) (typedcorev1.PodsGetter, error) {
	// Two times follow one another: without a packet until a ping is sent, and without an answer to it.
	half := silence / 2
	for _, variable := range []string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS", "HTTP2_PING_TIMEOUT_SECONDS"} {
		// They are read when the client is created. A real program finds them in its environment.
		_ = os.Setenv(variable, strconv.Itoa(int(half.Seconds()))) // these names and values are never refused
	}
	// client-go shares a transport, with its times, between clients of equal configs. Each Dial is another one.
	config = rest.CopyConfig(config)
	if config.Dial == nil {
		config.Dial = (&net.Dialer{}).DialContext
	}
	return typedcorev1.NewForConfig(config)
}
