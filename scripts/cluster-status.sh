#!/usr/bin/env bash
# Says what cluster there is and whether it is up. Exit code 0: up, 1: not.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

type=$(cluster_type)
case $type in
'') fail "There is no cluster: run make cluster." ;;
local) gone=$(missing | tr '\n' ' ') ;;
*) gone= ;;
esac
if [ -n "$gone" ]; then
	fail "The local cluster is not whole, these don't run: $gone- run make cluster."
fi
if ! ready; then
	fail "The $type cluster does not answer: run make cluster."
fi
server=$(kubectl config view -o 'jsonpath={.clusters[0].cluster.server}')
version=$(kubectl version -o yaml | sed -n '/^serverVersion/,$ s/^  gitVersion: //p')
echo "The $type cluster is up: $server, Kubernetes $version, kubeconfig $kubeconfig."
