package exercise

import (
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"
)

// ComparesVersionsOnly compares versions, which are the same after a relist, too.
func ComparesVersionsOnly(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return onUpdate(pods, out, func(old, pod *corev1.Pod) string {
		switch {
		case old.ResourceVersion == pod.ResourceVersion:
			return "resync"
		case old.UID != pod.UID:
			return "relisted"
		}
		return "changed"
	})
}

// ComparesVersionsAsTexts asks which text comes later in a dictionary: 999 comes after 1000.
func ComparesVersionsAsTexts(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return onUpdate(pods, out, func(old, pod *corev1.Pod) string {
		switch {
		case old == pod:
			return "resync"
		case old.ResourceVersion < pod.ResourceVersion:
			return "changed"
		}
		return "relisted"
	})
}

// ComparesLabelsAndStatus compares parts of the pod, and so misses a change of another part.
func ComparesLabelsAndStatus(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return onUpdate(pods, out, func(old, pod *corev1.Pod) string {
		switch {
		case old == pod:
			return "resync"
		case apiequality.Semantic.DeepEqual(old.Labels, pod.Labels) && apiequality.Semantic.DeepEqual(old.Status, pod.Status):
			return "relisted"
		}
		return "changed"
	})
}

// LeavesOutWhoHasWritten compares all but managedFields, which can change alone.
func LeavesOutWhoHasWritten(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return onUpdate(pods, out, func(old, pod *corev1.Pod) string {
		if old == pod {
			return "resync"
		}
		old, pod = old.DeepCopy(), pod.DeepCopy()
		for _, compared := range []*corev1.Pod{old, pod} {
			compared.ResourceVersion, compared.ManagedFields = "", nil
		}
		if apiequality.Semantic.DeepEqual(old, pod) {
			return "relisted"
		}
		return "changed"
	})
}

// ComparesTheInformersLastVersion takes the first update after a new version for the relist.
func ComparesTheInformersLastVersion(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	version := ""
	return onUpdate(pods, out, func(old, pod *corev1.Pod) string {
		if !apiequality.Semantic.DeepEqual(old, pod) {
			return "changed"
		}
		if now := pods.LastSyncResourceVersion(); now != version {
			version = now
			return "relisted"
		}
		return "resync"
	})
}

func onUpdate(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer, reason func(old, pod *corev1.Pod) string) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		UpdateFunc: func(old, pod *corev1.Pod) { fmt.Fprintln(out, reason(old, pod), cache.MetaObjectToName(pod)) },
	})
	return err
}

var versions sync.Map // the last version of each pod

// RemembersTheVersionForAllHandlers has one variable for all handlers. What the first one has seen is no change for the second.
func RemembersTheVersionForAllHandlers(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return onUpdate(pods, out, func(old, pod *corev1.Pod) string {
		last, _ := versions.Swap(pod.UID, pod.ResourceVersion)
		switch {
		case old == pod:
			return "resync"
		case last == pod.ResourceVersion || old.ResourceVersion == pod.ResourceVersion:
			return "relisted"
		}
		return "changed"
	})
}

// ComparesWithTheStore asks the store, in which the pod can have changed since the event.
func ComparesWithTheStore(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	return onUpdate(pods, out, func(old, pod *corev1.Pod) string {
		if old.ResourceVersion != pod.ResourceVersion {
			return "changed"
		}
		if stored, _, _ := pods.GetStore().Get(pod); stored == any(old) {
			return "resync"
		}
		return "relisted"
	})
}
