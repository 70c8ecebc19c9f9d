#!/usr/bin/env bash
# usage: bug.sh [N]
# Puts chapter 6 with bug N into 06-crd-codegen/bugs/mine, and has the suite try it: the promise that the bug breaks, and when that is
# kept, the stages of the capstone, so that a cure of the symptom alone is found. Without N it lists the reports.
# Exit code 0: mended, 1: not, 2: wrong usage, 3: could not be seen.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

cd "$root"
unset LONG ONLY RBAC SEED STAGE START # they are for other commands
page=06-crd-codegen/bugs/README.md
# In the order of the page: patches of internal/conformance/broken. Their names give the bugs away.
patches=(time-in-status takes-secrets service-not-compared env-in-map-order silent-without-permission keeps-what-was-removed
	owned-with-retain five-requests-a-second ignores-tombstones trusts-its-store)

number=${1-}
[ -n "$number" ] || exec sed -n 's/^## //p' "$page"
case $number in *[!0-9]*) number=0 ;; esac
number=$((10#$number))
if [ $number -lt 1 ] || [ $number -gt ${#patches[@]} ]; then
	misuse "There is no bug ${1}: make bug lists them."
fi
patch=internal/conformance/broken/${patches[number - 1]}.patch
name=$(printf %02d $number)
mine=06-crd-codegen/bugs/mine/$name

# section PART: prints what the page says of the bug: the report, or, of the public project, what became of it.
section() {
	awk -v heading="## $number. " -v wanted="$1" '
		/^## / { part = index($0, heading) == 1 ? "report" : "" }
		/^<\/details>/ { part = "" }
		part == wanted && !/^## / { print }
		/^<details>/ && part != "" { part = "project" }
	' "$page"
}

if [ ! -e "$mine" ]; then
	rm -rf "$mine.new"
	mkdir -p "$mine.new/children" "$mine.new/database"
	for file in $(cd 06-crd-codegen && echo *.go children/*.go database/*.go); do
		case $file in *_test.go) continue ;; esac
		sed -e "s#06-crd-codegen/children\"#$mine/children\"#" -e "s#06-crd-codegen/database\"#$mine/database\"#" "06-crd-codegen/$file" >"$mine.new/$file"
	done
	cp 06-crd-codegen/picture.yaml "$mine.new"
	{
		sed -n "s/^## /# /p" "$page" | sed -n ${number}p
		section report | sed '/^<details>/d'
	} >"$mine.new/README.md"
	git apply -p2 --directory="$mine.new" "$patch" || {
		rm -rf "$mine.new"
		misuse "Chapter 6 has changes, and the bug does not fit: git stash them, then run make bug $number."
	}
	mv "$mine.new" "$mine"
	say "The program with the bug is in $mine. Find it, mend it there, and run make bug $number again."
fi
cat "$mine/README.md"

promise=$(cut -d: -f1 "$patch" | head -n 1)
export CONTROLLER=$mine
code=0
ONLY=$promise "$scripts/conformance.sh" || code=$?
[ $code = 0 ] || exit $code
say "The promise $promise is kept. Now all others: the stages of the capstone."
"$scripts/capstone.sh" try || code=$?
[ $code = 0 ] || exit $code
mkdir -p .progress/bugs
: >".progress/bugs/$name"
printf '\nBug %s is mended.\n' "$number"
section project
