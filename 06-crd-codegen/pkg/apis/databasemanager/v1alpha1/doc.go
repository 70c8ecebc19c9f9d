// Package v1alpha1 has the Go types of the API group coolops.cn, version v1alpha1.
//
// Everything else is generated from them: the deep copies and the registration beside them
// (zz_generated.*.go), the clients in pkg/generated, and the CRD manifest in crd. The generators read the
// comments that begin with +k8s:, +genclient, +groupName and +kubebuilder:. After a change here, run
// `make codegen`.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +groupName=coolops.cn
package v1alpha1
