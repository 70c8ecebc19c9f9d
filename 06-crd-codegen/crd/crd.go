// Package crd has the manifest of the CRD that is generated from pkg/apis, and installs it for tests. For a
// reader who runs the chapter, it is installed by scripts/apply-samples.sh, or by `scripts/kubectl apply -f 06-crd-codegen/crd`.
package crd

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

//go:embed coolops.cn_databasemanagers.yaml
var manifest []byte

// Install puts the CRD on the cluster, or brings it up to date, and waits until objects of it can be listed.
func Install(ctx context.Context, config *rest.Config) error {
	return InstallManifest(ctx, config, manifest)
}

// InstallManifest is [Install] for any CRD. Of several versions it waits for the first.
func InstallManifest(ctx context.Context, config *rest.Config, manifest []byte) error {
	definition := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(manifest, &definition.Object); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	apiextensions := schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}
	definitions := client.Resource(apiextensions.WithResource("customresourcedefinitions"))
	options := metav1.ApplyOptions{FieldManager: "crd.Install", Force: true}
	if _, err := definitions.Apply(ctx, definition.GetName(), definition, options); err != nil {
		return err
	}
	plural, group, _ := strings.Cut(definition.GetName(), ".") // a CRD's name is always that
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		return err
	}
	version, _ := versions[0].(map[string]any)["name"].(string)
	objects := client.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: plural})
	// The condition Established comes a moment before the first request that is answered. So this makes requests until one is answered.
	var last error
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		_, last = objects.List(ctx, metav1.ListOptions{Limit: 1})
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the CRD is not served: %w", last)
	}
	return nil
}
