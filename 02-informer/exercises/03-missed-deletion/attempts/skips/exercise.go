// Package exercise has an answer with a mistake: it leaves out what is not a pod.
package exercise

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func PrintDeletions(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: func(object any) {
			pod, ok := object.(*corev1.Pod)
			if !ok {
				return
			}
			fmt.Fprintf(out, "deleted %s/%s: %s\n", pod.Namespace, pod.Name, pod.Status.Phase)
		},
	})
	return err
}
