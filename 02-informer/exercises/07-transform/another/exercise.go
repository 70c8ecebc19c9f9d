// Package exercise has a correct answer that returns a new object.
package exercise

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
)

func Shrink(object any) (any, error) {
	switch object := object.(type) {
	case *corev1.Secret:
		small := &corev1.Secret{ObjectMeta: object.ObjectMeta, Type: object.Type, Immutable: object.Immutable}
		if object.Data != nil {
			small.Annotations = map[string]string{}
			maps.Copy(small.Annotations, object.Annotations)
			small.Annotations["example.com/sum"] = sum(object.Data)
		}
		return small, nil
	default:
		return object, nil
	}
}

func sum(data map[string][]byte) string {
	text, _ := json.Marshal(data)
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
