// store.go: the pods in an informer's store, by the owner that a label names.

package rollout

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Pods is the pods in an informer's store.
type Pods struct {
	indexer cache.TypedIndexer[*corev1.Pod]
	label   string
}

const byLabel = "label"

// NewPods prepares an informer that was not started yet: its store keeps of each pod only what CauseOf needs. The value
// of the label says to which owner a pod belongs.
func NewPods(informer cache.TypedSharedIndexInformer[*corev1.Pod], label string) (*Pods, error) {
	if err := informer.SetTransform(StripPod); err != nil {
		return nil, err
	}
	if err := informer.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{
		byLabel: func(pod *corev1.Pod) ([]string, error) { return []string{pod.Labels[label]}, nil },
	}); err != nil {
		return nil, err
	}
	return &Pods{indexer: informer.GetTypedIndexer(), label: label}, nil
}

// CauseOf returns why the pods of an owner are not ready, if one of them reports it.
func (p *Pods) CauseOf(owner string) Cause {
	pods, err := p.indexer.ByTypedIndex(byLabel, owner)
	if err != nil {
		panic(err) // there is no such index
	}
	return CauseOf(pods...)
}

// Handler returns a handler that calls enqueue with a pod's owner when the pod's cause has changed. Most events of pods do
// not change it.
func (p *Pods) Handler(enqueue func(owner string)) cache.TypedResourceEventHandler[*corev1.Pod] {
	changed := func(before, pod *corev1.Pod) {
		if CauseOf(before) != CauseOf(pod) {
			enqueue(pod.Labels[p.label])
		}
	}
	return cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc:    func(pod *corev1.Pod) { changed(&corev1.Pod{}, pod) },
		UpdateFunc: changed,
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			if deleted.OptionalObj != nil {
				changed(&corev1.Pod{}, deleted.OptionalObj)
			}
		},
	}
}

// LastResourceVersion returns the resourceVersion of the newest event that the store has.
func (p *Pods) LastResourceVersion() string { return p.indexer.LastStoreSyncResourceVersion() }
