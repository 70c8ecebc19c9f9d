#!/usr/bin/env bash
# usage: conformance.sh [ARGUMENT...]
# Finds out whether a controller of DatabaseManagers keeps its promises: chapter 6's, or the one that CONTROLLER starts.
# ONLY=name tries one promise; SEED=number decides what is left to chance. The arguments are the suite's: --help lists them.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

"$scripts/cluster-up.sh"
"$scripts/kubectl" apply --server-side --force-conflicts -f "$root/06-crd-codegen/crd/coolops.cn_databasemanagers.yaml" >&2
"$scripts/kubectl" wait --for=condition=Established crd/databasemanagers.coolops.cn >/dev/null
umask 077 # as for all that is in the cluster's folder
export GOFLAGS=$build_flags CGO_ENABLED=0
controller=${CONTROLLER-}
leader=(--leader-flags=--leader-elect)
if [ -z "$controller" ]; then
	controller=$state/bin/06-crd-codegen
	# A short lease, so that the suite waits less; beside the other objects, so that it needs no permission elsewhere.
	leader=('--leader-flags=--leader-elect --lease-duration=5s --lease-namespace={namespace}')
	go build -C "$root" -o "$controller" ./06-crd-codegen
fi
go build -C "$root" -o "$state/bin/conformance" ./06-crd-codegen/conformance
exec "$state/bin/conformance" --kubeconfig="$kubeconfig" --controller="$controller" "${leader[@]}" \
	--rbac="$root/06-crd-codegen/deploy/rbac.yaml" ${ONLY:+--only="$ONLY"} ${SEED:+--seed="$SEED"} "$@"
