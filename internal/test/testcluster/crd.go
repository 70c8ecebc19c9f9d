package testcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// InstallDatabaseManagers puts chapter 6's CRD on the cluster, or brings it up to date, as [InstallCRD] does.
func InstallDatabaseManagers(t testing.TB, config *rest.Config) {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join(Root(t), "06-crd-codegen", "crd", "coolops.cn_databasemanagers.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := InstallCRD(t.Context(), config, manifest); err != nil {
		t.Fatal(err)
	}
}

// InstallCRD applies the manifest of a CRD, and waits until objects of its first version can be listed.
func InstallCRD(ctx context.Context, config *rest.Config, manifest []byte) error {
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
	options := metav1.ApplyOptions{FieldManager: "testcluster", Force: true}
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
