#!/usr/bin/env bash
# usage: apply-samples.sh [--if-missing] [N]
# Puts the sample objects on the cluster and waits until their pods are ready: all of them, or those that chapter N
# needs, which are its own and the earlier chapters'. Changed ones are put right again; with --if-missing only
# where one is missing, which is a quick question.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

if_missing=
if [ "${1-}" = --if-missing ]; then
	if_missing=yes
	shift
fi
# 07 and 08 are no octal numbers here.
last=${1:-99}
case $last in *[!0-9]*) misuse "$last is no chapter's number: try scripts/apply-samples.sh 1." ;; esac
last=$((10#$last))

files=()
for file in "$scripts/samples"/*.yaml; do
	number=${file##*/}
	number=$((10#${number%%-*}))
	[ "$number" -gt "$last" ] || files+=(-f "$file")
done
[ ${#files[@]} -gt 0 ] || exit 0

if [ -z "$(cluster_type)" ]; then
	fail "There is no cluster to put the samples on: run make cluster."
fi

# Chapter 6's objects are of a kind that the server has to be taught first, and again when its types have changed.
if [ "$last" -ge 6 ]; then
	if ! kubectl apply --server-side --force-conflicts -f "$root/06-crd-codegen/crd" >/dev/null ||
		! kubectl wait --for=condition=Established --timeout=60s crd/databasemanagers.coolops.cn >/dev/null; then
		fail "The CRD of chapter 6 cannot be put on the cluster, see above: run make cluster, then this again."
	fi
fi
if [ -n "$if_missing" ] && kubectl get "${files[@]}" >/dev/null 2>&1; then
	exit 0
fi
if ! kubectl apply "${files[@]}" >/dev/null; then
	fail "The samples cannot be put on the cluster, see above: run make cluster, then this again."
fi
while read -r kind namespace name; do
	case $kind in
	Pod) condition=Ready ;;
	Deployment) condition=Available ;;
	*) continue ;;
	esac
	if ! kubectl wait --for="condition=$condition" --timeout=120s -n "$namespace" "$kind/$name" >/dev/null; then
		fail "The sample $kind $namespace/$name is not ready: see scripts/kubectl describe $kind $name -n $namespace."
	fi
done < <(kubectl get "${files[@]}" -o 'jsonpath={range .items[*]}{.kind} {.metadata.namespace} {.metadata.name}{"\n"}{end}')
