#!/usr/bin/env bash
# Runs chapter 6's controller inside the kind cluster: builds its image, loads it into the nodes, applies the manifests of
# 06-crd-codegen/deploy with that image, and waits until the pods are ready. Run again, it changes what differs.
# SHARDS=3 runs three pods, each of which has some of the namespaces that there are now.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

export KUBERC=off # the reader's ~/.kube/kuberc is for his own calls
case ${SHARDS:-1} in *[!0-9]* | 0* | ????*) misuse "SHARDS=$SHARDS: it takes a number of pods, from 1 to 999." ;; esac
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
workload=deployment
if [ -n "${SHARDS-}" ]; then
	workload=statefulset
	namespaces=$("$scripts/kubectl" get namespaces -o name)
	cuts=$(cd "$root" && pin_go && go run ./internal/shard/cuts "$SHARDS" <<<"$namespaces")
	{
		echo "components: [base/shards]"
		echo "replicas: [{name: databasemanager-controller, count: $SHARDS}]"
		echo "patches:"
		echo "- target: {kind: StatefulSet}"
		echo "  patch: '- {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: SHARDS, value: \"$SHARDS:$cuts\"}}'"
		echo "- target: {kind: Role}"
		echo "  patch: |-"
		for ((i = 1; i <= SHARDS; i++)); do
			echo "    - {op: add, path: /rules/1/resourceNames/-, value: workbook-06-crd-codegen-$i-of-$SHARDS}"
		done
	} >>"$state/deploy/kustomization.yaml"
fi
# With another number of shards, or other cuts, an object would be in two of them while old and new pods run, and so would all objects
# beside the Deployment. So the old pods end before the new ones start.
if [ -n "${SHARDS-}" ] || [ -n "$("$scripts/kubectl" get statefulsets -n databasemanager-system -o name 2>/dev/null)" ]; then
	"$scripts/kubectl" delete deployments,statefulsets databasemanager-controller -n databasemanager-system --ignore-not-found --cascade=foreground
fi
"$scripts/kubectl" apply --server-side --force-conflicts -k "$state/deploy"
"$scripts/kubectl" rollout status "$workload/databasemanager-controller" -n databasemanager-system --timeout=3m ||
	fail "The controller does not get ready: see scripts/kubectl describe pods -n databasemanager-system"
