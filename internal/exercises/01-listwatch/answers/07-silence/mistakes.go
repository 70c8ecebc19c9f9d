package exercise

import (
	"context"
	"net"
	"net/http"
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// HasAClientOfItsOwn has a transport of its own, which sends no token: client-go adds it in a wrapper of the transport.
func HasAClientOfItsOwn(config *rest.Config, silence time.Duration) (typedcorev1.PodsGetter, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	return typedcorev1.NewForConfigAndClient(config, &http.Client{Transport: &http.Transport{
		DialContext:       config.Dial,
		TLSClientConfig:   tlsConfig,
		ForceAttemptHTTP2: true,
		HTTP2:             &http.HTTP2Config{SendPingTimeout: silence / 2, PingTimeout: silence / 2},
	}})
}

// GivesReadsADeadline ends each read that brings nothing in time, also on a connection that works.
func GivesReadsADeadline(config *rest.Config, silence time.Duration) (typedcorev1.PodsGetter, error) {
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

// SetsTheTimeoutOfTheClient limits the time of a whole request, also of a watch that works.
func SetsTheTimeoutOfTheClient(config *rest.Config, silence time.Duration) (typedcorev1.PodsGetter, error) {
	config = rest.CopyConfig(config)
	config.Timeout = silence
	return typedcorev1.NewForConfig(config)
}

// LeavesTheAnswer15Seconds sends the ping 15 seconds before the end, which is too early for a silence of 10: then it never pauses.
func LeavesTheAnswer15Seconds(config *rest.Config, silence time.Duration) (typedcorev1.PodsGetter, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	transport, err := rest.HTTPWrappersForConfig(config, &http.Transport{
		DialContext:       config.Dial,
		Proxy:             config.Proxy,
		TLSClientConfig:   tlsConfig,
		ForceAttemptHTTP2: true,
		HTTP2:             &http.HTTP2Config{SendPingTimeout: silence - 15*time.Second},
	})
	if err != nil {
		return nil, err
	}
	return typedcorev1.NewForConfigAndClient(config, &http.Client{Transport: transport})
}
