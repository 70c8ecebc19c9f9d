#!/usr/bin/env bash
# usage: cluster.sh up|down|status|apiserver stop|apiserver start|samples [--if-missing] [N]|programs
# Runs the program in scripts/cluster, in the checkout's folder. A copy of it is kept in the cache, under a name that
# changes with its sources: to find out that nothing has changed, go takes longer than the program itself.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

cd "$root"
export CLUSTER_DIR=$state GOFLAGS=$build_flags CGO_ENABLED=0
cache=${XDG_CACHE_HOME:-${HOME-}/.cache}/client-go-workbook
program=$cache/cluster-$({
	cat go.mod go.sum scripts/cluster/*.* scripts/cluster/*/*
	uname -sm
} | cksum | cut -d ' ' -f 1)
if [ ! -x "$program" ]; then
	built=$(go tool -n cluster) # go builds it, in its own cache
	(umask 077 && mkdir -p "$cache" && cp "$built" "$program.$$" && mv "$program.$$" "$program") 2>/dev/null ||
		program=$built # the cache cannot be written
fi
exec "$program" "$@"
