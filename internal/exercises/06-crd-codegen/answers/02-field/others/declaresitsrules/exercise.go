// Package declaresitsrules declares its rules in other ways: by declarative validation, by a type, by CEL.
//
// +groupName=coolops.cn
// +versionName=v1alpha1
package declaresitsrules

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

	// +k8s:optional
	// +default=6379
	// +k8s:minimum=1024
	// +k8s:maximum=65535
	Port *int64 `json:"port"`

	Eviction *Eviction `json:"eviction,omitempty"`

	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, x == y))",message="a zone is there twice"
	Zones []string `json:"zones,omitempty"`
}

// Eviction says what is removed first.
// +kubebuilder:validation:Enum={LRU,LFU,Random}
type Eviction string
