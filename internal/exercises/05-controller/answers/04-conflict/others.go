package exercise

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// SendsAPatchWithTheVersion has a loop, and a patch that carries the resourceVersion.
func SendsAPatchWithTheVersion(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	for {
		configMap, err := configMaps.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		count, err := strconv.Atoi(configMap.Data["count"])
		if err != nil {
			return err
		}
		patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"data":{"count":"%d"}}`, configMap.ResourceVersion, count+1)
		_, err = configMaps.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if !apierrors.IsConflict(err) {
			return err // nil, or when ctx ends, its error
		}
	}
}
