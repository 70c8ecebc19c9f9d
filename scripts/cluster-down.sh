#!/usr/bin/env bash
# Removes the workbook's cluster and all its files. The built programs stay, for the next one.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

if [ ! -d "$state" ]; then
	exit 0
fi
# The clusters that test.sh made beside this one.
for tests in "$state"/test-*/; do
	if [ -d "$tests" ]; then
		CLUSTER_DIR=$tests "$0" || exit 1
	fi
done
lock
if [ "$(cluster_type)" = kind ]; then
	. "$scripts/cluster-kind.sh"
	kind_remove || exit 1
fi
stop '.*'
rm -rf "$state"
