package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/querylang"
)

// podCache is what queries read. There is no client in it, so they can't send a request.
//
// Lister and indexer are two faces of one store. The objects in it belong to everybody: they are for reading.
type podCache struct {
	lister  corelisters.PodLister
	indexer cache.TypedIndexer[*corev1.Pod]
}

// query is a question about pods.
type query struct {
	way   way                              // how find goes about it
	find  func(podCache) (podSet, error)   // the pods for which the query holds
	holds func(podCache, *corev1.Pod) bool // whether it holds for a pod that another query has found
}

// way is how pods are found, the cheapest first.
type way int

const (
	byKey   way = iota // a look into the store's map, as fast in a large store as in a small one
	byIndex            // as many looks as there are results
	byScan             // a look at every object in the store
)

func (w way) String() string { return []string{"key", "index", "scan"}[w] }

// language is how queries are written: node=node-000003 and (image=nginx or label=app=nginx).
var language = querylang.Language[query]{Term: newTerm, And: and, Or: or}

func newTerm(key, value string) (query, error) {
	switch key {
	case "name":
		name, err := cache.ParseObjectName(value)
		if err != nil || name.Name == "" {
			return query{}, errors.New("expected name=NAME or name=NAMESPACE/NAME")
		}
		return named(name), nil
	case cache.NamespaceIndex, nodeIndex, imageIndex, ownerIndex:
		return indexed(key, value), nil
	case "label":
		selector, err := labels.Parse(value)
		return labelled(selector), err
	}
	return query{}, fmt.Errorf("there is no key %q: choose from name, namespace, node, image, owner, label", key)
}

// named asks for a name, in all namespaces if it comes without one.
func named(name cache.ObjectName) query {
	return query{byKey, func(c podCache) (podSet, error) {
		namespaces := []string{name.Namespace}
		if name.Namespace == "" {
			namespaces = c.indexer.ListIndexFuncValues(cache.NamespaceIndex)
		}
		found := podSet{}
		for _, namespace := range namespaces {
			pod, err := c.lister.Pods(namespace).Get(name.Name)
			switch {
			case err == nil:
				found.add(pod)
			case !apierrors.IsNotFound(err): // the error that the server would give, but it was not asked
				return nil, err
			}
		}
		return found, nil
	}, func(_ podCache, pod *corev1.Pod) bool {
		return pod.Name == name.Name && (name.Namespace == "" || pod.Namespace == name.Namespace)
	}}
}

// indexed asks an index for one of its values.
func indexed(index, value string) query {
	return query{byIndex, func(c podCache) (podSet, error) {
		pods, err := c.indexer.ByTypedIndex(index, value)
		return setOf(pods), err
	}, func(c podCache, pod *corev1.Pod) bool {
		values, err := c.indexer.GetIndexers()[index](pod)
		return err == nil && slices.Contains(values, value)
	}}
}

// labelled asks for labels. A lister has no index for them, and looks at every pod.
func labelled(selector labels.Selector) query {
	return query{byScan, func(c podCache) (podSet, error) {
		pods, err := c.lister.List(selector)
		return setOf(pods), err
	}, func(_ podCache, pod *corev1.Pod) bool {
		return selector.Matches(labels.Set(pod.Labels))
	}}
}

// and finds by the cheaper of two queries and keeps the pods for which the other holds. That is the intersection of
// both sets without making the second.
func and(left, right query) query {
	if right.way < left.way {
		left, right = right, left
	}
	return query{left.way, func(c podCache) (podSet, error) {
		found, err := left.find(c)
		maps.DeleteFunc(found, func(_ cache.ObjectName, pod *corev1.Pod) bool { return !right.holds(c, pod) })
		return found, err
	}, func(c podCache, pod *corev1.Pod) bool {
		return left.holds(c, pod) && right.holds(c, pod)
	}}
}

// or is the union of two sets, and as dear as the dearer query.
func or(left, right query) query {
	return query{max(left.way, right.way), func(c podCache) (podSet, error) {
		found, err := left.find(c)
		if err != nil {
			return nil, err
		}
		more, err := right.find(c)
		maps.Copy(found, more)
		return found, err
	}, func(c podCache, pod *corev1.Pod) bool {
		return left.holds(c, pod) || right.holds(c, pod)
	}}
}

// podSet is keyed by name. Pointers would not do: two reads of the store are two moments, and if a pod was changed
// in between they return it as two objects.
type podSet map[cache.ObjectName]*corev1.Pod

func setOf(pods []*corev1.Pod) podSet {
	set := podSet{}
	for _, pod := range pods {
		set.add(pod)
	}
	return set
}

func (s podSet) add(pod *corev1.Pod) { s[cache.MetaObjectToName(pod)] = pod }

// names returns the names in order, which no store has.
func (s podSet) names() []cache.ObjectName {
	return slices.SortedFunc(maps.Keys(s), func(a, b cache.ObjectName) int {
		return strings.Compare(a.String(), b.String())
	})
}
