package exercise

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	graders "example.com/client-go-workbook/internal/exercises/03-lister"
)

// IntersectsTwoSetsOfKeys reads twice for And: a pod that moves between the two reads is in both, and was never on the node
// with the image.
var IntersectsTwoSetsOfKeys = graders.AndOrAnswer{
	And: func(pods indexer, node, image string) ([]string, error) {
		onNode, err := pods.IndexKeys("node", node)
		if err != nil {
			return nil, err
		}
		withImage, err := pods.IndexKeys("image", image)
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(onNode, func(key string) bool { return !slices.Contains(withImage, key) }), nil
	},
	Or: Or,
}

// IntersectsTwoSetsOfObjects misses a pod of which the store has got a new object between the two reads.
var IntersectsTwoSetsOfObjects = graders.AndOrAnswer{
	And: func(pods indexer, node, image string) ([]string, error) {
		onNode, withImage, err := read(pods, node, image)
		var keys []string
		for _, pod := range onNode {
			if slices.Contains(withImage, pod) {
				keys = append(keys, keyOf(pod))
			}
		}
		slices.Sort(keys)
		return keys, err
	},
	Or: Or,
}

// JoinsTwoLists returns a pod twice that is in both.
var JoinsTwoLists = graders.AndOrAnswer{
	And: And,
	Or: func(pods indexer, node, image string) ([]string, error) {
		onNode, withImage, err := read(pods, node, image)
		var keys []string
		for _, pod := range append(onNode, withImage...) {
			keys = append(keys, keyOf(pod))
		}
		slices.Sort(keys)
		return keys, err
	},
}

// TakesAPointerForAPod takes two objects for two pods: between the two reads, the store can get a new object of the same pod.
var TakesAPointerForAPod = graders.AndOrAnswer{
	And: And,
	Or: func(pods indexer, node, image string) ([]string, error) {
		onNode, withImage, err := read(pods, node, image)
		set := map[*corev1.Pod]bool{}
		for _, pod := range append(onNode, withImage...) {
			set[pod] = true
		}
		var keys []string
		for pod := range set {
			keys = append(keys, keyOf(pod))
		}
		slices.Sort(keys)
		return keys, err
	},
}

// Scans goes through all pods.
var Scans = graders.AndOrAnswer{
	And: func(pods indexer, node, image string) ([]string, error) {
		return scan(pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node && has(pod, image) })
	},
	Or: func(pods indexer, node, image string) ([]string, error) {
		return scan(pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node || has(pod, image) })
	},
}

// LooksForAPartOfTheImage takes nginx:1.28 for nginx:1.2.
var LooksForAPartOfTheImage = graders.AndOrAnswer{
	And: func(pods indexer, node, image string) ([]string, error) {
		onNode, err := pods.ByTypedIndex("node", node)
		var keys []string
		for _, pod := range onNode {
			if strings.Contains(fmt.Sprint(pod.Spec.Containers), image) {
				keys = append(keys, keyOf(pod))
			}
		}
		slices.Sort(keys)
		return keys, err
	},
	Or: Or,
}

// ReadsEachPodAgain finds keys, and reads their pods later: one of them can be gone.
var ReadsEachPodAgain = graders.AndOrAnswer{
	And: func(pods indexer, node, image string) ([]string, error) {
		onNode, err := pods.IndexKeys("node", node)
		if err != nil {
			return nil, err
		}
		var keys []string
		for _, key := range onNode {
			obj, _, err := pods.GetByKey(key)
			if err != nil {
				return nil, err
			}
			if pod := obj.(*corev1.Pod); pod.Spec.NodeName == node && has(pod, image) {
				keys = append(keys, key)
			}
		}
		return keys, nil
	},
	Or: Or,
}

// IgnoresTheError says that no pod is on the node when the store has failed.
var IgnoresTheError = graders.AndOrAnswer{
	And: And,
	Or: func(pods indexer, node, image string) ([]string, error) {
		onNode, _ := pods.IndexKeys("node", node)
		withImage, err := pods.IndexKeys("image", image)
		keys := slices.Concat(onNode, withImage)
		slices.Sort(keys)
		return slices.Compact(keys), err
	},
}

func read(pods indexer, node, image string) (onNode, withImage []*corev1.Pod, err error) {
	if onNode, err = pods.ByTypedIndex("node", node); err != nil {
		return nil, nil, err
	}
	withImage, err = pods.ByTypedIndex("image", image)
	return onNode, withImage, err
}

func scan(pods indexer, matches func(*corev1.Pod) bool) ([]string, error) {
	var keys []string
	for _, obj := range pods.List() {
		if pod := obj.(*corev1.Pod); matches(pod) {
			keys = append(keys, keyOf(pod))
		}
	}
	slices.Sort(keys)
	return keys, nil
}

func has(pod *corev1.Pod, image string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Image == image })
}
