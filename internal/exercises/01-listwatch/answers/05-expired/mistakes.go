package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// AsksForTheSameVersionAgain repeats the request that the server has rejected.
func AsksForTheSameVersionAgain(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return mirror(ctx, pods, report, repeats{known{}})
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

// ForgetsTheDeletions compares the new list only with what it knew: what has gone is not in the list.
func ForgetsTheDeletions(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return mirror(ctx, pods, report, listed{known{}})
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

// ListsAnyVersionAfter410 asks for any state: the one in the server's cache can be older than what was reported.
func ListsAnyVersionAfter410(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return mirror(ctx, anyVersion{pods}, report, known{})
}

type anyVersion struct{ typedcorev1.PodInterface }

func (v anyVersion) List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	options.ResourceVersion = "0"
	return v.PodInterface.List(ctx, options)
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

// mirror is Mirror with another k.
func mirror(
	ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string),
	k interface {
		replace(list []corev1.Pod, report func(event, name string))
		watchFrom(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error
	},
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
		case apierrors.IsResourceExpired(err):
		default:
			return err
		}
	}
}
