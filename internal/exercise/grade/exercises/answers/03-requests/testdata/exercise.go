// Package exercise is about requests: a ConfigMap has a Secret of its name, whose label "of" is the ConfigMap's version label.
// It is there for the tests of package grade only, and nobody has begun with it.
package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

func starter(context.Context, typedcorev1.SecretInterface, *corev1.ConfigMap) error { return nil }
