package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Website asks for a Deployment and a Service. They have its name, and a Service accepts no other names than these.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:resource:path=websites
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",message="the name has at most 63 lower case letters, digits and hyphens, and begins with a letter"
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=.status.conditions[?(@.type=="Ready")].status
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
type Website struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	// +required
	Spec WebsiteSpec `json:"spec"`
	// The actual state, as the controller has read it last.
	// +optional
	Status WebsiteStatus `json:"status,omitempty"`
}

// WebsiteSpec is the desired state.
type WebsiteSpec struct {
	// The image of the containers, such as nginx:1.29.
	// +required
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^[a-z0-9][A-Za-z0-9./:@_-]*$`
	Image string `json:"image"`

	// How many pods to run.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Replicas *int32 `json:"replicas,omitempty"`
}

// WebsiteStatus is the actual state. Only the controller writes it, through the status subresource.
type WebsiteStatus struct {
	// The generation of the newest spec that the controller has seen.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Ready: as many pods are ready as were asked for.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionReady is the type of the condition.
const ConditionReady = "Ready"

// WebsiteList is what the API server answers to a list.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Website `json:"items"`
}
