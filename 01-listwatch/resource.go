// resource.go: the two requests, List and Watch, for any resource.
// Before: watch.go.

package main

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/discover"
	"example.com/client-go-workbook/internal/program"
)

// newListWatch returns the two requests: a List, which has one short answer, and a Watch, which has one answer that does
// not end.
func newListWatch(ctx context.Context, config *rest.Config, s selection) (*cache.ListWatch, error) {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if err := program.CheckNamespace(ctx, clientset, s.namespace); err != nil {
		return nil, err
	}
	switch s.resource {
	case "pods", "pod", "po":
		// The typed client has a Go type for pods, corev1.Pod, and asks the server for protobuf.
		return listWatchOf(clientset.CoreV1().Pods(s.namespace), s), nil
	}

	// All other resources, custom resources too, go through the dynamic client. It has no types: objects are maps, decoded
	// from JSON. It has no paths either, so the program asks the server for the resource's group and version.
	mapping, err := discover.Watchable(ctx, config, s.resource)
	if err != nil {
		return nil, err
	}
	if s.namespace != "" && mapping.Scope.Name() == apimeta.RESTScopeNameRoot {
		return nil, program.Usagef("%s belong to no namespace: leave --namespace away", mapping.Resource.Resource)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return listWatchOf(client.Resource(mapping.Resource).Namespace(s.namespace), s), nil
}

// listWatchOf returns the two requests of a client, with the selectors in their options.
func listWatchOf[L runtime.Object](client client[L], s selection) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector, options.FieldSelector = s.labels.String(), s.fields.String()
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector, options.FieldSelector = s.labels.String(), s.fields.String()
			return client.Watch(ctx, options)
		},
	}
}

// client is what the typed and the dynamic client have in common. L is the type of a list, such as *corev1.PodList.
type client[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// selection says what to list and watch.
type selection struct {
	resource, namespace string
	labels              labels.Selector
	fields              fields.Selector
}
