// Package exercise answers "A change, a resync or a relist?". README.md has the task.
package exercise

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// PrintUpdates adds a handler that prints "changed NAMESPACE/NAME", "resync NAMESPACE/NAME" or "relisted NAMESPACE/NAME" for
// each update.
func PrintUpdates(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		UpdateFunc: func(old, pod *corev1.Pod) {
			// TODO: which of the three is it?
			fmt.Fprintln(out, "changed", cache.MetaObjectToName(pod))
		},
	})
	return err
}
