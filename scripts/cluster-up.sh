#!/usr/bin/env bash
# Brings the workbook's cluster up: makes it, repairs it, or finds that it is up and does nothing.
# CLUSTER=kind or CLUSTER=local chooses which; without it, kind where a container runtime can run it.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
. "$scripts/cluster-local.sh"
. "$scripts/cluster-kind.sh"

case ${CLUSTER-} in
'' | local | kind) ;;
*) misuse "CLUSTER=$CLUSTER is neither kind nor local: try CLUSTER=local make cluster." ;;
esac

# refuse_other: one folder holds one cluster, and it may hold work that nobody wants to lose.
refuse_other() {
	local have
	have=$(cluster_type)
	if [ -n "$have" ] && [ -n "${CLUSTER-}" ] && [ "$have" != "$CLUSTER" ]; then
		fail "There is a $have cluster already: run make cluster-down first, then CLUSTER=$CLUSTER make cluster."
	fi
}

# up: whether the cluster is there and whole. The usual answer is yes, and it should come fast.
up() {
	case $(cluster_type) in
	local) local_up ;;
	kind) ready ;;
	*) false ;;
	esac
}

refuse_other
if up; then
	exit 0
fi

mkdir -p "$state"
state=$(cd "$state" && pwd -P)
lock
# Without this, what Ctrl-C ended would be reported as a failure.
trap 'say "Interrupted. Run make cluster again: it goes on from here."; exit 130' INT TERM
# While this one waited, another may have done it all, or have made the other kind of cluster.
refuse_other
if up; then
	exit 0
fi
mkdir -p "$state"

type=$(cluster_type)
type=${type:-${CLUSTER-}}
if [ -z "$type" ]; then
	choose
fi
"${type}_bring_up"
