package lister

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/podstore"
)

type selectorAnswer = func(pods corelisters.PodLister, service *corev1.Service) ([]string, error)

// Selector grades the answers to "The pods of a Service".
var Selector = grade.Exercise[selectorAnswer]{Grade: gradePodsOf}

func gradePodsOf(t *grade.T, podsOf selectorAnswer) {
	store := podstore.New()
	lister := corelisters.NewPodLister(store)
	app := fmt.Sprintf("app-%d", t.Rand.IntN(1000))
	newService := func(namespace string, selector map[string]string) *corev1.Service {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app}}
		service.Spec.Selector = selector
		return service
	}
	services := []*corev1.Service{
		newService("shop", map[string]string{"app": app, "tier": "front"}),
		newService("bank", map[string]string{"app": app, "tier": "front"}),
		newService("shop", map[string]string{"tier": "back"}),
		newService("bank", map[string]string{"app": app, "tier": "front", "canary": ""}),
	}

	// Three pods for all that a label can be: right, another value, missing.
	var pods []*corev1.Pod
	numbers := t.Rand.Perm(1000)
	for combination := range 3 * 3 * 3 * 3 {
		has := map[string]string{}
		set := func(key string, choice int, values ...string) {
			if choice < len(values) {
				has[key] = values[choice]
			}
		}
		set("app", combination%3, app, "other")
		set("tier", combination/3%3, "front", "back")
		set("canary", combination/9%3, "", "yes")
		set("version", combination/27, "1", "2")
		for _, namespace := range []string{"shop", "bank", "shop-2"} {
			name := fmt.Sprintf("%s-%d", app, numbers[len(pods)])
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: has}}
			// The state of a pod does not count.
			pod.Status.Phase = corev1.PodRunning
			switch combination / 9 % 5 {
			case 1:
				pod.Status.Phase = corev1.PodPending
			case 2:
				pod.Status.Phase = corev1.PodSucceeded
			case 3:
				pod.Status.Phase = corev1.PodFailed
			case 4:
				pod.DeletionTimestamp = new(metav1.Now())
			}
			pods = append(pods, pod)
		}
	}
	var objects []any
	for _, pod := range pods {
		if err := store.Add(pod); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, pod)
	}
	for _, service := range services {
		objects = append(objects, service)
	}
	unchanged := t.Unchanged(objects...)

	for i, service := range services {
		got, err := podsOf(lister, service)
		if err != nil {
			t.Reject("no error", err.Error(), "the lister's List")
		}
		for _, earlier := range services[:i] {
			if earlier.Namespace == service.Namespace && slices.Equal(got, namesOf(pods, earlier)) {
				t.Reject("the pods of the Service's selector, "+labels.FormatLabels(service.Spec.Selector),
					"those of the selector that it had in an earlier call", "what do you keep from a call? A Service's selector can change")
			}
		}
		comparePods(t, service, pods, got)
	}
	// The store changes: the first of all pods that belong to the Service is deleted.
	first := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return whyNot(pod, services[0]) == "" })
	if err := store.Delete(pods[first]); err != nil {
		t.Fatal(err)
	}
	pods = slices.Delete(pods, first, first+1)
	got, err := podsOf(lister, services[0])
	if err != nil {
		t.Reject("no error", err.Error(), "the lister's List")
	}
	comparePods(t, services[0], pods, got)
	// Another store has nothing but the other ones.
	others := slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return whyNot(pod, services[0]) != "" })
	other := podstore.New()
	for _, pod := range others {
		if err := other.Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	if got, err = podsOf(corelisters.NewPodLister(other), services[0]); err != nil {
		t.Reject("no error", err.Error(), "the lister's List")
	}
	comparePods(t, services[0], others, got)

	for _, none := range []map[string]string{nil, {}} {
		if got, err := podsOf(lister, newService("shop", none)); err != nil || len(got) > 0 {
			t.Reject("no name and no error for a Service that has no selector",
				fmt.Sprintf("%d names, error: %v", len(got), err),
				"what SelectorFromSet says about an empty set")
		}
	}
	unchanged()

	for _, failure := range []error{
		fmt.Errorf("failure %d of the lister", t.Rand.IntN(1000)),
		apierrors.NewNotFound(corev1.Resource("pods"), app), apierrors.NewForbidden(corev1.Resource("pods"), app, nil),
		apierrors.NewServiceUnavailable(app), context.Canceled,
	} {
		if got, err := podsOf(failing{lister, failure}, services[0]); err == nil {
			t.Reject("the lister's error: "+failure.Error(),
				fmt.Sprintf("%d names and no error", len(got)),
				"the error that List returns")
		}
	}
}

// comparePods looks at the names that were returned for a Service.
func comparePods(t *grade.T, service *corev1.Service, pods []*corev1.Pod, got []string) {
	t.Helper()
	selector := labels.FormatLabels(service.Spec.Selector)
	const look = "the lister's Pods(namespace).List, and SelectorFromSet in k8s.io/apimachinery/pkg/labels"
	want, known := 0, map[string]bool{}
	for _, pod := range pods {
		reason := whyNot(pod, service)
		known[pod.Name] = true
		switch returned := slices.Contains(got, pod.Name); {
		case returned && reason != "":
			t.Reject(fmt.Sprintf("pods of namespace %s with all labels of the selector, %s", service.Namespace, selector),
				fmt.Sprintf("pod %s, %s", pod.Name, reason), look)
		case !returned && reason == "" && len(got) > 0 && podState(pod) != "":
			t.Reject(fmt.Sprintf("all pods of namespace %s with %s, whatever their state is", service.Namespace, selector),
				fmt.Sprintf("%d pods, without %s, %s", len(got), pod.Name, podState(pod)), "what does a pod need to belong to the Service?")
		case !returned && reason == "":
			t.Reject(fmt.Sprintf("all pods of namespace %s with %s, also if they have others", service.Namespace, selector),
				fmt.Sprintf("%d pods, without %s", len(got), pod.Name), look)
		case returned:
			want++
		}
	}
	for i, name := range got {
		if !known[name] {
			t.Reject("names of pods that are in the store", fmt.Sprintf("%q", name), "do you ask the lister at each call?")
		}
		if slices.Contains(got[:i], name) {
			t.Reject(fmt.Sprintf("%d names, each once", want),
				fmt.Sprintf("%d names, with %s twice", len(got), name),
				"your PodsOf")
		}
	}
	if !slices.IsSorted(got) {
		t.Reject("names in alphabetical order",
			fmt.Sprintf("they are not sorted: %s ...", got[:min(3, len(got))]),
			"Sort in Go's package slices")
	}
}

// namesOf returns the names of a Service's pods.
func namesOf(pods []*corev1.Pod, service *corev1.Service) []string {
	var names []string
	for _, pod := range pods {
		if whyNot(pod, service) == "" {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

// podState says what is special about a pod.
func podState(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return "whose deletion has begun"
	case pod.Status.Phase != corev1.PodRunning:
		return fmt.Sprintf("whose phase is %s", pod.Status.Phase)
	}
	return ""
}

// whyNot says why a pod does not belong to the Service, or nothing if it does.
func whyNot(pod *corev1.Pod, service *corev1.Service) string {
	if pod.Namespace != service.Namespace {
		return "which is in namespace " + pod.Namespace
	}
	for key, value := range service.Spec.Selector {
		switch got, has := pod.Labels[key]; {
		case !has:
			return "which does not have the label " + key
		case got != value:
			return fmt.Sprintf("which has %s=%q", key, got)
		}
	}
	return ""
}

// failing is a lister whose List fails.
type failing struct {
	corelisters.PodLister
	err error
}

func (f failing) List(labels.Selector) ([]*corev1.Pod, error) { return nil, f.err }

func (f failing) Pods(namespace string) corelisters.PodNamespaceLister {
	return failingIn{f.PodLister.Pods(namespace), f}
}

type failingIn struct {
	corelisters.PodNamespaceLister
	all failing
}

func (f failingIn) List(selector labels.Selector) ([]*corev1.Pod, error) { return f.all.List(selector) }
