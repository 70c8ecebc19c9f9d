// Package exercise has an answer with a mistake: it prints the phase from before the gap.
package exercise

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func PrintDeletions(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			phase := "phase unknown"
			if deleted.OptionalObj != nil {
				phase = string(deleted.OptionalObj.Status.Phase)
			}
			fmt.Fprintf(out, "deleted %s: %s\n", deleted.GetObjectName(), phase)
		},
	})
	return err
}
