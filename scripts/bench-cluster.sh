#!/usr/bin/env bash
# Measures cluster-up.sh against a bare kwokctl create cluster --wait, in turns, in folders of its own; then how long
# a chapter takes to print its first line, and to end.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
. "$scripts/cluster-local.sh"

rounds=5
build || exit 1
work=$(mktemp -d)
work=$(cd "$work" && pwd -P)
export CLUSTER=local

# remove FOLDER: the cluster in it, whoever made it.
remove() { CLUSTER_DIR=$1 "$scripts/cluster-down.sh"; }
trap 'remove "$work/bare"; remove "$work/ours"; rm -rf "$work"' EXIT

TIMEFORMAT=%R
# seconds COMMAND...: how long it takes.
seconds() { { time "$@" >/dev/null 2>&1; } 2>&1; }

bare() {
	local state=$work/bare
	mkdir -p "$state"
	kwokctl create cluster --runtime=binary --kubeconfig="$state/.kwok/kubeconfig" --wait=60s \
		--etcd-binary="$bin/etcd" \
		--kube-apiserver-binary="$bin/kube-apiserver" \
		--kube-controller-manager-binary="$bin/kube-controller-manager" \
		--kube-scheduler-binary="$bin/kube-scheduler" \
		--kwok-controller-binary="$bin/kwok"
}
ours() { CLUSTER_DIR=$work/ours "$scripts/cluster-up.sh"; }

printf '%-8s %12s %12s %12s\n' round kwokctl make-cluster "when up"
for round in $(seq $rounds); do
	line="$(seconds bare) $(seconds ours) $(seconds ours)"
	remove "$work/bare"
	remove "$work/ours"
	# shellcheck disable=SC2086
	printf '%-8s %11ss %11ss %11ss\n' "$round" $line
	echo "$line" >>"$work/times"
done
awk '{ bare += $1; ours += $2; up += $3 }
	END { printf "%-8s %11.3fs %11.3fs %11.3fs   make cluster takes %.2f times a bare kwokctl\n", "mean", bare / NR, ours / NR, up / NR, ours / bare }' "$work/times"

# The first run compiles, the others don't.
export CLUSTER_DIR=$work/ours
"$scripts/cluster-up.sh" 2>/dev/null && "$scripts/chapter.sh" 1 --duration=1s >/dev/null 2>&1 || exit 1
mkfifo "$work/printed"
chapter() {
	"$scripts/chapter.sh" 1 >"$work/printed" 2>/dev/null &
	read -r _ <"$work/printed"
}
interrupt() {
	kill -INT $!
	wait $!
}
for round in $(seq $rounds); do
	# Held open from this side too, or the program would find nobody to print to after its first line.
	exec 8<>"$work/printed"
	{
		time chapter
		time interrupt
	} 2>>"$work/chapter-times"
	exec 8>&-
done
paste - - <"$work/chapter-times" | awk '{ first += $1; end += $2 }
	END { printf "make chapter 1: first line after %.3fs, from SIGINT to exit %.3fs\n", first / NR, end / NR }'
