package exercise

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	graders "example.com/client-go-workbook/internal/exercises/03-lister"
)

// FiltersWhatOneIndexFinds reads all pods of the node, and drops most of them.
var FiltersWhatOneIndexFinds = graders.IndexPaysAnswer{
	AddIndex: func(pods indexer) error {
		return pods.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{"node": func(pod *corev1.Pod) ([]string, error) {
			if pod.Spec.NodeName == "" {
				return nil, nil
			}
			return []string{pod.Spec.NodeName}, nil
		}})
	},
	Find: func(pods indexer, node, app string) ([]string, error) {
		found, err := pods.ByTypedIndex("node", node)
		var keys []string
		for _, pod := range found {
			if pod.Labels["app"] == app {
				keys = append(keys, pod.Namespace+"/"+pod.Name)
			}
		}
		slices.Sort(keys)
		return keys, err
	},
}

// AddsAnIndexAtEachQuestion adds an index for each node and app: each of them costs time at each change of a pod.
var AddsAnIndexAtEachQuestion = graders.IndexPaysAnswer{
	AddIndex: func(indexer) error { return nil },
	Find: func(pods indexer, node, app string) ([]string, error) {
		index := node + "/" + app
		if _, exists := pods.GetIndexers()[index]; !exists {
			err := pods.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{index: func(pod *corev1.Pod) ([]string, error) {
				if pod.Spec.NodeName == node && pod.Labels["app"] == app {
					return []string{"yes"}, nil
				}
				return nil, nil
			}})
			if err != nil {
				return nil, err
			}
		}
		return pods.IndexKeys(index, "yes")
	},
}

// JoinsWithoutASeparator joins the two texts: the node n1 with the app 1a has the same value as n11 with a.
var JoinsWithoutASeparator = graders.IndexPaysAnswer{
	AddIndex: func(pods indexer) error {
		return pods.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{"both": func(pod *corev1.Pod) ([]string, error) {
			return []string{pod.Spec.NodeName + pod.Labels["app"]}, nil
		}})
	},
	Find: func(pods indexer, node, app string) ([]string, error) { return pods.IndexKeys("both", node+app) },
}

// KeepsACopyOfItsOwn reads the store once, and does not follow it.
var KeepsACopyOfItsOwn = graders.IndexPaysAnswer{
	AddIndex: func(pods indexer) error {
		keysOf = map[pair][]string{}
		for _, obj := range pods.List() {
			pod := obj.(*corev1.Pod)
			if app, hasApp := pod.Labels["app"]; hasApp && pod.Spec.NodeName != "" {
				p := pair{pod.Spec.NodeName, app}
				keysOf[p] = append(keysOf[p], pod.Namespace+"/"+pod.Name)
			}
		}
		return nil
	},
	Find: func(_ indexer, node, app string) ([]string, error) {
		return slices.Sorted(slices.Values(keysOf[pair{node, app}])), nil
	},
}

type pair struct{ node, app string }

var keysOf map[pair][]string

// Scans adds no index, and goes through all pods at each question.
var Scans = graders.IndexPaysAnswer{
	AddIndex: func(indexer) error { return nil },
	Find: func(pods indexer, node, app string) ([]string, error) {
		var keys []string
		for _, obj := range pods.List() {
			if pod := obj.(*corev1.Pod); pod.Spec.NodeName == node && pod.Labels["app"] == app {
				keys = append(keys, pod.Namespace+"/"+pod.Name)
			}
		}
		slices.Sort(keys)
		return keys, nil
	},
}

// AsksTheStoreThatGotTheIndexLast keeps the store in a variable of the package, and does not look at its argument.
var AsksTheStoreThatGotTheIndexLast = graders.IndexPaysAnswer{
	AddIndex: func(pods indexer) error {
		last = pods
		return AddIndex(pods)
	},
	Find: func(_ indexer, node, app string) ([]string, error) { return Find(last, node, app) },
}

var last indexer

// MakesAllLettersSmall takes the apps Web and web for one.
var MakesAllLettersSmall = graders.IndexPaysAnswer{
	AddIndex: func(pods indexer) error {
		return pods.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{byNodeAndApp: func(pod *corev1.Pod) ([]string, error) {
			app, hasApp := pod.Labels["app"]
			if pod.Spec.NodeName == "" || !hasApp {
				return nil, nil
			}
			return []string{strings.ToLower(value(pod.Spec.NodeName, app))}, nil
		}})
	},
	Find: func(pods indexer, node, app string) ([]string, error) { return Find(pods, node, strings.ToLower(app)) },
}

// SortsByNamespaceAndName compares namespaces first. In the order of keys, shop-2/a is before shop/a.
var SortsByNamespaceAndName = graders.IndexPaysAnswer{
	AddIndex: AddIndex,
	Find: func(pods indexer, node, app string) ([]string, error) {
		found, err := pods.ByTypedIndex(byNodeAndApp, value(node, app))
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

// LooksInBothOrders has a value of both parts that does not say which one is the node.
var LooksInBothOrders = graders.IndexPaysAnswer{
	AddIndex: func(pods indexer) error {
		return pods.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{byNodeAndApp: func(pod *corev1.Pod) ([]string, error) {
			app, hasApp := pod.Labels["app"]
			if pod.Spec.NodeName == "" || !hasApp {
				return nil, nil
			}
			return []string{value(min(pod.Spec.NodeName, app), max(pod.Spec.NodeName, app))}, nil
		}})
	},
	Find: func(pods indexer, node, app string) ([]string, error) {
		return Find(pods, min(node, app), max(node, app))
	},
}

// TakesAnotherLabel takes a label with a similar meaning, if a pod does not have the one that was asked for.
var TakesAnotherLabel = graders.IndexPaysAnswer{
	AddIndex: func(pods indexer) error {
		return pods.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{byNodeAndApp: func(pod *corev1.Pod) ([]string, error) {
			app, exists := pod.Labels["app"]
			if !exists {
				app, exists = pod.Labels["app.kubernetes.io/name"]
			}
			if pod.Spec.NodeName == "" || !exists {
				return nil, nil
			}
			return []string{value(pod.Spec.NodeName, app)}, nil
		}})
	},
	Find: Find,
}
