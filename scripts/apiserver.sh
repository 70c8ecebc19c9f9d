#!/usr/bin/env bash
# usage: apiserver.sh stop|start
# Stops the local cluster's API server, and only that, or starts it again: to see what its clients do meanwhile.
exec "$(dirname "$0")/cluster.sh" apiserver "$@"
