// Package exercise has an answer with a mistake: a creation timestamp has whole seconds, so two pods can have the same.
package exercise

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func Track(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) {
			fmt.Fprintln(out, "open", cache.MetaObjectToName(pod), pod.UID)
		},
		UpdateFunc: func(old, pod *corev1.Pod) {
			if !old.CreationTimestamp.Equal(&pod.CreationTimestamp) {
				fmt.Fprintln(out, "close", cache.MetaObjectToName(old), old.UID)
				fmt.Fprintln(out, "open", cache.MetaObjectToName(pod), pod.UID)
			}
		},
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			fmt.Fprintln(out, "close", deleted.GetObjectName(), deleted.OptionalObj.UID)
		},
	})
	return err
}
