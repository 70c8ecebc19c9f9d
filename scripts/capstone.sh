#!/usr/bin/env bash
# usage: capstone.sh try [ARGUMENT...]|hint capstone.STAGE|reset capstone|watch capstone
# Tries the reader's controller stage by stage, until one is not kept; STAGE=7 tries one, SEED=2 decides what is left to chance, and
# CONTROLLER=chapter6, twin or a command names another program. START=client-go, controller-runtime, python or shell begins.
# Exit code 0: kept, 1: not kept, 2: wrong usage, 3: could not be seen.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

cd "$root"
capstone=06-crd-codegen/capstone mine=06-crd-codegen/capstone/mine
pin_go

# start KIND: copies a starter. What is there is never overwritten.
start() {
	local kinds='client-go, controller-runtime, python, shell'
	case $1 in client-go | controller-runtime | python | shell) ;; *) misuse "There is no starter $1: $kinds." ;; esac
	[ ! -e "$mine" ] || misuse "$mine is there already: make reset capstone moves it away."
	mkdir "$mine"
	cp "$capstone/$1"/* "$capstone/role.yaml" "$mine"
	say "Your controller begins in $mine. Read $capstone/README.md, then run make capstone."
}

# try: has the suite try the reader's program, or another one.
try() {
	local arguments=(--capstone --again="make capstone${CONTROLLER:+ CONTROLLER=\"$CONTROLLER\"}" --svg=.progress/capstone.svg)
	mkdir -p .progress
	if [ -z "${CONTROLLER-}" ]; then
		export CONTROLLER=mine
		arguments+=(--reached=.progress/capstone)
	fi
	exec "$scripts/conformance.sh" "${arguments[@]}" ${STAGE:+--stage="$STAGE"} ${1+"$@"}
}

# hint [STAGE]: prints a hint of a stage, one more each time; without a number, of the one after those that are kept.
hint() {
	local shown file hints count reached=0
	if [ -z "$1" ] && [ -r .progress/capstone ]; then
		read -r reached _ <.progress/capstone
	fi
	set -- "${1:-$((reached + 1))}"
	case $1 in *[!0-9]*) misuse "make hint capstone.7 shows a hint of stage 7." ;; esac
	file=.progress/capstone-hints/$((10#$1))
	# A hint goes on in lines that are indented.
	hints=$(awk -v heading="## $((10#$1)). " '
		/^## / { here = index($0, heading) == 1 }
		!here { next }
		/^- Hint: / { if (hint != "") print hint; hint = substr($0, 9); next }
		/^  / && hint != "" { hint = hint substr($0, 2); next }
		END { if (hint != "") print hint }
	' "$capstone/README.md")
	[ -n "$hints" ] || misuse "There is no stage $1."
	count=$(grep -c . <<<"$hints")
	mkdir -p "${file%/*}"
	shown=$(($(cat "$file" 2>/dev/null || echo 0) + 1))
	[ "$shown" -le "$count" ] || shown=$count
	echo "$shown" >"$file"
	head -n "$shown" <<<"$hints" | awk -v count="$count" '{ print "hint " NR " of " count ": " $0 }'
}

# sum: changes with the reader's files, and not with those of an editor or a compiler. One can be gone before cksum reads it.
sum() {
	find "$mine" \( -name '.?*' -o -name '*~' -o -name 4913 -o -name __pycache__ -o -name target -o -name node_modules \) -prune \
		-o -type f -exec cksum {} + 2>/dev/null || true
}

# watch: tries the controller each time one of its files is saved.
watch() {
	local last='' now
	trap 'exit 130' INT # try is interrupted, too, and ends with an exit code of its own
	while :; do
		now=$(sum)
		if [ "$now" != "$last" ]; then
			last=$now
			"$scripts/capstone.sh" try || true
			say "Waiting for a change in $mine. Ctrl-C ends this."
		fi
		sleep 1
	done
}

# reset: moves the reader's folder away.
reset() {
	local kept=1
	[ -e "$mine" ] || misuse "There is no $mine: make capstone START=client-go begins."
	while [ -e ".progress/capstone.$kept" ]; do kept=$((kept + 1)); done
	mkdir -p .progress
	mv "$mine" ".progress/capstone.$kept"
	rm -f .progress/capstone
	say "Your controller is kept in .progress/capstone.$kept."
}

case ${1-} in
try) if [ -n "${START-}" ]; then start "$START"; else try "${@:2}"; fi ;;
hint)
	stage=${2-}
	stage=${stage#capstone}
	hint "${stage#.}"
	;;
watch) [ -e "$mine" ] || misuse "There is no $mine: make capstone START=client-go begins." && watch ;;
reset) reset ;;
*) misuse "${1-} is not for the capstone: make capstone, make hint capstone.7, make watch capstone or make reset capstone." ;;
esac
