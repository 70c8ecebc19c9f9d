#!/usr/bin/env bash
# usage: conformance.sh [ARGUMENT...]
# Finds out whether a controller of DatabaseManagers keeps its promises: chapter 6's, or the one that CONTROLLER starts. It is a command,
# a folder with a Go program, "twin", chapter 6's with controller-runtime, "twin --as-it-comes", or "mine", the one of the capstone.
# A folder that make new has begun has its own RESOURCE and RBAC.
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
controller=${CONTROLLER-} folder=$root/${CONTROLLER-} arguments='' leader=--leader-elect
resource=$root/internal/conformance/databasemanager.yaml rbac=$root/06-crd-codegen/deploy/rbac.yaml
mine=06-crd-codegen/capstone/mine
case $controller in
'' | chapter6) folder=$root/06-crd-codegen ;;
twin*)
	folder=$root/06-crd-codegen/controller-runtime arguments=${controller#twin}
	rbac=$folder/role.yaml
	;;
mine)
	folder=$root/$mine
	[ -e "$folder" ] || misuse "You have no controller yet: make capstone START=client-go begins one, or controller-runtime, python, shell."
	controller=$folder/run rbac=$folder/role.yaml
	if ! ls "$folder"/*.go >/dev/null 2>&1; then
		folder=
		if [ ! -f "$controller" ] || [ ! -x "$controller" ]; then
			misuse "$mine has neither Go files nor a program with the name run, which you may execute: chmod +x $mine/run"
		fi
	fi
	;;
/*) folder=$controller ;;
esac
folder=${folder%/}
[ -d "$folder" ] || folder= # a command
case $folder$controller in
*/*" "* | *" "*/*) ;; # with arguments, or a space in the path
*/*) [ -n "$folder" ] || [ -x "$controller" ] || misuse "CONTROLLER=$controller: there is no such folder, and no such program." ;;
esac
new=
if [ -f "$folder/resource.yaml" ] && [ -f "$folder/role.yaml" ] && [ -d "$folder/internal/election" ]; then
	new=$folder # make new has begun it
	resource=$new/resource.yaml rbac=$new/role.yaml
fi
if [ -n "${RESOURCE-}" ]; then
	[ -n "${RBAC-}" ] || misuse "RESOURCE needs RBAC: the file with the permissions of the controller."
	resource=$RESOURCE
	[ -r "$resource" ] || misuse "RESOURCE=$resource is no file that can be read: internal/conformance/databasemanager.yaml is an example."
fi
"$scripts/cluster-up.sh" || exit 2
crd=$(sed -n 's/^crd: *//p' "$resource")
if [ -n "$crd" ]; then # otherwise, the cluster knows the resource
	crd=$(dirname "$resource")/$crd
	"$scripts/kubectl" apply --server-side --force-conflicts -f "$crd" >/dev/null || exit 2
	"$scripts/kubectl" wait --for=condition=Established -f "$crd" >/dev/null || exit 2
fi
if [ -n "$folder" ]; then
	controller="$state/bin/controller-$(basename "$folder")"
	go build -C "$folder" -o "$controller" . || exit 2
	controller=$controller$arguments
	# A short lease, so that the suite waits less; beside the other objects, so that it needs no permission elsewhere.
	case $folder in
	"$new" | */05-controller | */06-crd-codegen | */06-crd-codegen/controller-runtime | */bugs/*)
		leader='--leader-elect --lease-duration=5s --lease-namespace={namespace}'
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
exec "$state/bin/conformance" --kubeconfig="$kubeconfig" --controller="$controller" --leader-flags="$leader" --again="$again" \
	--resource="$resource" --rbac="${RBAC:-$rbac}" ${ONLY:+--only="$ONLY"} ${SEED:+--seed="$SEED"} \
	${LONG:+--steps=1000 --objects=1000 --rest=1m} "$@"
