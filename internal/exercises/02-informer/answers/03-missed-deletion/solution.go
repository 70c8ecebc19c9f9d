// Package exercise answers "A deletion that was missed". README.md has the task.
package exercise

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// PrintDeletions adds a handler that prints "deleted NAMESPACE/NAME: PHASE" for each pod that leaves the informer's store.
// Where nobody knows the last phase, the line is "deleted NAMESPACE/NAME: phase unknown".
func PrintDeletions(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			phase := "phase unknown"
			if deleted.FinalStateUnknown == nil { // the watch has sent the deletion, with the pod's last state
				phase = string(deleted.OptionalObj.Status.Phase)
			}
			// The name is always known. OptionalObj of a tombstone is the pod as it was before the gap, or nil.
			fmt.Fprintf(out, "deleted %s: %s\n", deleted.GetObjectName(), phase)
		},
	})
	return err
}
