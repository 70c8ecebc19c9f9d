#!/usr/bin/env bash
# Prints what cluster there is and whether it is up. Exit code 0: up, 1: not.
exec "$(dirname "$0")/cluster.sh" status "$@"
