#!/usr/bin/env bash
# usage: conformance.sh [ARGUMENT...]
# Finds out whether a controller of DatabaseManagers keeps its promises: chapter 6's, or the one that CONTROLLER starts.
# ONLY=name tries one promise; SEED=number decides what is left to chance; LONG=1 has 1,000 objects and takes 1,000 steps. The
# arguments are the suite's: --help lists them.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

"$scripts/cluster-up.sh"
"$scripts/kubectl" apply --server-side --force-conflicts -f "$root/06-crd-codegen/crd/coolops.cn_databasemanagers.yaml" >/dev/null
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
again="make conformance${CONTROLLER:+ CONTROLLER=\"$CONTROLLER\"}${*:+ ARGS=\"$*\"}"
exec "$state/bin/conformance" --kubeconfig="$kubeconfig" --controller="$controller" "${leader[@]}" --again="$again" \
	--rbac="$root/06-crd-codegen/deploy/rbac.yaml" ${ONLY:+--only="$ONLY"} ${SEED:+--seed="$SEED"} \
	${LONG:+--steps=1000 --objects=1000} "$@"
