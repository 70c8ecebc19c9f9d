#!/usr/bin/env bash
# usage: chapter.sh N [ARGUMENT...]
# Runs chapter N's program on the workbook's cluster: brings the cluster up, puts the samples on it that the
# chapter needs, builds the program, and becomes it, so that Ctrl-C and signals reach the program.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

folder=$(chapter_folder "${1-}") || no_chapter "${1-}"
number=$((10#$1))
shift

mkdir -p "$state/bin" || exit 1
program=$state/bin/$folder
log=$state/bin/$folder.log

# The build goes on while the cluster is looked after. Its messages wait, to not get mixed up with the cluster's.
go build -C "$root" -o "$program" "./$folder" >"$log" 2>&1 &
build=$!
"$scripts/cluster-up.sh" && "$scripts/apply-samples.sh" --if-missing "$number" || exit 1
# A program that is new, or was changed, takes a while. Who sits there should know what for.
if [ -t 2 ]; then
	for _ in {1..20}; do
		kill -0 $build 2>/dev/null || break
		sleep 0.1
	done
	kill -0 $build 2>/dev/null && say "Compiling $folder. The first time, with all of client-go, that takes minutes."
fi
if ! wait $build; then
	cat "$log" >&2
	fail "$folder does not compile: see above."
fi
exec "$program" --kubeconfig="$kubeconfig" "$@"
