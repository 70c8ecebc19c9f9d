package main

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// podCache is what queries read. There is no client in it, so they can't send a request.
//
// Lister and indexer are two faces of one store. The objects in it belong to everybody: they are for reading.
type podCache struct {
	lister  corelisters.PodLister
	indexer cache.TypedIndexer[*corev1.Pod]
}

// query is a question about pods.
type query interface {
	// find returns the pods for which the query holds.
	find(podCache) (podSet, error)
	// holds tells whether it holds for a pod that something else has found.
	holds(podCache, *corev1.Pod) bool
	// way tells how find goes about it.
	way() way
}

// podSet is keyed by name. Pointers would not do: two reads of the store are two moments, and if a pod was changed
// in between they return it as two objects.
type podSet map[cache.ObjectName]*corev1.Pod

func setOf(pods ...*corev1.Pod) podSet {
	set := podSet{}
	for _, pod := range pods {
		set[cache.MetaObjectToName(pod)] = pod
	}
	return set
}

// way is how pods are found, the cheapest first.
type way int

const (
	byKey   way = iota // one look into the store's map, whatever its size
	byIndex            // as many looks as there are results
	byScan             // a look at every object in the store
)

func (w way) String() string {
	return []string{"key", "index", "scan"}[w]
}

// named asks by name, in all namespaces if it is given without one.
type named cache.ObjectName

func (q named) find(c podCache) (podSet, error) {
	namespaces := []string{q.Namespace}
	if q.Namespace == "" {
		namespaces = c.indexer.ListIndexFuncValues(cache.NamespaceIndex)
	}
	found := podSet{}
	for _, namespace := range namespaces {
		pod, err := c.lister.Pods(namespace).Get(q.Name)
		if apierrors.IsNotFound(err) { // the same error as the server's, but not from the server
			continue
		}
		if err != nil {
			return nil, err
		}
		found[cache.MetaObjectToName(pod)] = pod
	}
	return found, nil
}

func (q named) holds(_ podCache, pod *corev1.Pod) bool {
	return pod.Name == q.Name && (q.Namespace == "" || pod.Namespace == q.Namespace)
}

func (q named) way() way { return byKey }

// indexed asks an index for one of its values.
type indexed struct{ index, value string }

func (q indexed) find(c podCache) (podSet, error) {
	pods, err := c.indexer.ByTypedIndex(q.index, q.value)
	return setOf(pods...), err
}

func (q indexed) holds(c podCache, pod *corev1.Pod) bool {
	values, err := c.indexer.GetIndexers()[q.index](pod)
	return err == nil && slices.Contains(values, q.value)
}

func (q indexed) way() way { return byIndex }

// labelled asks for labels. No index helps: which selectors there will be, nobody knows beforehand.
type labelled struct{ labels.Selector }

func (q labelled) find(c podCache) (podSet, error) {
	pods, err := c.lister.List(q.Selector)
	return setOf(pods...), err
}

func (q labelled) holds(_ podCache, pod *corev1.Pod) bool { return q.Matches(labels.Set(pod.Labels)) }

func (q labelled) way() way { return byScan }

// and finds by the cheaper of its two queries, and keeps those for which the other holds too. That is the
// intersection of both sets, without making the second.
type and struct{ left, right query }

func (q and) find(c podCache) (podSet, error) {
	cheap, dear := q.left, q.right
	if dear.way() < cheap.way() {
		cheap, dear = dear, cheap
	}
	found, err := cheap.find(c)
	maps.DeleteFunc(found, func(_ cache.ObjectName, pod *corev1.Pod) bool { return !dear.holds(c, pod) })
	return found, err
}

func (q and) holds(c podCache, pod *corev1.Pod) bool { return q.left.holds(c, pod) && q.right.holds(c, pod) }

func (q and) way() way { return min(q.left.way(), q.right.way()) }

// or is the union of both sets, and as dear as the dearer.
type or struct{ left, right query }

func (q or) find(c podCache) (podSet, error) {
	found, err := q.left.find(c)
	if err != nil {
		return nil, err
	}
	more, err := q.right.find(c)
	maps.Copy(found, more)
	return found, err
}

func (q or) holds(c podCache, pod *corev1.Pod) bool { return q.left.holds(c, pod) || q.right.holds(c, pod) }

func (q or) way() way { return max(q.left.way(), q.right.way()) }
