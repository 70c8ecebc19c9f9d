package exercise

import (
	"context"
	"net"
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

func NewPods(config *rest.Config, silence time.Duration) (typedcorev1.PodsGetter, error) {
	config = rest.CopyConfig(config)
	dial := config.Dial
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return impatient{conn, silence}, nil
	}
	return typedcorev1.NewForConfig(config)
}

type impatient struct {
	net.Conn
	silence time.Duration
}

func (i impatient) Read(p []byte) (int, error) {
	if err := i.SetReadDeadline(time.Now().Add(i.silence)); err != nil {
		return 0, err
	}
	return i.Conn.Read(p)
}
