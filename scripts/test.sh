#!/usr/bin/env bash
# usage: test.sh local|kind [ARGUMENT...]
# Runs all tests on a cluster of that kind, which it brings up if need be, and lets none skip for want of one. With
# arguments, go test gets those in place of all packages: scripts/test.sh kind ./06-crd-codegen -run Kind
# RACE=1 adds the race detector, for which go compiles everything once more.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

export CLUSTER=$1 CLUSTER_DIR=$state
shift
race=()
if [ -n "${RACE-}" ]; then
	race=(-race)
	compiler=$(go env CC)
	command -v "${compiler%% *}" >/dev/null ||
		fail "RACE is set, and there is no C compiler for the race detector: install one (make doctor says how), or unset RACE."
fi
# On kind the READMEs' commands run on the tests' cluster, and delete what they find: that is never the reader's. On the
# local cluster each README has a cluster of its own, so the tests get one beside the reader's only if that is of the
# other kind.
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
# Compiled as the chapters' programs and the exercises are: then client-go is compiled already.
export GOFLAGS=$build_flags CGO_ENABLED=${#race[@]} # go refuses -race without cgo, whatever the reader's is
# The packages that take longest begin first. The answers to the exercises have no tests.
count=0
if [ $# -eq 0 ]; then
	while read -r package; do set -- "$@" "$package"; done < <(
		go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' \
			./scripts ./06-crd-codegen ./02-informer ./01-listwatch ./internal/test/testcluster ./internal/test/docs ./05-controller ./... | grep .
	)
	count=$#
fi
program=$(CGO_ENABLED=0 built test scripts/test/*.go) || exit 1
cache=${XDG_CACHE_HOME:-${HOME-}/.cache}/client-go-workbook
# -count=1: go would print a result of yesterday for a cluster that is down today. -vet=off: make lint has it, and compiles
# all packages for it. The READMEs take their time, and on kind they wait for each other, so a package may take longer than
# go test's 10 minutes. -p: a test waits about as long as it computes, and its API server computes, too; kind's nodes take more.
# nice: the cluster comes first, or its API server may not answer for seconds; and the reader can work beside the tests.
[ "$CLUSTER" = local ] && packages=4 || packages=2
exec nice -n 5 "$program" "$count" "$cache/test-seconds-$CLUSTER${race[*]-}" \
	${race[@]+"${race[@]}"} -p "$packages" -count=1 -vet=off -timeout 40m "$@"
