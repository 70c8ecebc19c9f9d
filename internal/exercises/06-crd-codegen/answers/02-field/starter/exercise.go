// Package exercise answers "Add fields, and generate the CRD". README.md has the task.
//
// +groupName=coolops.cn
// +versionName=v1alpha1
package exercise

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Cache asks for a cache.
//
// +kubebuilder:resource:scope=Cluster
type Cache struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec CacheSpec `json:"spec"`
}

// CacheSpec is the desired state.
type CacheSpec struct {
	// The size of the cache in MiB.
	// +kubebuilder:validation:Minimum=1
	Megabytes int32 `json:"megabytes"`

	// TODO: port, eviction, zones
}
