#!/usr/bin/env bash
# usage: conformance.sh [ARGUMENT...]
# Finds out whether a controller of DatabaseManagers keeps its promises: chapter 6's, or the one that CONTROLLER starts, which can be
# "twin", chapter 6's with controller-runtime, or "twin --as-it-comes".
# RBAC=file has the permissions that it needs, if they are not chapter 6's.
# ONLY=name tries one promise; SEED=number decides what is left to chance; LONG=1 has 1,000 objects, takes
# 1,000 steps, and watches it at rest for a minute. The arguments are the suite's: --help lists them.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

export KUBERC=off # the reader's ~/.kube/kuberc is for his own calls
"$scripts/cluster-up.sh"
"$scripts/kubectl" apply --server-side --force-conflicts -f "$root/06-crd-codegen/crd/coolops.cn_databasemanagers.yaml" >/dev/null
"$scripts/kubectl" wait --for=condition=Established crd/databasemanagers.coolops.cn >/dev/null
umask 077 # as for all that is in the cluster's folder
pin_go
controller=${CONTROLLER-} package=''
leader=(--leader-flags=--leader-elect) rbac=06-crd-codegen/deploy/rbac.yaml
case $controller in
'') package=06-crd-codegen ;;
twin*) package=06-crd-codegen/controller-runtime rbac=06-crd-codegen/controller-runtime/role.yaml ;;
esac
if [ -n "$package" ]; then
	file=$state/bin/${package##*/}
	controller=$file${controller#twin}
	# A short lease, so that the suite waits less; beside the other objects, so that it needs no permission elsewhere.
	leader=('--leader-flags=--leader-elect --lease-duration=5s --lease-namespace={namespace}')
	go build -C "$root" -o "$file" "./$package"
fi
go build -C "$root" -o "$state/bin/conformance" ./internal/conformance
arguments=''
for argument in "$@"; do
	case $argument in *' '*) argument="'$argument'" ;; esac
	arguments="$arguments${arguments:+ }$argument"
done
again="make conformance${CONTROLLER:+ CONTROLLER=\"$CONTROLLER\"}${arguments:+ ARGS=\"$arguments\"}"
exec "$state/bin/conformance" --kubeconfig="$kubeconfig" --controller="$controller" "${leader[@]}" --again="$again" \
	--rbac="${RBAC:-$root/$rbac}" ${ONLY:+--only="$ONLY"} ${SEED:+--seed="$SEED"} \
	${LONG:+--steps=1000 --objects=1000 --rest=1m} "$@"
