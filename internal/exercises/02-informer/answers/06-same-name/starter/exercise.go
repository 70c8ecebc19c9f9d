// Package exercise answers "The same name, another pod". README.md has the task.
package exercise

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Track adds a handler that prints "open NAMESPACE/NAME UID" for each pod that the informer finds, and
// "close NAMESPACE/NAME UID" when that pod is gone.
func Track(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) {
			fmt.Fprintln(out, "open", cache.MetaObjectToName(pod), pod.UID)
		},
		// TODO: an update can hide that a pod is gone, and that another one has its name.
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			fmt.Fprintln(out, "close", deleted.GetObjectName(), deleted.OptionalObj.UID)
		},
	})
	return err
}
