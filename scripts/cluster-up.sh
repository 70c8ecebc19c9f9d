#!/usr/bin/env bash
# Brings the workbook's cluster up: makes it, repairs it, or finds that it is up and does nothing.
# CLUSTER=local or CLUSTER=kind chooses which; without it, kind where a container runtime can run it.
exec "$(dirname "$0")/cluster.sh" up "$@"
