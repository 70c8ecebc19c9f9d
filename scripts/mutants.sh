#!/usr/bin/env bash
# usage: mutants.sh [ARGUMENT...]
# Runs the program in internal/exercise/mutants on the tests' cluster. Exit code 1: a grader accepts what it should not.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

export CLUSTER_DIR=$state KUBE_CACHE_MUTATION_DETECTOR=true REQUIRE_CLUSTER=1
"$scripts/cluster-up.sh"
cd "$root"
pin_go
exec go run ./internal/exercise/mutants "$@"
