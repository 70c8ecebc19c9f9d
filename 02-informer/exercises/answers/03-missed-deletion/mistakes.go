package exercise

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// AssertsAPod takes every deleted object for a pod.
func AssertsAPod(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return onDelete(pods, func(object any) { printPod(out, object.(*corev1.Pod)) })
}

// SkipsWhatIsNotAPod leaves out what is not a pod.
func SkipsWhatIsNotAPod(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return onDelete(pods, func(object any) {
		if pod, ok := object.(*corev1.Pod); ok {
			printPod(out, pod)
		}
	})
}

// ExpectsAPointerToTheTombstone looks for a pointer to a tombstone. An informer sends the value.
func ExpectsAPointerToTheTombstone(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return onDelete(pods, func(object any) {
		switch object := object.(type) {
		case *corev1.Pod:
			printPod(out, object)
		case *cache.DeletedFinalStateUnknown:
			fmt.Fprintf(out, "deleted %s: phase unknown\n", object.Key)
		}
	})
}

// PrintsThePhaseFromBeforeTheGap takes the pod in the tombstone for the pod's last state.
func PrintsThePhaseFromBeforeTheGap(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return onDelete(pods, func(object any) {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		printPod(out, object.(*corev1.Pod))
	})
}

func onDelete(pods cache.TypedSharedIndexInformer[*corev1.Pod], deleted func(object any)) error {
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: deleted})
	return err
}

func printPod(out io.Writer, pod *corev1.Pod) {
	fmt.Fprintf(out, "deleted %s/%s: %s\n", pod.Namespace, pod.Name, pod.Status.Phase)
}
