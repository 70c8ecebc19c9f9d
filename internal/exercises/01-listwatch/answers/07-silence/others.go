package exercise

import (
	"net/http"
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// BuildsATransportOfItsOwn has a transport of its own, with the times in it.
func BuildsATransportOfItsOwn(config *rest.Config, silence time.Duration) (typedcorev1.PodsGetter, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	transport, err := rest.HTTPWrappersForConfig(config, &http.Transport{
		DialContext:       config.Dial,
		Proxy:             config.Proxy,
		TLSClientConfig:   tlsConfig,
		ForceAttemptHTTP2: true,
		HTTP2:             &http.HTTP2Config{SendPingTimeout: silence / 3, PingTimeout: silence / 3},
	})
	if err != nil {
		return nil, err
	}
	return typedcorev1.NewForConfigAndClient(config, &http.Client{Transport: transport, Timeout: config.Timeout})
}
