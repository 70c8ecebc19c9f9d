#!/usr/bin/env bash
# usage: apiserver.sh stop|start
# Stops the local cluster's API server, and only that, or starts it again: to see what its clients do meanwhile.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
. "$scripts/cluster-local.sh"

if [ "$(cluster_type)" != local ]; then
	fail "There is no local cluster here: run CLUSTER=local make cluster."
fi
case ${1-} in
stop)
	lock
	stop kube-apiserver
	;;
start)
	lock
	if ! local_up && ! local_start; then
		fail "The API server does not start: see $kwok/clusters/workbook/logs/kube-apiserver.log, or run make cluster."
	fi
	;;
*) misuse "usage: scripts/apiserver.sh stop|start" ;;
esac
