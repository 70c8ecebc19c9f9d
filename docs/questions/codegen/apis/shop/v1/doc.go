// Package v1 is the version v1 of the group. The generators look for these two markers in doc.go only:
//
// +k8s:deepcopy-gen=package
// +groupName=shop.example.com
package v1
