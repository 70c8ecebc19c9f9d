#!/usr/bin/env bash
# Runs chapter 6's controller inside the kind cluster: builds its image, loads it into the nodes, applies the manifests of
# 06-crd-codegen/deploy with that image, and waits until the pods are ready. Run again, it changes what differs.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

export KUBERC=off # the reader's ~/.kube/kuberc is for his own calls
require_kind
image=$("$scripts/image.sh")
runtime=$(container_runtime)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$runtime" save -o "$work/image.tar" "$image"
(
	cd "$root"
	pin_go
	export KIND_EXPERIMENTAL_PROVIDER=$runtime
	go tool kind load image-archive "$work/image.tar" --name="$(cut -d ' ' -f 2 "$state/type")"
) >"$work/log" 2>&1 || fail "$(cat "$work/log")"

# A kustomization on top of the checked-in one sets the tag. It names its base by a relative path: kustomize takes no other.
mkdir -p "$state/deploy"
ln -sfn "$root/06-crd-codegen/deploy" "$state/deploy/base"
cat >"$state/deploy/kustomization.yaml" <<END
resources: [base]
images:
- name: ${image%:*}
  newTag: ${image##*:}
END
"$scripts/kubectl" apply --server-side --force-conflicts -k "$state/deploy"
"$scripts/kubectl" rollout status deployment/databasemanager-controller -n databasemanager-system --timeout=3m ||
	fail "The controller does not get ready: see scripts/kubectl describe pods -n databasemanager-system"
