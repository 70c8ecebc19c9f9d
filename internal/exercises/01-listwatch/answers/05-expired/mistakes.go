package exercise

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// AsksForTheSameVersionAgain repeats the request that the server has rejected.
func AsksForTheSameVersionAgain(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return mirror(ctx, pods, report, repeats{known{}}, apierrors.IsResourceExpired)
}

type repeats struct{ known }

func (k repeats) watchFrom(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
	err := k.known.watchFrom(ctx, pods, resourceVersion, report)
	for apierrors.IsResourceExpired(err) && ctx.Err() == nil {
		err = k.known.watchFrom(ctx, pods, resourceVersion, report)
	}
	return err
}

// ComparesTheNames compares names only: a pod with another UID is taken for a change.
func ComparesTheNames(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return mirror(ctx, pods, report, names{known{}}, apierrors.IsResourceExpired)
}

type names struct{ known }

func (k names) replace(list []corev1.Pod, report func(event, name string)) {
	for i := range list {
		if old := k.known[list[i].Name]; old != nil {
			old.UID = list[i].UID // as if it were the same pod
		}
	}
	k.known.replace(list, report)
}

// ForgetsChangesOfTheWatch does not remember the versions that the watch has reported as MODIFIED, and reports them again.
func ForgetsChangesOfTheWatch(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return mirror(ctx, pods, report, unchanged{known{}}, apierrors.IsResourceExpired)
}

type unchanged struct{ known }

func (k unchanged) watchFrom(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
	before := maps.Clone(k.known)
	return k.known.watchFrom(ctx, pods, resourceVersion, func(event, name string) {
		if event == "MODIFIED" && before[name] != nil {
			k.known[name] = before[name]
		}
		report(event, name)
	})
}

// ForgetsTheDeletions compares the new list only with what it knew: what has gone is not in the list.
func ForgetsTheDeletions(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return mirror(ctx, pods, report, listed{known{}}, apierrors.IsResourceExpired)
}

type listed struct{ known }

func (k listed) replace(list []corev1.Pod, report func(event, name string)) {
	for _, pod := range list {
		switch old := k.known[pod.Name]; {
		case old == nil:
			report("ADDED", pod.Name)
		case old.ResourceVersion != pod.ResourceVersion:
			report("MODIFIED", pod.Name)
		}
		k.known[pod.Name] = &pod
	}
}

// ForgetsWhatTheWatchBrought knows only what the lists have brought.
func ForgetsWhatTheWatchBrought(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return mirror(ctx, pods, report, fromLists{known{}}, apierrors.IsResourceExpired)
}

type fromLists struct{ known }

func (k fromLists) watchFrom(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
	return maps.Clone(k.known).watchFrom(ctx, pods, resourceVersion, report)
}

// ListsAgainAfter403 takes a request that is forbidden for an expired version, and sends it again and again.
func ListsAgainAfter403(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	expired := func(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsForbidden(err) }
	return mirror(ctx, pods, report, known{}, expired)
}

// ListsAnyVersionAfter410 asks for any state: the one in the server's cache can be older than what was reported.
func ListsAnyVersionAfter410(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return mirror(ctx, anyVersion{pods}, report, known{}, apierrors.IsResourceExpired)
}

type anyVersion struct{ typedcorev1.PodInterface }

func (v anyVersion) List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	options.ResourceVersion = "0"
	return v.PodInterface.List(ctx, options)
}

// KeepsThePodsOfBookmarks takes the empty pod of a bookmark for one that is there: the next list does not have it.
func KeepsThePodsOfBookmarks(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	k := known{}
	return mirror(ctx, bookmarked{pods, k}, report, k, apierrors.IsResourceExpired)
}

type bookmarked struct {
	typedcorev1.PodInterface
	known known
}

func (b bookmarked) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := b.PodInterface.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
		if event.Type == watch.Bookmark {
			b.known[""] = event.Object.(*corev1.Pod)
		}
		return event, true
	}), nil
}

// ListsOnePage sets a limit, and takes the first page for the list.
func ListsOnePage(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return mirror(ctx, onePage{pods}, report, known{}, apierrors.IsResourceExpired)
}

type onePage struct{ typedcorev1.PodInterface }

func (o onePage) List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	options.Limit = 500
	return o.PodInterface.List(ctx, options)
}

// LooksForGreaterTexts compares versions as texts: 10001 seems to be older than 9998.
func LooksForGreaterTexts(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return mirror(ctx, pods, report, greater{known{}}, apierrors.IsResourceExpired)
}

type greater struct{ known }

func (k greater) replace(list []corev1.Pod, report func(event, name string)) {
	for i := range list {
		if old := k.known[list[i].Name]; old != nil && list[i].ResourceVersion < old.ResourceVersion {
			old.ResourceVersion = list[i].ResourceVersion // as if nothing had changed
		}
	}
	k.known.replace(list, report)
}

// LooksForGoneOnly recognizes one of the two errors for a version that is too old.
func LooksForGoneOnly(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return mirror(ctx, pods, report, known{}, apierrors.IsGone)
}

// ReportsAllAgain forgets all that it knew before the new list.
func ReportsAllAgain(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return mirror(ctx, pods, report, nothing{known{}}, apierrors.IsResourceExpired)
}

type nothing struct{ known }

func (k nothing) replace(list []corev1.Pod, report func(event, name string)) {
	for _, pod := range list {
		k.known[pod.Name] = &pod
		report("ADDED", pod.Name)
	}
}

// TakesAFailedListForAnEmptyOne compares before it looks at the error: then each pod seems to have gone.
func TakesAFailedListForAnEmptyOne(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	k := known{}
	for {
		list, err := pods.List(ctx, metav1.ListOptions{})
		k.replace(list.Items, report)
		if err == nil {
			err = k.watchFrom(ctx, pods, list.ResourceVersion, report)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case apierrors.IsResourceExpired(err):
		default:
			return err
		}
	}
}

// mirror is Mirror with another k, or with another function that recognizes the error for a version that is too old.
func mirror(
	ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string),
	k interface {
		replace(list []corev1.Pod, report func(event, name string))
		watchFrom(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error
	},
	expired func(error) bool,
) error {
	for {
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err == nil {
			k.replace(list.Items, report)
			err = k.watchFrom(ctx, pods, list.ResourceVersion, report)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case expired(err):
		default:
			return err
		}
	}
}
