// query.go: how pods are found: by key, by index, by scan, and combined.
// Before: indexers.go. Next: responder.go.

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

// query is a question about pods.
type query struct {
	path    accessPath
	list    func(podCache) (podSet, error)   // returns the pods that match
	matches func(podCache, *corev1.Pod) bool // reports whether a pod matches that another query has found
}

// accessPath is how pods are found, the cheapest first.
type accessPath int

const (
	byKey   accessPath = iota // a lookup in the store's map, as fast in a large store as in a small one
	byIndex                   // as many lookups as there are results
	byScan                    // a check of every object in the store
)

func (p accessPath) String() string { return []string{"key", "index", "scan"}[p] }

// podCache is what queries read. It has no client, so they cannot send a request.
//
// Lister and indexer are two interfaces of one store. Its objects have many readers: they must not be changed.
type podCache struct {
	lister  corelisters.PodLister
	indexer cache.TypedIndexer[*corev1.Pod]
}

// language is the syntax of queries, such as node=node-000003 and (image=nginx or label=app=nginx).
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

// named finds a name, in all namespaces if it has none.
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
			case !apierrors.IsNotFound(err): // the same error as from the server, but the lister creates it
				return nil, err
			}
		}
		return found, nil
	}, func(_ podCache, pod *corev1.Pod) bool {
		return pod.Name == name.Name && (name.Namespace == "" || pod.Namespace == name.Namespace)
	}}
}

// indexed looks up a value in an index.
func indexed(index, value string) query {
	return query{byIndex, func(c podCache) (podSet, error) {
		pods, err := c.indexer.ByTypedIndex(index, value)
		return setOf(pods), err
	}, func(c podCache, pod *corev1.Pod) bool {
		values, err := c.indexer.GetIndexers()[index](pod)
		return err == nil && slices.Contains(values, value)
	}}
}

// labelled finds labels. A lister has no index for them, and checks every pod.
func labelled(selector labels.Selector) query {
	return query{byScan, func(c podCache) (podSet, error) {
		pods, err := c.lister.List(selector)
		return setOf(pods), err
	}, func(_ podCache, pod *corev1.Pod) bool {
		return selector.Matches(labels.Set(pod.Labels))
	}}
}

// and lists the pods of the cheaper query and keeps those that match the other one. That is the intersection of both sets,
// but only one of them is built.
func and(left, right query) query {
	if right.path < left.path {
		left, right = right, left
	}
	return query{left.path, func(c podCache) (podSet, error) {
		found, err := left.list(c)
		maps.DeleteFunc(found, func(_ cache.ObjectName, pod *corev1.Pod) bool { return !right.matches(c, pod) })
		return found, err
	}, func(c podCache, pod *corev1.Pod) bool {
		return left.matches(c, pod) && right.matches(c, pod)
	}}
}

// or is the union of two sets, and as expensive as the more expensive query.
func or(left, right query) query {
	return query{max(left.path, right.path), func(c podCache) (podSet, error) {
		found, err := left.list(c)
		if err != nil {
			return nil, err
		}
		more, err := right.list(c)
		maps.Copy(found, more)
		return found, err
	}, func(c podCache, pod *corev1.Pod) bool {
		return left.matches(c, pod) || right.matches(c, pod)
	}}
}

// podSet is keyed by name. Pointers would be wrong: if a pod is updated between two reads of the store, they return two
// objects for it.
type podSet map[cache.ObjectName]*corev1.Pod

func setOf(pods []*corev1.Pod) podSet {
	set := podSet{}
	for _, pod := range pods {
		set.add(pod)
	}
	return set
}

func (s podSet) add(pod *corev1.Pod) { s[cache.MetaObjectToName(pod)] = pod }

// names returns the names, sorted. A store has no order.
func (s podSet) names() []cache.ObjectName {
	return slices.SortedFunc(maps.Keys(s), func(a, b cache.ObjectName) int {
		return strings.Compare(a.String(), b.String())
	})
}
