#!/usr/bin/env bash
# usage: chapter.sh N[/FOLDER] [ARGUMENT...]
# Runs chapter N's program on the workbook's cluster, or another one of its programs, which is in that folder: brings the cluster
# up, puts the samples on it that the chapter needs, builds the program, and becomes it, so that Ctrl-C and signals reach the program.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

number=${1-}
number=${number%%/*}
folder=$(chapter_folder "$number") || no_chapter "${1-}"
folder=$folder${1#"$number"}
number=$((10#$number))
shift

program=$state/bin/${folder##*/}
# checksum: that of all files of the checkout, with their names. If it is the same as at the last build, nothing is to be built. go finds
# that out, too, but looks at all of client-go for it, which takes longer than the program's start.
checksum() {
	(cd "$root" && find . \( -name .git -o -name .cluster \) -prune -o -type f -size -20480 -exec cksum {} + 2>/dev/null | cksum)
}
compile() {
	(
		umask 077 # as for all that is in the cluster's folder
		pin_go
		go build -C "$root" -o "$program" "./$folder" 2>"$program.log" && echo "$sum" >"$program.sum"
	) &
	build=$!
}
sum=$(checksum) build='' changed=yes
if [ -x "$program" ]; then
	[ "$sum" != "$(cat "$program.sum" 2>/dev/null)" ] || changed=''
	[ -z "$changed" ] || compile # meanwhile; for the first time after the cluster's programs, of which it shares the most part
fi
"$scripts/cluster.sh" up && "$scripts/cluster.sh" samples --if-missing "$number" || exit 1
if [ -n "$changed" ]; then
	if [ -z "$build" ]; then
		[ ! -t 2 ] || say "Compiling $folder. If client-go was not compiled before, that takes minutes."
		compile
	elif [ -t 2 ]; then
		for _ in {1..20}; do
			kill -0 $build 2>/dev/null || break
			sleep 0.1
		done
		kill -0 $build 2>/dev/null && say "Compiling $folder, if it has changed."
	fi
	if ! wait $build; then
		cat "$program.log" >&2
		fail "$folder does not compile: see above."
	fi
fi
umask 077
exec "$program" --kubeconfig="$kubeconfig" "$@"
