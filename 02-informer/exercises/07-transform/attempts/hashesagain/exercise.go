// Package exercise has an answer with a mistake: the second call computes the checksum of no data.
package exercise

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

func Shrink(object any) (any, error) {
	if secret, ok := object.(*corev1.Secret); ok {
		secret = secret.DeepCopy()
		if secret.Annotations == nil {
			secret.Annotations = map[string]string{}
		}
		secret.Annotations["example.com/sum"] = sum(secret.Data)
		secret.Data = map[string][]byte{}
		return secret, nil
	}
	return object, nil
}

func sum(data map[string][]byte) string {
	text, _ := json.Marshal(data)
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
