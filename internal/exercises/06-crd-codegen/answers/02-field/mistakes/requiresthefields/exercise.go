// Package requiresthefields has fields that cannot be left out.
//
// +groupName=coolops.cn
// +versionName=v1alpha1
package requiresthefields

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

	// +kubebuilder:default=6379
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// +kubebuilder:validation:Enum=LRU;LFU;Random
	Eviction string `json:"eviction"`
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	Zones []string `json:"zones"`
}
