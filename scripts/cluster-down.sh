#!/usr/bin/env bash
# Removes the workbook's cluster and all its files. The programs stay, for the next one.
exec "$(dirname "$0")/cluster.sh" down "$@"
