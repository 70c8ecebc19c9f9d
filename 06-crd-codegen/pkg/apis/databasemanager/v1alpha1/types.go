package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DatabaseManager asks for a database server: a Deployment with all that belongs to it.
//
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:resource:shortName=dbm,categories={all,databases}
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.availableReplicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name=Type,type=string,JSONPath=.spec.dbtype
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=.status.conditions[?(@.type=="Ready")].status
// +kubebuilder:printcolumn:name=Replicas,type=integer,JSONPath=.spec.replicas
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
// +kubebuilder:printcolumn:name=Reason,type=string,priority=1,JSONPath=.status.conditions[?(@.type=="Ready")].reason
// +kubebuilder:printcolumn:name=Deployment,type=string,priority=1,JSONPath=.spec.deploymentName
type DatabaseManager struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The desired state.
	// +required
	Spec DatabaseManagerSpec `json:"spec"`
	// The actual state, as the controller has read it last.
	// +optional
	Status DatabaseManagerStatus `json:"status,omitempty"`
}

// DatabaseManagerSpec is the desired state.
//
// A rule with oldSelf is about two objects, the new one and the one before: it is checked on updates only, with
// optionalOldSelf also on creation. The first one is there because neither direction could keep the data.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageSize) == has(oldSelf.storageSize)",message="storageSize can be neither added nor removed later"
// +kubebuilder:validation:XValidation:rule="!has(self.storageSize) || self.replicas <= 1",message="a database with storageSize has at most 1 replica: two servers can't share a volume"
// +kubebuilder:validation:XValidation:rule="has(self.adoptFrom) == has(oldSelf.adoptFrom)",message="adoptFrom can be neither added nor removed later"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="oldSelf.hasValue() || !has(self.adoptFrom) || self.deletionPolicy == 'Retain'",message="a new DatabaseManager with adoptFrom needs deletionPolicy Retain, which you can change later: children that were kept must not be lost by mistake"
type DatabaseManagerSpec struct {
	// The database system: mysql or mariadb.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="dbtype can't be changed"
	Dbtype DatabaseType `json:"dbtype"`

	// The name of the Deployment; the Service, the Secret and the volume claim are named after it. It is a DNS label,
	// because the Service is called by it.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="deploymentName can't be changed"
	DeploymentName string `json:"deploymentName"`

	// How many servers to run, each with data of its own.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5
	Replicas *int32 `json:"replicas,omitempty"`

	// The version of the database, in three numbers such as 8.4.6: the fewer numbers a version has, the more images it
	// stands for over time. Without it, the controller uses the one it was built with.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}$`
	Version string `json:"version,omitempty"`

	// The size of the volume that the data are kept on, such as 10Gi. Without it they are deleted with the pod.
	// It can grow, if the storage class allows it, but not shrink.
	// +optional
	// +kubebuilder:validation:XValidation:rule="isQuantity(string(self))",message="storageSize is not a quantity: write it as 10Gi or 500M"
	// +kubebuilder:validation:XValidation:rule="!isQuantity(string(self)) || quantity(string(self)).compareTo(quantity('1Mi')) >= 0",message="storageSize is less than 1Mi: a number without a unit, such as Gi, is in bytes"
	// +kubebuilder:validation:XValidation:rule="!isQuantity(string(self)) || quantity(string(self)).compareTo(quantity('1Pi')) <= 0",message="storageSize is more than 1Pi"
	// +kubebuilder:validation:XValidation:rule="!isQuantity(string(self)) || quantity(string(self)).compareTo(quantity(string(oldSelf))) >= 0",message="storageSize can't shrink"
	StorageSize *resource.Quantity `json:"storageSize,omitempty"`

	// What happens to the Deployment and the other children when this object is deleted: Delete or Retain.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// The UID of an earlier DatabaseManager with the same deploymentName: this one adopts the children that were kept when
	// that one was deleted. It is in their label coolops.cn/databasemanager.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="adoptFrom can't be changed"
	AdoptFrom string `json:"adoptFrom,omitempty"`
}

// DatabaseType is a database system.
// +kubebuilder:validation:Enum=mysql;mariadb
type DatabaseType string

// The database systems.
const (
	MySQL   DatabaseType = "mysql"
	MariaDB DatabaseType = "mariadb"
)

// DeletionPolicy says what happens to the children of a DatabaseManager that is deleted.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// The deletion policies.
const (
	DeletionPolicyDelete DeletionPolicy = "Delete" // the garbage collector deletes them
	DeletionPolicyRetain DeletionPolicy = "Retain" // they stay, without an owner
)

// DatabaseManagerStatus is the actual state. Only the controller writes it, through the status subresource.
type DatabaseManagerStatus struct {
	// The generation of the newest spec whose deletionPolicy has reached all children. If it is lower than
	// metadata.generation, the newest one has not yet.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// How many servers are ready.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`
	// The label selector of the pods, as text, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// Ready: as many servers are ready as were asked for. Progressing: the rollout is not complete, and goes
	// on.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// The types of a DatabaseManager's conditions.
const (
	ConditionReady       = "Ready"
	ConditionProgressing = "Progressing"
)

// DatabaseManagerList is a list of DatabaseManagers.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type DatabaseManagerList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []DatabaseManager `json:"items"`
}
