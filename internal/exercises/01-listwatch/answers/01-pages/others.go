package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/pager"
)

// LeavesThePagesToThePager leaves the pages to client-go's pager.
func LeavesThePagesToThePager(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error) {
	var names []string
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return pods.List(ctx, options)
	})
	pages.PageSize = pageSize
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		names = append(names, object.(*corev1.Pod).Name)
		return nil
	})
	return names, err
}

// KeepsNoOrder collects the names in a set, and has one loop whose condition is the text in Continue.
func KeepsNoOrder(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error) {
	names := sets.New[string]()
	for token, more := "", true; more; {
		page, err := pods.List(ctx, metav1.ListOptions{Limit: pageSize, Continue: token})
		if err != nil {
			return nil, err
		}
		for _, pod := range page.Items {
			names.Insert(pod.Name)
		}
		token, more = page.Continue, page.Continue != ""
	}
	return names.UnsortedList(), nil
}
