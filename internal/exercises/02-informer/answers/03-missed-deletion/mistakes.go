package exercise

import (
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// AssertsAPod takes every deleted object for a pod.
func AssertsAPod(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return onDelete(pods, func(object any) { printPod(out, object.(*corev1.Pod)) })
}

func onDelete(pods cache.TypedSharedIndexInformer[*corev1.Pod], deleted func(object any)) error {
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: deleted})
	return err
}

func printPod(out io.Writer, pod *corev1.Pod) {
	fmt.Fprintf(out, "deleted %s/%s: %s\n", pod.Namespace, pod.Name, pod.Status.Phase)
}

// PrintsWhenThePhaseChanges takes a pod that has ended for one that is gone. It is still in the store, maybe for days.
func PrintsWhenThePhaseChanges(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		UpdateFunc: func(old, pod *corev1.Pod) {
			ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
			if ended && old.Status.Phase != pod.Status.Phase {
				printPod(out, pod)
			}
		},
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			if deleted.FinalStateUnknown != nil {
				fmt.Fprintf(out, "deleted %s: phase unknown\n", deleted.GetObjectName())
			} else if phase := deleted.OptionalObj.Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
				printPod(out, deleted.OptionalObj)
			}
		},
	})
	return err
}

// PrintsWhenTheDeletionBegins does not wait until the pod has gone. A finalizer can keep it for days.
func PrintsWhenTheDeletionBegins(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		UpdateFunc: func(old, pod *corev1.Pod) {
			if old.DeletionTimestamp == nil && pod.DeletionTimestamp != nil {
				printPod(out, pod)
			}
		},
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			switch pod := deleted.OptionalObj; {
			case pod != nil && pod.DeletionTimestamp != nil: // it has a line
			case deleted.FinalStateUnknown != nil:
				fmt.Fprintf(out, "deleted %s: phase unknown\n", deleted.GetObjectName())
			default:
				printPod(out, pod)
			}
		},
	})
	return err
}

// AsksTheTombstoneForTheName reads the name from the tombstone's pod, which may be missing. Its key is always there.
func AsksTheTombstoneForTheName(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			phase := "phase unknown"
			if deleted.FinalStateUnknown == nil {
				phase = string(deleted.OptionalObj.Status.Phase)
			}
			fmt.Fprintf(out, "deleted %s: %s\n", cache.MetaObjectToName(deleted.OptionalObj), phase)
		},
	})
	return err
}

// RemembersThePhase prints the phase that it has seen last. A last change can come with the deletion.
func RemembersThePhase(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	phases := map[cache.ObjectName]corev1.PodPhase{}
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc:    func(pod *corev1.Pod) { phases[cache.MetaObjectToName(pod)] = pod.Status.Phase },
		UpdateFunc: func(_, pod *corev1.Pod) { phases[cache.MetaObjectToName(pod)] = pod.Status.Phase },
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			phase := "phase unknown"
			if deleted.FinalStateUnknown == nil {
				phase = string(phases[deleted.GetObjectName()])
			}
			fmt.Fprintf(out, "deleted %s: %s\n", deleted.GetObjectName(), phase)
		},
	})
	return err
}

// AsksTheStore prints nothing if the store has a pod of that name: that can be the next one.
func AsksTheStore(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return printUnless(pods, out, func(deleted cache.DeletedObject[*corev1.Pod]) bool {
		_, exists, _ := pods.GetStore().GetByKey(deleted.GetKey())
		return exists
	})
}

var printed sync.Map // by UID, or by key

// PrintsOnceForAllHandlers skips what another handler has printed, to another writer.
func PrintsOnceForAllHandlers(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return printUnless(pods, out, func(deleted cache.DeletedObject[*corev1.Pod]) bool {
		id := deleted.GetKey()
		if deleted.FinalStateUnknown == nil {
			id = string(deleted.OptionalObj.UID)
		}
		_, before := printed.LoadOrStore(id, true)
		return before
	})
}

// PrintsLater prints in a goroutine, and drops a line if that is behind.
func PrintsLater(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	lines := make(chan string, 100)
	go func() {
		for line := range lines {
			fmt.Fprint(out, line)
		}
	}()
	return PrintDeletions(pods, writerFunc(func(line []byte) (int, error) {
		select {
		case lines <- string(line):
		default:
		}
		return len(line), nil
	}))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TrustsAPodThatHadEnded prints the phase of a tombstone's pod if that had ended. Another pod of that name can have come and gone.
func TrustsAPodThatHadEnded(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			phase := "phase unknown"
			if pod := deleted.OptionalObj; pod != nil {
				ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
				if ended || deleted.FinalStateUnknown == nil {
					phase = string(pod.Status.Phase)
				}
			}
			fmt.Fprintf(out, "deleted %s: %s\n", deleted.GetObjectName(), phase)
		},
	})
	return err
}

// printUnless is PrintDeletions without some lines.
func printUnless(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer, not func(cache.DeletedObject[*corev1.Pod]) bool) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			phase := "phase unknown"
			if deleted.FinalStateUnknown == nil {
				phase = string(deleted.OptionalObj.Status.Phase)
			}
			if !not(deleted) {
				fmt.Fprintf(out, "deleted %s: %s\n", deleted.GetObjectName(), phase)
			}
		},
	})
	return err
}
