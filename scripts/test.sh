#!/usr/bin/env bash
# usage: test.sh local|kind
# Runs all tests on a cluster of that kind, which it brings up if need be, and lets none skip for want of one.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

export CLUSTER=$1 CLUSTER_DIR=$state
have=$(cluster_type)
if [ "${have:-$CLUSTER}" != "$CLUSTER" ]; then
	# The cluster that is up is of the other kind, and somebody's: the tests get one beside it.
	CLUSTER_DIR=$state/test-$CLUSTER
fi
"$scripts/cluster-up.sh" || exit 1
export KUBECONFIG=$CLUSTER_DIR/kubeconfig KUBE_CACHE_MUTATION_DETECTOR=true REQUIRE_CLUSTER=1
cd "$root" && exec go test -race ./...
