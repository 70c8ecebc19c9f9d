#!/usr/bin/env bash
# usage: cluster.sh up|down|status|apiserver stop|apiserver start|samples [--if-missing] [--pods COUNT] [N]|audit|cpu|programs|unfit RUNTIME
# Runs the program in scripts/cluster, in the checkout's folder.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

cd "$root"
pin_go
export CLUSTER_DIR=$state
program=$(built cluster scripts/cluster/*.* scripts/cluster/*/*)
exec "$program" "$@"
