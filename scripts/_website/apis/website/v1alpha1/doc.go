// Package v1alpha1 has the Go types of the API group example.com, version v1alpha1. ./codegen.sh generates from them and from their
// comments: deep copies and registration beside them, the clients in generated, and the CRD in crd.
//
// +k8s:deepcopy-gen=package
// +groupName=example.com
// +groupGoName=Website
package v1alpha1
