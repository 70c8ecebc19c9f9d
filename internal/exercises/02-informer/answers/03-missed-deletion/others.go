package exercise

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// HasAnUntypedHandler has an untyped handler, as older programs have it.
func HasAnUntypedHandler(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: func(object any) {
			switch object := object.(type) {
			case *corev1.Pod:
				fmt.Fprintf(out, "deleted %s/%s: %s\n", object.Namespace, object.Name, object.Status.Phase)
			case cache.DeletedFinalStateUnknown:
				fmt.Fprintf(out, "deleted %s: phase unknown\n", object.Key)
			}
		},
	})
	return err
}
