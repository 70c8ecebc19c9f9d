#!/usr/bin/env bash
# usage: update-codegen.sh [FOLDER]
# Generates from chapter 6's Go types all that follows from them: deep copies, registration, clients, and the CRD
# manifest; and the role of its twin. FOLDER is the checkout to do it in, by default this one.
#
# code-generator's own script does most of it. It is found in the module cache, at the version that go.mod pins; there
# is no vendor folder, and the checkout can be anywhere.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

cd "${1:-$root}"
module=example.com/client-go-workbook/06-crd-codegen/pkg/generated
types=$PWD/06-crd-codegen/pkg/apis
generated=$PWD/06-crd-codegen/pkg/generated
manifests=06-crd-codegen/crd

work=$(mktemp -d)
pin_go
export GOBIN=${XDG_CACHE_HOME:-${HOME-}/.cache}/client-go-workbook/generators # kept, so that they are linked once
mkdir -p "$GOBIN" 2>/dev/null && [ -w "$GOBIN" ] || GOBIN=$work/bin
# What the generators say on the way is of interest only when one fails.
ended() {
	[ "$1" -eq 0 ] || cat "$work/log" >&3
	rm -rf "$work"
}
trap 'ended $?' EXIT
say "Generating, which takes a minute."
exec 3>&2 >"$work/log" 2>&1

go mod download k8s.io/code-generator
# shellcheck disable=SC1091 # it is in the module cache
. "$(go list -m -f '{{.Dir}}' k8s.io/code-generator)/kube_codegen.sh"
: >"$work/header"
rm -rf "$generated" "$manifests"/*.yaml

# Deep copies, and AddToScheme.
kube::codegen::gen_helpers --boilerplate "$work/header" "$types"
kube::codegen::gen_register --boilerplate "$work/header" "$types"

# The schema of the types, which apply configurations are made from: first as Go code, which a small program prints. Nothing else
# needs that code. The report is about rules that Kubernetes' own types break.
kube::codegen::gen_openapi --boilerplate "$work/header" --output-dir "$generated/openapi" --output-pkg "$module/openapi" \
	--report-filename "$work/violations" --update-report "$types"
go run ./scripts/openapi/main.go >"$work/schema.json"
rm -r "$generated/openapi"

# Clients, apply configurations, listers and informers.
kube::codegen::gen_client --boilerplate "$work/header" --output-dir "$generated" --output-pkg "$module" \
	--with-watch --with-applyconfig --applyconfig-openapi-schema "$work/schema.json" "$types"

# The CRD, from the same comments and from those that begin with +kubebuilder.
go tool controller-gen crd paths="./${types#"$PWD"/}/..." output:crd:dir="$manifests"

# The role of the twin, from its comments that begin with +kubebuilder:rbac.
twin=06-crd-codegen/controller-runtime
go tool controller-gen rbac:roleName=databasemanager-controller paths="./$twin" output:rbac:dir="$twin"
