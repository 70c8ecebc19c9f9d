#!/usr/bin/env bash
# usage: conformance.sh [ARGUMENT...]
# Finds out whether a controller of DatabaseManagers keeps its promises: chapter 6's, or the one that CONTROLLER starts. It is a command,
# a package of this checkout, or "twin", chapter 6's with controller-runtime, "twin --as-it-comes", or "mine", the one of the capstone.
# RBAC=file has the permissions that it needs, if they are not chapter 6's. RESOURCE=file describes another resource, as
# internal/conformance/databasemanager.yaml does it for DatabaseManagers; it needs RBAC, too.
# ONLY=name tries one promise; SEED=number decides what is left to chance; LONG=1 has 1,000 objects, takes
# 1,000 steps, and watches it at rest for a minute. The arguments are the suite's: --help lists them.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

export KUBERC=off              # the reader's ~/.kube/kuberc is for his own calls
export PATH="$state/bin:$PATH" # a controller in shell calls kubectl
umask 077                      # as for all that is in the cluster's folder
pin_go
controller=${CONTROLLER-} package='' arguments=''
leader=(--leader-flags=--leader-elect) rbac=06-crd-codegen/deploy/rbac.yaml mine=06-crd-codegen/capstone/mine
case $controller in
'' | chapter6) package=06-crd-codegen ;;
twin*) package=06-crd-codegen/controller-runtime arguments=${controller#twin} rbac=06-crd-codegen/controller-runtime/role.yaml ;;
mine)
	[ -e "$root/$mine" ] || misuse "You have no controller yet: make capstone START=client-go begins one, or controller-runtime, python, shell."
	controller=$root/$mine/run rbac=$mine/role.yaml
	if ls "$root/$mine"/*.go >/dev/null 2>&1; then
		package=$mine
	elif [ ! -f "$controller" ] || [ ! -x "$controller" ]; then
		misuse "$mine has neither Go files nor a program with the name run, which you may execute: chmod +x $mine/run"
	fi
	;;
esac
"$scripts/cluster-up.sh" || exit 2
resource=${RESOURCE:-$root/internal/conformance/databasemanager.yaml}
[ -z "${RESOURCE-}" ] || [ -n "${RBAC-}" ] || misuse "RESOURCE needs RBAC: the file with the permissions of the controller."
[ -r "$resource" ] || misuse "RESOURCE=$resource is no file that can be read: internal/conformance/databasemanager.yaml is an example."
crd=$(sed -n 's/^crd: *//p' "$resource")
if [ -n "$crd" ]; then # otherwise, the cluster knows the resource
	crd=$(dirname "$resource")/$crd
	"$scripts/kubectl" apply --server-side --force-conflicts -f "$crd" >/dev/null || exit 2
	"$scripts/kubectl" wait --for=condition=Established -f "$crd" >/dev/null || exit 2
fi
if [ -z "$package" ] && [ -d "$root/$controller" ]; then
	package=${controller%/} # of this checkout
fi
if [ -n "$package" ]; then
	file=$state/bin/controller-${package##*/}
	controller=$file$arguments
	go build -C "$root" -o "$file" "./$package" || exit 2
	# A short lease, so that the suite waits less; beside the other objects, so that it needs no permission elsewhere.
	case $package in
	05-controller | 06-crd-codegen | 06-crd-codegen/controller-runtime | */bugs/*)
		leader=('--leader-flags=--leader-elect --lease-duration=5s --lease-namespace={namespace}')
		;;
	esac
fi
go build -C "$root" -o "$state/bin/conformance" ./internal/conformance || exit 2
arguments=''
for argument in "$@"; do
	case $argument in *' '*) argument="'$argument'" ;; esac
	arguments="$arguments${arguments:+ }$argument"
done
again="make conformance${RESOURCE:+ RESOURCE=\"$RESOURCE\"}${CONTROLLER:+ CONTROLLER=\"$CONTROLLER\"}${RBAC:+ RBAC=\"$RBAC\"}${arguments:+ ARGS=\"$arguments\"}"
exec "$state/bin/conformance" --kubeconfig="$kubeconfig" --controller="$controller" "${leader[@]}" --again="$again" \
	--resource="$resource" --rbac="${RBAC:-$root/$rbac}" ${ONLY:+--only="$ONLY"} ${SEED:+--seed="$SEED"} \
	${LONG:+--steps=1000 --objects=1000 --rest=1m} "$@"
