#!/usr/bin/env bash
# Generates what follows from the types below apis/: run it in the module's folder. go.mod has k8s.io/code-generator.
set -euo pipefail
# shellcheck disable=SC1091 # it is in the module cache
. "$(go list -m -f '{{.Dir}}' k8s.io/code-generator)/kube_codegen.sh"

header=/dev/null # what each file begins with: a file with a licence, or nothing
module=$(go list -m)
kube::codegen::gen_helpers --boilerplate "$header" apis
kube::codegen::gen_register --boilerplate "$header" apis
kube::codegen::gen_client --boilerplate "$header" --output-dir generated --output-pkg "$module/generated" --with-watch apis
