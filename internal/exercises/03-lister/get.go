package lister

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/podstore"
)

type getAnswer = func(pods corelisters.PodLister, namespace, name string) (string, error)

// Get grades the answers to "Get a pod, or learn that there is none".
var Get = grade.Exercise[getAnswer]{Grade: gradeImage}

const podsToGet = 200

func gradeImage(t *grade.T, image getAnswer) {
	store := podstore.New()
	lister := corelisters.NewPodLister(store)
	namespaces := []string{"shop", "bank", "zoo"}
	for number := range podsToGet {
		namespace, name := namespaces[number%len(namespaces)], fmt.Sprintf("web-%d", number/len(namespaces))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		pod.Spec.Containers = []corev1.Container{{Image: fmt.Sprintf("%s:%d", namespace, t.Rand.IntN(1000))}, {Image: "sidecar:1"}}
		if number%2 == 0 { // its status, too, has images, and other containers
			grade.Filled(pod)
		}
		if namespace == namespaces[1] { // as long as its deletion takes, it is there
			pod.DeletionTimestamp = new(metav1.Now())
		}
		if err := store.Add(pod); err != nil {
			t.Fatal(err)
		}
	}

	name := fmt.Sprintf("web-%d", t.Rand.IntN(podsToGet/len(namespaces)))
	check := func(namespace, when string) {
		t.Helper()
		stored, _, err := store.Indexer.GetByKey(namespace + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		want := stored.(*corev1.Pod).Spec.Containers[0].Image
		unchanged := t.Unchanged(stored)
		before := store.Read()
		if got, err := image(lister, namespace, name); err != nil || got != want {
			t.Reject(fmt.Sprintf("the image of pod %s/%s%s, %q, and no error", namespace, name, when, want),
				imageOrError(got, err),
				"the lister's Pods(namespace).Get(name), at each call")
		}
		if read := store.Read() - before; read > 1 {
			t.Reject(fmt.Sprintf("one lookup in the store for pod %s/%s", namespace, name),
				fmt.Sprintf("%d objects read, of %d in the store", read, podsToGet),
				`"By key, by index, by scan" in the chapter's README`)
		}
		unchanged()
	}
	for _, namespace := range namespaces {
		check(namespace, "")
	}
	namespace := namespaces[t.Rand.IntN(len(namespaces))]
	updated := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	updated.Spec.Containers = []corev1.Container{{Image: fmt.Sprintf("updated:%d", t.Rand.IntN(1000))}}
	if err := store.Update(updated); err != nil {
		t.Fatal(err)
	}
	check(namespace, ", which was updated")

	for _, key := range []cache.ObjectName{{Namespace: "farm", Name: name}, {Namespace: namespace, Name: "missing"}} {
		if got, err := image(lister, key.Namespace, key.Name); err != nil || got != "" {
			t.Reject(fmt.Sprintf(`"" and no error for %s, as there is no such pod`, key),
				imageOrError(got, err),
				"IsNotFound in k8s.io/apimachinery/pkg/api/errors")
		}
	}

	failures := []error{fmt.Errorf("failure %d of the store: its disk was not found", t.Rand.IntN(1000))}
	for _, reason := range []metav1.StatusReason{ // all that say something about the object, but NotFound
		metav1.StatusReasonGone, metav1.StatusReasonExpired, metav1.StatusReasonForbidden, metav1.StatusReasonConflict,
		metav1.StatusReasonAlreadyExists, metav1.StatusReasonInvalid, metav1.StatusReasonTimeout, metav1.StatusReasonInternalError,
	} {
		status := metav1.Status{Reason: reason, Message: "the store says " + string(reason)}
		failures = append(failures, &apierrors.StatusError{ErrStatus: status})
	}
	for _, failure := range failures {
		lookups := 0
		store.Failure, store.BeforeRead = failure, func() { lookups++ }
		if got, err := image(lister, namespace, name); err == nil || !strings.Contains(err.Error(), failure.Error()) {
			t.Reject(fmt.Sprintf("the lister's error: %v", failure),
				imageOrError(got, err),
				"what your code does with an error that is not NotFound")
		}
		if lookups > 1 {
			t.Reject("one lookup in the store, also if it fails", fmt.Sprintf("%d lookups", lookups),
				"who tries again: Image, or its caller?")
		}
	}
}

func imageOrError(got string, err error) string {
	if err != nil {
		return fmt.Sprintf("%q and the error %v", got, err)
	}
	return fmt.Sprintf("%q and no error", got)
}
