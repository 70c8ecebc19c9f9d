#!/usr/bin/env bash
# usage: test.sh local|kind [ARGUMENT...]
# Runs the tests on a cluster of that kind, which it brings up if need be, and lets none skip for want of one; with WORKBOOK_TESTS=all
# also those that are too dear for each change. With arguments, go test gets those in place of all packages:
# scripts/test.sh kind ./06-crd-codegen -run Kind
# RACE=1 adds the race detector, for which go compiles everything once more.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

export CLUSTER=$1 CLUSTER_DIR=$state
shift
race=()
if [ -n "${RACE-}" ]; then
	race=(-race)
	export CGO_ENABLED=1 # or go refuses
	compiler=$(go env CC)
	command -v "${compiler%% *}" >/dev/null ||
		fail "RACE is set, and there is no C compiler for the race detector: install one (make doctor says how), or unset RACE."
fi
# On kind the READMEs' commands run on the tests' cluster, and delete what they find: that is never the reader's. Otherwise the READMEs
# have a cluster of their own, so the tests get one beside the reader's only if that is of the other kind.
if [ "$CLUSTER" = kind ] || [ "$(cluster_type)" = kind ]; then
	CLUSTER_DIR=$state/test-$CLUSTER
fi
"$scripts/cluster-up.sh" || exit 1
state=$CLUSTER_DIR
[ "$CLUSTER" = local ] || load_pod_images
# The reader's own clusters are none of the tests' business, NODES is not for the clusters that tests make for themselves, and
# make would hand ARGS to a make that a test runs.
unset KUBECONFIG NODES ARGS MAKEFLAGS RACE
export KUBE_CACHE_MUTATION_DETECTOR=true REQUIRE_CLUSTER=1
cd "$root" || exit 1
export GOFLAGS=$build_flags
# What never looks at a cluster, nor starts what is in this folder, keeps go's results from before: go knows all that it depends on.
# For the others that could be a result of yesterday, for a cluster that is down today. -count=1 runs them anew.
# -vet=off: make lint has it, and compiles all packages for it. -p 2: two packages at a time, whose tests mostly wait for the cluster.
# nice: the cluster comes first, or its API server may not answer for seconds; and the reader can work beside the tests.
flags=(${race[@]+"${race[@]}"} -p 2 -vet=off -timeout 60m)
count=0
if [ $# -eq 0 ]; then
	pure=() anew=()
	while read -r package how; do
		case $how in
		*anew*) anew+=("$package") ;;
		*) pure+=("$package") ;;
		esac
	done < <(
		# The package, and "anew" if it imports testcluster, or is one of scripts.
		go list -deps -test -f '{{if .ForTest}}{{.ForTest}}{{range .Deps}} {{.}}{{end}}{{end}}' ./... |
			awk '{ how[$1] = how[$1] (/\/internal\/test\/testcluster( |$)/ || $1 ~ /\/scripts(\/|$)/ ? "anew" : "") }
				END { for (package in how) print package, how[package] }' | sort
	)
	count=$((${#pure[@]} + ${#anew[@]}))
	set -- "${pure[@]}" -- "${flags[@]}" -count=1 "${anew[@]}"
fi
program=$(built test scripts/test/*.go) || exit 1
kept=${XDG_CACHE_HOME:-${HOME-}/.cache}/client-go-workbook
exec nice -n 5 "$program" "$count" "$kept" "${flags[@]}" "$@"
