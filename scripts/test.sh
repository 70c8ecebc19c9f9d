#!/usr/bin/env bash
# usage: test.sh local|kind [ARGUMENT...]
# Runs the tests on a cluster of that kind, which it brings up if need be, and lets none skip for want of one; with WORKBOOK_TESTS=all
# also those that are too dear for each change. With arguments, go test gets those in place of all packages:
# scripts/test.sh kind ./06-crd-codegen -run Kind
# RACE=1 adds the race detector, for which go compiles everything once more.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

export CLUSTER=$1 CLUSTER_DIR=$state
shift
race=()
if [ -n "${RACE-}" ]; then
	race=(-race)
	export CGO_ENABLED=1 # or go refuses
	compiler=$(go env CC)
	command -v "${compiler%% *}" >/dev/null ||
		fail "RACE is set, and there is no C compiler for the race detector: install one (make doctor says how), or unset RACE."
fi
# On kind the READMEs' commands run on the tests' cluster, and delete what they find: that is never the reader's. Otherwise the READMEs
# have a cluster of their own, so the tests get one beside the reader's only if that is of the other kind.
if [ "$CLUSTER" = kind ] || [ "$(cluster_type)" = kind ]; then
	CLUSTER_DIR=$state/test-$CLUSTER
fi
"$scripts/cluster-up.sh" || exit 1
state=$CLUSTER_DIR
[ "$CLUSTER" = local ] || load_pod_images
# The reader's own clusters are none of the tests' business, NODES is not for the clusters that tests make for themselves, and
# make would hand ARGS to a make that a test runs.
unset KUBECONFIG NODES ARGS MAKEFLAGS RACE
export KUBE_CACHE_MUTATION_DETECTOR=true REQUIRE_CLUSTER=1 KUBERC=off
cd "$root" || exit 1
pin_go
# What never looks at a cluster, nor runs what is in this folder, keeps go's results from before: go knows all that it depends on. The
# others ask for the name of this run (testkit.Anew), so go runs them anew: it could have a result of yesterday, for a cluster that is
# down today. With WORKBOOK_TESTS=all, all run anew.
WORKBOOK_RUN=$$-$(date +%s)
export WORKBOOK_RUN
# -vet=off: make lint has it, and compiles all packages for it. -p 3 -parallel 3: three packages at a time, three tests of each, which
# mostly wait for the cluster; on kind, whose nodes take more, two packages, and four tests of each.
# nice: the cluster comes first, or its API server may not answer for seconds; and the reader can work beside the tests.
if [ "$CLUSTER" = kind ]; then flags=(-p 2 -parallel 4); else flags=(-p 3 -parallel 3); fi
flags+=(${race[@]+"${race[@]}"} -vet=off -timeout 60m)
[ "${WORKBOOK_TESTS-}" != all ] || flags+=(-count=1)
# packages: the path of each package with tests. With SINCE=REV, of those that a change since then can break: one in their own folder,
# in that of a package that they import, or in go.mod; and those that read files or run programs of other packages. The folders of
# exercises have one test each, which is the reader's, and skips until he has answered: 53 more programs would be linked for nothing. His
# own controllers are in folders with the name mine. What go cannot read is a line, too, so that go test says why.
# What takes longest is first. With WORKBOOK_TESTS=all that is what has clusters of its own for longest, and waits for no other; what has
# one for a short time is last. Without, the garbage collector is slow beside exercises of chapter 6, which make and remove CRDs.
packages() {
	local changed=''
	[ -z "${SINCE-}" ] || changed=$({ git diff --name-only "$SINCE" -- && git ls-files -o --exclude-standard; } |
		sed 's|/[^/]*$||' | sort -u) || return
	go list -e -deps -test -f '{{if .ForTest}}{{.ForTest}}{{range .Deps}} {{.}}{{end}}{{else if .Error}}{{.ImportPath}}{{end}}' ./... |
		CHANGED=$changed SINCE=${SINCE-} awk '
			BEGIN {
				count = split(ENVIRON["CHANGED"], folders, "\n"); since = ENVIRON["SINCE"]; all = ENVIRON["WORKBOOK_TESTS"] == "all"
			}
			function place(path) {
				if (all) return path ~ /workbook\/(internal\/test\/readmes|scripts)$/ ? 0 : path ~ \
					/workbook\/(01-listwatch|06-crd-codegen|internal\/exercise\/fakeserver)$/ ? 2 : 1
				return path ~ /workbook\/(06-crd-codegen|scripts)$/ ? 0 : path ~ \
					/workbook\/internal\/(conformance|exercises\/06-crd-codegen)$/ ? 1 : 2
			}
			function touched(path, folder, i) {
				if (path in known) return known[path]
				folder = path
				sub(/^[^ ]*\/client-go-workbook\//, "", folder)
				for (i = 1; i <= count; i++) if (folders[i] ~ /^go\./ || index(folders[i] "/", folder "/") == 1) return known[path] = 1
				return known[path] = 0
			}
			$1 ~ /\/[0-9][0-9]-[^\/]*\/exercises\/|\/mine(\/|$)/ { next }
			{
				if (since == "" || count && $1 ~ /\/(internal\/(test\/(readmes|docs|pictures)|conformance|exercise\/manifest)|scripts)$/) wanted[$1] = 1
				for (i = 1; i <= NF && !($1 in wanted); i++) if (touched($i)) wanted[$1] = 1
			}
			END {
				for (package in wanted) print place(package), package
			}' | sort | cut -d ' ' -f 2
}
count=0
if [ $# -eq 0 ]; then
	all=$(packages) || fail "The packages cannot be listed: see above."
	[ -n "$all" ] || fail "No test depends on what has changed since $SINCE."
	# shellcheck disable=SC2086 # words
	set -- $all
	[ -n "${SINCE-}" ] || count=$#
fi
program=$(built test scripts/test/*.go) || exit 1
# What a test leaves behind that is interrupted goes with this folder: files, and clusters. The folder has the same name in each run:
# for a test that asks for one, go has no result from before if the name differs. A second run beside the first has another.
ended() {
	find "$TMPDIR" -name type -type f | while IFS= read -r file; do
		CLUSTER_DIR=${file%/type} "$scripts/cluster-down.sh"
	done >/dev/null 2>&1
	rm -rf "$TMPDIR"
}
TMPDIR=${TMPDIR:-/tmp}/workbook-$(cksum <<<"$root" | cut -d ' ' -f 1)
if [ -O "$TMPDIR" ] && ! kill -0 "$(cat "$TMPDIR/run" 2>/dev/null)" 2>/dev/null; then ended; fi # of a run that was killed
mkdir -m 700 "$TMPDIR" 2>/dev/null || TMPDIR=$(TMPDIR=${TMPDIR%/*} mktemp -d) || exit 1
export TMPDIR
echo $$ >"$TMPDIR/run"
trap ended EXIT
trap : INT TERM # the program has them, too, and ends
kept=${XDG_CACHE_HOME:-${HOME-}/.cache}/client-go-workbook
mkdir -p "$kept" 2>/dev/null && [ -w "$kept" ] || kept=$TMPDIR
# READMEs show times: nothing is compiled beside them.
case "${WORKBOOK_TESTS-} $*" in
"all "*/internal/test/readmes*) nice -n 5 go list -test -deps -export ${race[@]+"${race[@]}"} ./... >/dev/null ;;
esac
nice -n 5 "$program" "$count" "$kept" "${flags[@]}" "$@"
