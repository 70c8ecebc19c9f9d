// Package exercise has an answer with a mistake: an error for other types keeps these objects out of the store.
package exercise

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

func Shrink(object any) (any, error) {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return nil, fmt.Errorf("%T is not a Secret", object)
	}
	if secret.Data == nil {
		return secret, nil
	}
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	secret.Annotations["example.com/sum"] = sum(secret.Data)
	secret.Data = nil
	return secret, nil
}

func sum(data map[string][]byte) string {
	text, _ := json.Marshal(data)
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
