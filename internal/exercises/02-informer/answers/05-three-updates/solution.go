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
			reason := "changed"
			switch {
			case old == pod: // the same pointer: a resync passes the object of the store as both
				reason = "resync"
			case old.ResourceVersion == pod.ResourceVersion: // the server counts every change: two copies of one state
				reason = "relisted"
			}
			fmt.Fprintln(out, reason, cache.MetaObjectToName(pod))
		},
	})
	return err
}
