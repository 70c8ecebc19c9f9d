#!/usr/bin/env bash
# Generates what follows from the Go types in apis: deep copies, registration, clients, the CRD; and, from the comments in children.go,
# the role.
set -euo pipefail
cd "$(dirname "$0")"
trap '[ $? -eq 0 ] || go vet ./apis/...' EXIT # the generators do not say which line they cannot read
go mod download k8s.io/code-generator
export GOBIN=${XDG_CACHE_HOME:-${HOME-}/.cache}/client-go-workbook/generators
# shellcheck disable=SC1091 # it is in the module cache
. "$(go list -m -f '{{.Dir}}' k8s.io/code-generator)/kube_codegen.sh"
mkdir -p generated/clientset generated/listers generated/informers
kube::codegen::gen_helpers --boilerplate /dev/null "$PWD/apis"
kube::codegen::gen_register --boilerplate /dev/null "$PWD/apis"
kube::codegen::gen_client --boilerplate /dev/null --output-dir generated --output-pkg example.com/website/generated \
	--with-watch "$PWD/apis"
go tool controller-gen crd paths=./apis/... output:crd:dir=crd
go tool controller-gen rbac:roleName=website-controller paths=. output:rbac:dir=.
