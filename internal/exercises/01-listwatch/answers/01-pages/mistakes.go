package exercise

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/pager"
)

// ListsAllAfter410 leaves the pages to client-go's pager, which sends a List without a limit when a page has expired.
func ListsAllAfter410(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error) {
	var names []string
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return pods.List(ctx, options)
	})
	pages.PageSize = pageSize
	list, _, err := pages.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	err = apimeta.EachListItem(list, func(object runtime.Object) error {
		names = append(names, object.(*corev1.Pod).Name)
		return nil
	})
	return names, err
}

// ShadowsThePage sets a new variable page in the loop, so Continue stays that of the first page.
func ShadowsThePage(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error) {
	var names []string
	options := metav1.ListOptions{Limit: pageSize}
	page, err := pods.List(ctx, options)
	if err != nil {
		return nil, err
	}
	for _, pod := range page.Items {
		names = append(names, pod.Name)
	}
	for page.Continue != "" {
		options.Continue = page.Continue
		page, err := pods.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for _, pod := range page.Items {
			names = append(names, pod.Name)
		}
	}
	return names, nil
}

// StopsAtAShortPageWithAContinue reads Continue, and yet takes a page that is not full for the last one.
func StopsAtAShortPageWithAContinue(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error) {
	var names []string
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := pods.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for _, pod := range page.Items {
			names = append(names, pod.Name)
		}
		if page.Continue == "" || len(page.Items) < int(pageSize) {
			return names, nil
		}
		options.Continue = page.Continue
	}
}

// StopsWhereNoCountRemains goes by the number of remaining pods, which a server may leave out.
func StopsWhereNoCountRemains(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error) {
	var names []string
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := pods.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for _, pod := range page.Items {
			names = append(names, pod.Name)
		}
		if page.RemainingItemCount == nil || *page.RemainingItemCount == 0 {
			return names, nil
		}
		options.Continue = page.Continue
	}
}

// TakesTheEndOfCtxForTheLastPage returns a part of the names without an error when ctx has ended.
func TakesTheEndOfCtxForTheLastPage(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error) {
	var names []string
	options := metav1.ListOptions{Limit: pageSize}
	for ctx.Err() == nil {
		page, err := pods.List(ctx, options)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, pod := range page.Items {
			names = append(names, pod.Name)
		}
		if page.Continue == "" {
			break
		}
		options.Continue = page.Continue
	}
	return names, nil
}

// DetachesItsRequests gives each page a time limit of its own, and looks at ctx in between only.
func DetachesItsRequests(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) (names []string, err error) {
	options := metav1.ListOptions{Limit: pageSize}
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 7*time.Second)
		page, err := pods.List(limited, options)
		cancel()
		if err != nil {
			return nil, err
		}
		for _, pod := range page.Items {
			names = append(names, pod.Name)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return names, nil
		}
	}
	return nil, ctx.Err()
}
