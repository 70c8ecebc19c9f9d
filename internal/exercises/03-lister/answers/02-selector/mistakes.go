package exercise

import (
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// LeavesOutWhatIsBeingDeleted takes a pod whose deletion has begun for one that is gone.
func LeavesOutWhatIsBeingDeleted(pods corelisters.PodLister, service *corev1.Service) ([]string, error) {
	return podsOf(pods, service, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil })
}

// podsOf is PodsOf with another condition.
func podsOf(pods corelisters.PodLister, service *corev1.Service, condition func(*corev1.Pod) bool) ([]string, error) {
	if len(service.Spec.Selector) == 0 {
		return nil, nil
	}
	found, err := pods.Pods(service.Namespace).List(labels.SelectorFromSet(service.Spec.Selector))
	var names []string
	for _, pod := range found {
		if condition(pod) {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names, err
}

var selectors sync.Map // by Service

// KeepsTheSelector keeps the selector that a Service had in the first call.
func KeepsTheSelector(pods corelisters.PodLister, service *corev1.Service) ([]string, error) {
	first, _ := selectors.LoadOrStore(cache.MetaObjectToName(service), service.Spec.Selector)
	service = service.DeepCopy()
	service.Spec.Selector = first.(map[string]string)
	return PodsOf(pods, service)
}

// LooksForTheBeginningOfTheKey takes a namespace whose name begins in the same way for the Service's.
func LooksForTheBeginningOfTheKey(pods corelisters.PodLister, service *corev1.Service) ([]string, error) {
	if len(service.Spec.Selector) == 0 {
		return nil, nil
	}
	found, err := pods.List(labels.SelectorFromSet(service.Spec.Selector))
	var names []string
	for _, pod := range found {
		if strings.HasPrefix(cache.MetaObjectToName(pod).String(), service.Namespace) {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names, err
}

// TakesNotFoundForNoPods returns no error if the lister returns NotFound.
func TakesNotFoundForNoPods(pods corelisters.PodLister, service *corev1.Service) ([]string, error) {
	names, err := PodsOf(pods, service)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return names, err
}
