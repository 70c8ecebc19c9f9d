package exercise

import (
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// ClosesAtEveryChange takes every new version for another pod.
func ClosesAtEveryChange(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return track(pods, out, func(old, pod *corev1.Pod) {
		if old.ResourceVersion != pod.ResourceVersion {
			fmt.Fprintln(out, "close", cache.MetaObjectToName(old), old.UID)
			fmt.Fprintln(out, "open", cache.MetaObjectToName(pod), pod.UID)
		}
	})
}

// ClosesWhenTheDeletionBegins closes as soon as a pod has a DeletionTimestamp. Until it has gone, it is there and may still answer.
func ClosesWhenTheDeletionBegins(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	open := map[cache.ObjectName]*corev1.Pod{}
	closed := func(name cache.ObjectName) {
		if pod := open[name]; pod != nil {
			fmt.Fprintln(out, "close", name, pod.UID)
			delete(open, name)
		}
	}
	opened := func(pod *corev1.Pod) {
		open[cache.MetaObjectToName(pod)] = pod
		fmt.Fprintln(out, "open", cache.MetaObjectToName(pod), pod.UID)
	}
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: opened,
		UpdateFunc: func(old, pod *corev1.Pod) {
			if old.UID != pod.UID || pod.DeletionTimestamp != nil {
				closed(cache.MetaObjectToName(old))
			}
			if old.UID != pod.UID {
				opened(pod)
			}
		},
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) { closed(deleted.GetObjectName()) },
	})
	return err
}

// ComparesCreationTimestamps compares timestamps, which have whole seconds: two pods can have the same.
func ComparesCreationTimestamps(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return track(pods, out, func(old, pod *corev1.Pod) {
		if !old.CreationTimestamp.Equal(&pod.CreationTimestamp) {
			fmt.Fprintln(out, "close", cache.MetaObjectToName(old), old.UID)
			fmt.Fprintln(out, "open", cache.MetaObjectToName(pod), pod.UID)
		}
	})
}

// OpensWithoutClosing opens the new pod and forgets the old one.
func OpensWithoutClosing(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return track(pods, out, func(old, pod *corev1.Pod) {
		if old.UID != pod.UID {
			fmt.Fprintln(out, "open", cache.MetaObjectToName(pod), pod.UID)
		}
	})
}

// track is Track with another OnUpdate.
func track(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer, update func(old, pod *corev1.Pod)) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc:    func(pod *corev1.Pod) { fmt.Fprintln(out, "open", cache.MetaObjectToName(pod), pod.UID) },
		UpdateFunc: update,
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			fmt.Fprintln(out, "close", deleted.GetObjectName(), deleted.OptionalObj.UID)
		},
	})
	return err
}

// LeavesOutTombstones closes nothing where the last state is unknown. The pod is gone all the same.
func LeavesOutTombstones(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	closed := func(pod *corev1.Pod) { fmt.Fprintln(out, "close", cache.MetaObjectToName(pod), pod.UID) }
	opened := func(pod *corev1.Pod) { fmt.Fprintln(out, "open", cache.MetaObjectToName(pod), pod.UID) }
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { opened(object.(*corev1.Pod)) },
		UpdateFunc: func(old, object any) {
			if old, pod := old.(*corev1.Pod), object.(*corev1.Pod); old.UID != pod.UID {
				closed(old)
				opened(pod)
			}
		},
		DeleteFunc: func(object any) {
			if pod, ok := object.(*corev1.Pod); ok {
				closed(pod)
			}
		},
	})
	return err
}

// AsksTheStore closes nothing if the store has a pod of that name. That can be the next one: a handler can be behind.
func AsksTheStore(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	closed := func(pod *corev1.Pod) { fmt.Fprintln(out, "close", cache.MetaObjectToName(pod), pod.UID) }
	opened := func(pod *corev1.Pod) { fmt.Fprintln(out, "open", cache.MetaObjectToName(pod), pod.UID) }
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: opened,
		UpdateFunc: func(old, pod *corev1.Pod) {
			if old.UID != pod.UID {
				closed(old)
				opened(pod)
			}
		},
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			if _, exists, _ := pods.GetStore().GetByKey(deleted.GetKey()); !exists {
				closed(deleted.OptionalObj)
			}
		},
	})
	return err
}

var opened sync.Map // UIDs

// RemembersForAllHandlers has one variable for all handlers: the second one finds each pod open.
func RemembersForAllHandlers(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	open := func(pod *corev1.Pod) {
		if _, before := opened.LoadOrStore(pod.UID, true); !before {
			fmt.Fprintln(out, "open", cache.MetaObjectToName(pod), pod.UID)
		}
	}
	closed := func(pod *corev1.Pod) {
		if _, before := opened.LoadAndDelete(pod.UID); before {
			fmt.Fprintln(out, "close", cache.MetaObjectToName(pod), pod.UID)
		}
	}
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: open,
		UpdateFunc: func(old, pod *corev1.Pod) {
			if old.UID != pod.UID {
				closed(old)
				open(pod)
			}
		},
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) { closed(deleted.OptionalObj) },
	})
	return err
}

// RemembersTheFirstUIDOfAName closes the first pod once more, when the one is deleted that has replaced it.
func RemembersTheFirstUIDOfAName(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	connected := map[cache.ObjectName]types.UID{}
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) {
			name := cache.MetaObjectToName(pod)
			connected[name] = pod.UID
			fmt.Fprintln(out, "open", name, pod.UID)
		},
		UpdateFunc: func(old, pod *corev1.Pod) {
			if name := cache.MetaObjectToName(pod); old.UID != pod.UID {
				fmt.Fprintln(out, "close", name, old.UID)
				fmt.Fprintln(out, "open", name, pod.UID)
			}
		},
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			name := deleted.GetObjectName()
			fmt.Fprintln(out, "close", name, connected[name])
		},
	})
	return err
}
