#!/usr/bin/env bash
# usage: diff.sh N
# Shows what chapter N adds to the one before: their Go files, without tests, exercises and generated code. First which
# of them are new, changed, the same, or gone, and which packages of internal/ they use for the first time, then how they
# differ. The files are in the order in which main.go says to read them; main.go, which puts the parts together, is the last.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

after=$(chapter_folder "${1-}") || no_chapter "${1-}"
before=$(chapter_folder "$((10#$1 - 1))") || misuse "Chapter $1 is the first: there is nothing to compare it with."
cd "$root" || exit 1

# files FOLDER: those of a chapter, relative to its folder: those that the comment of main.go names, and the others. A folder
# with a main.go of its own is another program.
files() {
	(
		cd "$1" || exit
		sed -n -e '/^package/q' -e '/Read in this order:/,$p' main.go | grep -o '[a-z0-9_/]*\.go' | grep -vxF main.go
		find . -name '*.go' ! -name '*_test.go' ! -path './exercises/*' ! -path ./main.go | LC_ALL=C sort | cut -c3-
		echo main.go
	) | awk '!seen[$0]++' | while IFS= read -r file; do
		folder=$(dirname "$file")
		[ "$folder" = . ] || [ ! -f "$1/$folder/main.go" ] || continue
		[ -f "$1/$file" ] && ! grep -q '^// Code generated .* DO NOT EDIT' "$1/$file" && echo "$file"
	done
}

all=$({
	files "$after"
	files "$before"
} | awk '!seen[$0]++' | tr '\n' ' ')

# old FILE: where the chapter before has the file, or none. It may have moved into a package of its own. A diff of two files that
# share nothing but the name would be hard to read: the other one is the namesake.
old() {
	old=$before/$1 namesake=''
	[ -f "$old" ] || [ -f "$after/${1##*/}" ] || old=$before/${1##*/}
	[ -f "$old" ] || old=/dev/null
	if [ "$old" != /dev/null ] && [ -f "$after/$1" ] && ! alike "$old" "$after/$1"; then
		namesake=$old old=/dev/null
	fi
}

# alike OLD NEW: whether a fifth of the new file's lines is in the old one, too. Short lines, such as braces, do not count.
alike() {
	awk 'length($0) < 4 { next }
		FNR == NR { lines[$0]++; next }
		{ all++; if (lines[$0]-- > 0) same++ }
		END { exit 5 * same < all }' "$1" "$2"
}

# moved FILE: whether the chapter has a file of the chapter before in a package of its own.
moved() {
	case " $all " in *"/$1 "*) return 0 ;; esac
	return 1
}

# used FOLDER: the packages of internal/ that a chapter's files import.
used() {
	local file
	files "$1" | while IFS= read -r file; do cat "$1/$file"; done | sed -n 's|.*"[^"]*/\(internal/[a-z/]*\)"$|\1|p' | sort -u
}

# show COLOR: the diff, as git prints it with that colour.
show() {
	local file old namesake
	for file in $all; do
		old "$file"
		if [ ! -f "$after/$file" ]; then
			moved "$file" || echo "gone:    $before/$file"
		elif [ "$old" = /dev/null ]; then
			echo "new:     $after/$file${namesake:+, which shares little but its name with $namesake}"
		elif cmp -s "$old" "$after/$file"; then
			echo "same:    $after/$file (not shown)"
		elif [ "$old" = "$before/$file" ]; then
			echo "changed: $after/$file"
		else
			echo "changed: $after/$file, which was $old"
		fi
	done
	used "$after" | grep -vxF "$(used "$before")" | while IFS= read -r package; do
		echo "uses:    $package: $(sed -n "s|^//	${package#internal/}  *||p" internal/doc.go)"
	done
	for file in $all; do
		[ -f "$after/$file" ] || continue # what is gone is in the chapter before
		old "$file"
		git --no-pager diff --no-ext-diff --no-textconv --no-index --no-prefix --color="$1" "$old" "$after/$file"
	done
}
if [ -t 1 ]; then
	show always | LESS=${LESS-FR} ${PAGER:-$(command -v less || echo cat)}
else
	show never
fi
exit 0
