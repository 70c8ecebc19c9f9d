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
	open := func(pod *corev1.Pod) { fmt.Fprintln(out, "open", cache.MetaObjectToName(pod), pod.UID) }
	closed := func(pod *corev1.Pod) { fmt.Fprintln(out, "close", cache.MetaObjectToName(pod), pod.UID) }
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: open,
		UpdateFunc: func(old, pod *corev1.Pod) {
			// For an informer, an object is its namespace and name. A relist that finds another pod under the name of the old
			// one is an update to it. Only the UID is never used again.
			if old.UID != pod.UID {
				closed(old)
				open(pod)
			}
		},
		// A tombstone has the pod from before the gap: that is the one that was opened, also if another has come and gone since.
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) { closed(deleted.OptionalObj) },
	})
	return err
}
