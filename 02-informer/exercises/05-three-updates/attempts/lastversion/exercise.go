// Package exercise has an answer with a mistake: it takes the first update after a new version for the relist.
package exercise

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"
)

func PrintUpdates(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	version := ""
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		UpdateFunc: func(old, pod *corev1.Pod) {
			reason := "changed"
			if apiequality.Semantic.DeepEqual(old, pod) {
				reason = "resync"
				if now := pods.LastSyncResourceVersion(); now != version {
					reason, version = "relisted", now
				}
			}
			fmt.Fprintln(out, reason, cache.MetaObjectToName(pod))
		},
	})
	return err
}
