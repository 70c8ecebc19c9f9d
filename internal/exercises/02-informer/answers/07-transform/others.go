package exercise

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// ReturnsANewObject returns a new object.
func ReturnsANewObject(object any) (any, error) {
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
