// Package exercise has an answer with a mistake: the generation counts changes of the spec only.
package exercise

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func PrintUpdates(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		UpdateFunc: func(old, pod *corev1.Pod) {
			reason := "changed"
			switch {
			case old == pod:
				reason = "resync"
			case old.Generation == pod.Generation:
				reason = "relisted"
			}
			fmt.Fprintln(out, reason, cache.MetaObjectToName(pod))
		},
	})
	return err
}
