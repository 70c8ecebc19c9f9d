package exercise

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// AsksForAllAtOnce sets no limit, so all pods come in one answer.
func AsksForAllAtOnce(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error) {
	var names []string
	page, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, pod := range page.Items {
		names = append(names, pod.Name)
	}
	return names, nil
}

// AsksForTheFirstPageAgain never sets Continue: each answer is the first page.
func AsksForTheFirstPageAgain(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error) {
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
		if page.Continue == "" {
			return names, nil
		}
	}
}

// IgnoresTheErrorOfAPage returns the names of the pages before the one that failed, as if they were all.
func IgnoresTheErrorOfAPage(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error) {
	var names []string
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := pods.List(ctx, options)
		if err != nil {
			break
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

// KeepsTheLastPage replaces the names at each page, instead of adding to them.
func KeepsTheLastPage(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error) {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := pods.List(ctx, options)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, pod := range page.Items {
			names = append(names, pod.Name)
		}
		if page.Continue == "" {
			return names, nil
		}
		options.Continue = page.Continue
	}
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

// StopsAtAShortPage takes a page that is not full for the last one.
func StopsAtAShortPage(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error) {
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
		if len(page.Items) < int(pageSize) {
			return names, nil
		}
		options.Continue = page.Continue
	}
}
