package exercise

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TrustsTheAnnotation leaves the data of a Secret that has such an annotation on the server.
func TrustsTheAnnotation(object any) (any, error) {
	if secret, ok := object.(*corev1.Secret); ok {
		if _, done := secret.Annotations["example.com/sum"]; !done {
			shrink(secret)
		}
	}
	return object, nil
}

// AssertsASecret takes every object for a Secret.
func AssertsASecret(object any) (any, error) {
	secret := object.(*corev1.Secret)
	if secret.Data != nil {
		shrink(secret)
	}
	return secret, nil
}

// shrink replaces the data by its checksum.
func shrink(secret *corev1.Secret) {
	if secret.Annotations == nil {
		secret.Annotations = map[string]string{}
	}
	secret.Annotations["example.com/sum"] = sum(secret.Data)
	secret.Data = nil
}

// Takes64CharactersForItsOwn leaves the data of a Secret that arrives with what looks like a checksum.
func Takes64CharactersForItsOwn(object any) (any, error) {
	if secret, ok := object.(*corev1.Secret); ok && len(secret.Annotations["example.com/sum"]) != 64 {
		shrink(secret)
	}
	return object, nil
}

// RemovesManagedFields removes more than the data. Another transform of this chapter removes them, too, but here nobody asked.
func RemovesManagedFields(object any) (any, error) {
	if secret, ok := object.(*corev1.Secret); ok {
		if len(secret.Data) > 0 {
			shrink(secret)
		}
		secret.ManagedFields = nil
	}
	return object, nil
}

// MarksSecretsWithoutData gives Secrets that never had data the checksum of no data.
func MarksSecretsWithoutData(object any) (any, error) {
	if secret, ok := object.(*corev1.Secret); ok {
		if _, done := secret.Annotations["example.com/sum"]; !done || len(secret.Data) > 0 {
			shrink(secret)
		}
	}
	return object, nil
}

// RemembersTheChecksum keeps each Secret's checksum for the second call, also for a Secret that has no data any more.
func RemembersTheChecksum(object any) (any, error) {
	secret, ok := object.(*corev1.Secret)
	if !ok {
		return object, nil
	}
	name := secret.Namespace + "/" + secret.Name
	if len(secret.Data) > 0 {
		shrink(secret)
		checksums.Store(name, secret.Annotations["example.com/sum"])
	} else if checksum, found := checksums.Load(name); found {
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, "example.com/sum", checksum.(string))
	}
	return secret, nil
}

var checksums sync.Map
