package exercise

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	graders "example.com/client-go-workbook/internal/exercises/03-lister"
)

// FailsForAPodWithoutANode returns an error for a pod without a node, which ends the program.
var FailsForAPodWithoutANode = graders.NodeIndexAnswer{
	AddIndex: func(pods indexer) error {
		return pods.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{byNode: func(pod *corev1.Pod) ([]string, error) {
			if pod.Spec.NodeName == "" {
				return nil, fmt.Errorf("pod %s has no node", pod.Name)
			}
			return []string{pod.Spec.NodeName}, nil
		}})
	},
	PodsOn: PodsOn,
}

// Scans adds no index, and goes through all pods at each question.
var Scans = graders.NodeIndexAnswer{
	AddIndex: func(indexer) error { return nil },
	PodsOn: func(pods indexer, node string) ([]string, error) {
		var keys []string
		for _, obj := range pods.List() {
			if pod := obj.(*corev1.Pod); pod.Spec.NodeName == node && node != "" {
				keys = append(keys, pod.Namespace+"/"+pod.Name)
			}
		}
		slices.Sort(keys)
		return keys, nil
	},
}

// KeepsACopyOfItsOwn reads the store once, and does not follow it.
var KeepsACopyOfItsOwn = graders.NodeIndexAnswer{
	AddIndex: func(pods indexer) error {
		keysOf = map[string][]string{}
		for _, obj := range pods.List() {
			if pod := obj.(*corev1.Pod); pod.Spec.NodeName != "" {
				keysOf[pod.Spec.NodeName] = append(keysOf[pod.Spec.NodeName], pod.Namespace+"/"+pod.Name)
			}
		}
		for _, keys := range keysOf {
			slices.Sort(keys)
		}
		return nil
	},
	PodsOn: func(_ indexer, node string) ([]string, error) { return keysOf[node], nil },
}

var keysOf map[string][]string

// AsksTheStoreThatGotTheIndexLast keeps the store in a variable of the package, and does not look at its argument.
var AsksTheStoreThatGotTheIndexLast = graders.NodeIndexAnswer{
	AddIndex: func(pods indexer) error {
		last = pods
		return AddIndex(pods)
	},
	PodsOn: func(_ indexer, node string) ([]string, error) { return last.IndexKeys(byNode, node) },
}

var last indexer

// LeavesOutWhatHasEnded has no entry for a pod that has ended. It is on the node until it is deleted.
var LeavesOutWhatHasEnded = graders.NodeIndexAnswer{
	AddIndex: func(pods indexer) error {
		return pods.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{byNode: func(pod *corev1.Pod) ([]string, error) {
			if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
				return nil, nil
			}
			return nodeOf(pod)
		}})
	},
	PodsOn: PodsOn,
}

// SortsByNamespaceAndName compares namespaces first. In the order of keys, shop-2/a is before shop/a.
var SortsByNamespaceAndName = graders.NodeIndexAnswer{
	AddIndex: AddIndex,
	PodsOn: func(pods indexer, node string) ([]string, error) {
		found, err := pods.ByTypedIndex(byNode, node)
		slices.SortFunc(found, func(a, b *corev1.Pod) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		var keys []string
		for _, pod := range found {
			keys = append(keys, pod.Namespace+"/"+pod.Name)
		}
		return keys, err
	},
}

// TakesTheNominatedNode puts a pod without a node into the entry of the node that it may get.
var TakesTheNominatedNode = graders.NodeIndexAnswer{
	AddIndex: func(pods indexer) error {
		return pods.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{byNode: func(pod *corev1.Pod) ([]string, error) {
			if node := cmp.Or(pod.Spec.NodeName, pod.Status.NominatedNodeName); node != "" {
				return []string{node}, nil
			}
			return nil, nil
		}})
	},
	PodsOn: PodsOn,
}

// AddsTheIndexWhenAsked hides that AddIndex was not called.
var AddsTheIndexWhenAsked = graders.NodeIndexAnswer{
	AddIndex: AddIndex,
	PodsOn: func(pods indexer, node string) ([]string, error) {
		if pods.GetIndexers()[byNode] == nil {
			if err := AddIndex(pods); err != nil {
				return nil, err
			}
		}
		return PodsOn(pods, node)
	},
}
