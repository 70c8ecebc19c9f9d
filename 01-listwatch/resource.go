package main

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/connect"
	"example.com/client-go-workbook/internal/program"
)

// selection says what to list and watch.
type selection struct {
	resource, namespace string
	labels              labels.Selector
	fields              fields.Selector
}

func (s selection) modify(options *metav1.ListOptions) {
	options.LabelSelector = s.labels.String()
	options.FieldSelector = s.fields.String()
}

// newListWatch returns the pair of requests: a List, which is one short answer, and a Watch, which is one
// answer that does not end.
func newListWatch(ctx context.Context, config *rest.Config, s selection) (*cache.ListWatch, error) {
	wanted := schema.ParseGroupResource(s.resource)
	if wanted.Resource == "" {
		return nil, program.Usagef("--resource %q names no resource: write one such as pods, deploy or deployments.apps", s.resource)
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	if err := program.CheckNamespace(ctx, clientset, s.namespace); err != nil {
		return nil, err
	}
	switch s.resource {
	case "pods", "pod", "po":
		// The typed client knows pods as a Go type, corev1.Pod, and asks for them in protobuf. This makes the same
		// requests as clientset.CoreV1().Pods(namespace).List and .Watch.
		return cache.NewFilteredListWatchFromClient(clientset.CoreV1().RESTClient(), "pods", s.namespace, s.modify), nil
	}

	// Any other resource, custom ones included, goes through the dynamic client, which knows no types:
	// objects are maps, decoded from JSON. It does not know paths either, so the server is asked which
	// group and version the resource belongs to.
	mapping, err := findResource(ctx, config, wanted)
	if meta.IsNoMatchError(err) {
		return nil, program.Usagef("%s", connect.Explain(err))
	}
	if err != nil {
		return nil, err
	}
	if s.namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return nil, program.Usagef("%s belong to no namespace: leave --namespace away", mapping.Resource.Resource)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	resource := client.Resource(mapping.Resource).Namespace(s.namespace)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			s.modify(&options)
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			s.modify(&options)
			return resource.Watch(ctx, options)
		},
	}, nil
}

// findResource asks the server's discovery what a name such as "deploy" or "deployments.apps" stands for. The answer,
// a mapping, has its group and version, and whether its objects belong to namespaces.
func findResource(ctx context.Context, config *rest.Config, wanted schema.GroupResource) (*meta.RESTMapping, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClientWithContext(client)
	mapper := restmapper.NewShortcutExpanderWithContext(restmapper.NewDeferredDiscoveryRESTMapperWithContext(cached), cached, nil)
	kind, err := mapper.KindForWithContext(ctx, wanted.WithVersion(""))
	if err != nil {
		return nil, err
	}
	return mapper.RESTMappingWithContext(ctx, kind.GroupKind(), kind.Version)
}
