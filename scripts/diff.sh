#!/usr/bin/env bash
# usage: diff.sh N
# Shows what chapter N adds to the one before: their Go files, without tests, exercises and generated code.
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

{ files "$before"; files "$after"; } | LC_ALL=C sort -u | while read -r file; do
	old=$before/$file new=$after/$file
	[ -f "$old" ] || old=/dev/null
	[ -f "$new" ] || new=/dev/null
	git --no-pager diff --no-index --no-prefix "$old" "$new"
done
exit 0
