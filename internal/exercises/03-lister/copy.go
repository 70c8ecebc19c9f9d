package lister

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/podstore"
)

type copyAnswer = func(pods corelisters.PodLister, namespace, name, image string) (*corev1.Pod, error)

// Copy grades the answers to "Change a pod, but not the one in the store".
var Copy = grade.Exercise[copyAnswer]{Grade: gradePrepare}

func gradePrepare(t *grade.T, prepare copyAnswer) {
	store := podstore.New()
	lister := corelisters.NewPodLister(store)
	number := t.Rand.IntN(1000)
	image := fmt.Sprintf("nginx:2.%d", number)
	already := fullPod(t, "shop", "already", map[string]string{"app": "web"})
	already.Spec.Containers[0].Image = image
	for _, stored := range []*corev1.Pod{
		already,
		fullPod(t, "shop", "web", map[string]string{"app": fmt.Sprintf("web-%d", number)}),
		fullPod(t, "bank", "web", map[string]string{"app": fmt.Sprintf("bank-%d", number)}),
		fullPod(t, "shop", "bare", nil),
		fullPod(t, "shop", "again", map[string]string{"app": "web", "reviewed": "false"}),
		fullPod(t, "shop", "web", map[string]string{"app": "changed since the first call"}),
	} {
		if err := store.Add(stored); err != nil {
			t.Fatal(err)
		}
		was, unchanged := stored.DeepCopy(), t.Unchanged(stored)
		key := stored.Namespace + "/" + stored.Name
		got, err := prepare(lister, stored.Namespace, stored.Name, image)
		if err != nil || got == nil {
			t.Reject(fmt.Sprintf("pod %s with image %s", key, image), fmt.Sprintf("pod %v, error: %v", got, err), "your Prepare")
		}
		if changed := difference(stored, was); changed != "" {
			t.Reject(fmt.Sprintf("pod %s in the store as it was, with image %s", key, was.Spec.Containers[0].Image),
				"in the store, "+changed,
				`"Deep copy" in the chapter's README`)
		}
		unchanged() // a map without entries, too

		want := was.DeepCopy()
		want.Spec.Containers[0].Image = image
		want.Labels = map[string]string{}
		maps.Copy(want.Labels, was.Labels)
		want.Labels["reviewed"] = "true"
		if wrong := difference(got, want); wrong != "" {
			t.Reject(fmt.Sprintf("pod %s with image %s and labels %v, and all else as before", key, image, want.Labels),
				"in the pod that you return, "+wrong,
				"what you copy, and what you set")
		}
	}

	missing := fmt.Sprintf("web-%d", number)
	if _, err := prepare(lister, "shop", missing, "nginx:2"); !apierrors.IsNotFound(err) {
		t.Reject("the lister's error NotFound for pod shop/"+missing, fmt.Sprintf("error: %v", err), "the error that Get returns")
	}
	store.Failure = fmt.Errorf("failure %d of the store", number)
	if _, err := prepare(lister, "shop", "web", "nginx:2"); err == nil || !strings.Contains(err.Error(), store.Failure.Error()) {
		t.Reject(fmt.Sprintf("the lister's error: %v", store.Failure),
			fmt.Sprintf("error: %v", err),
			"the error that Get returns")
	}
}

// fullPod is a pod with more than labels and an image.
func fullPod(t *grade.T, namespace, name string, labels map[string]string) *corev1.Pod {
	number := t.Rand.IntN(1000)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	pod.ResourceVersion, pod.UID = fmt.Sprint(number+1), types.UID("uid-"+namespace+"-"+name)
	pod.Annotations = map[string]string{"team": fmt.Sprintf("team-%d", number)}
	pod.Spec.NodeName = fmt.Sprintf("node-%d", number)
	main := corev1.Container{Name: "main", Image: fmt.Sprintf("nginx:1.%d", number), Command: []string{"nginx"}}
	pod.Spec.Containers = []corev1.Container{main, {Name: "sidecar", Image: "envoy:1"}}
	pod.Status.Phase = corev1.PodRunning
	return grade.Room(pod)
}

// difference names a field that is not as it should be. It returns nothing if there is none.
func difference(got, want *corev1.Pod) string {
	is, shouldBe := podFields(got), podFields(want)
	for _, field := range slices.Sorted(maps.Keys(shouldBe)) {
		if is[field] == "" {
			return field + " is missing"
		}
		if is[field] != shouldBe[field] {
			return fmt.Sprintf("%s is %s", field, is[field])
		}
	}
	for _, field := range slices.Sorted(maps.Keys(is)) {
		if shouldBe[field] == "" {
			return fmt.Sprintf("%s is %s", field, is[field])
		}
	}
	return ""
}

// podFields returns the fields of a pod, such as spec.containers[0].image, with their values.
func podFields(pod *corev1.Pod) map[string]string {
	found := map[string]string{}
	var add func(field string, value any)
	add = func(field string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, value := range value {
				add(strings.TrimPrefix(field+"."+name, "."), value)
			}
		case []any:
			for i, value := range value {
				add(fmt.Sprintf("%s[%d]", field, i), value)
			}
		default:
			found[field] = fmt.Sprintf("%#v", value)
		}
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		panic(err)
	}
	add("", object)
	return found
}
