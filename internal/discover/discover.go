// Package discover asks a server's discovery API what a name such as "deploy" or "deployments.apps" stands for.
package discover

import (
	"context"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"example.com/client-go-workbook/internal/connect"
	"example.com/client-go-workbook/internal/program"
)

// Watchable returns the group and version of the resource with this name, and whether its objects belong to namespaces. It
// returns a [program.UsageError] if there is none, or if it cannot be listed and watched: some can only be created, and
// bring their answer with them.
func Watchable(ctx context.Context, config *rest.Config, name string) (*apimeta.RESTMapping, error) {
	wanted := schema.ParseGroupResource(name)
	if wanted.Resource == "" {
		return nil, program.Usagef("--resource %q names no resource: write one such as pods, deploy or deployments.apps", name)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClientWithContext(client)
	mapper := restmapper.NewShortcutExpanderWithContext(restmapper.NewDeferredDiscoveryRESTMapperWithContext(cached), cached, nil)
	kind, err := mapper.KindForWithContext(ctx, wanted.WithVersion(""))
	var mapping *apimeta.RESTMapping
	if err == nil {
		mapping, err = mapper.RESTMappingWithContext(ctx, kind.GroupKind(), kind.Version)
	}
	if apimeta.IsNoMatchError(err) {
		return nil, program.Usagef("%s", connect.Explain(err))
	}
	if err != nil {
		return nil, err
	}
	resources, err := cached.ServerResourcesForGroupVersionWithContext(ctx, mapping.Resource.GroupVersion().String())
	if err != nil {
		return nil, err
	}
	isIt := func(r metav1.APIResource) bool { return r.Name == mapping.Resource.Resource }
	if i := slices.IndexFunc(resources.APIResources, isIt); i >= 0 {
		verbs := resources.APIResources[i].Verbs
		if !slices.Contains(verbs, "list") || !slices.Contains(verbs, "watch") {
			return nil, program.Usagef("%s cannot be listed and watched, the verbs are: %s: "+
				"choose from `scripts/kubectl api-resources --verbs=list,watch`",
				mapping.Resource.GroupResource(), strings.Join(verbs, ", "))
		}
	}
	return mapping, nil
}
