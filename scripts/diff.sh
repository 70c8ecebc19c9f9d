#!/usr/bin/env bash
# usage: diff.sh N
# Shows what chapter N adds to the one before: their Go files, without tests, exercises and generated code. First which
# of them are new, changed, the same, or gone, then how.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

after=$(chapter_folder "${1-}") || no_chapter "${1-}"
before=$(chapter_folder "$((10#$1 - 1))") || misuse "Chapter $1 is the first: there is nothing to compare it with."
cd "$root" || exit 1

# files FOLDER: those of a chapter, relative to its folder.
files() {
	(cd "$1" && find . -name '*.go' ! -name '*_test.go' ! -path './exercises/*' \
		-exec grep -L '^// Code generated .* DO NOT EDIT' {} + | cut -c3-)
}

all=$({ files "$before"; files "$after"; } | LC_ALL=C sort -u)

# show COLOR: the diff, as git prints it with that colour.
show() {
	local file old
	for file in $all; do
		if [ ! -f "$before/$file" ]; then
			echo "new:     $after/$file"
		elif [ ! -f "$after/$file" ]; then
			echo "gone:    $before/$file"
		elif cmp -s "$before/$file" "$after/$file"; then
			echo "same:    $after/$file"
		else
			echo "changed: $after/$file"
		fi
	done
	for file in $all; do
		[ -f "$after/$file" ] || continue # what is gone is in the chapter before
		old=$before/$file
		[ -f "$old" ] || old=/dev/null
		git --no-pager diff --no-index --no-prefix --color="$1" "$old" "$after/$file"
	done
}
if [ -t 1 ]; then
	show always | LESS=${LESS-FR} ${PAGER:-$(command -v less || echo cat)}
else
	show never
fi
exit 0
