# shellcheck shell=bash disable=SC2034
# What the scripts in this folder share; they source it. Bash 3.2 (macOS) must understand all of it.

# What a reader has set in his shell must not change what a script does. With -p, bash takes no options (SHELLOPTS, BASHOPTS),
# no functions and no startup file (BASH_ENV) from the environment. CDPATH makes cd print, and go elsewhere; TMOUT ends a read.
case $- in *p*) ;; *) exec "$BASH" -p "$0" "$@" ;; esac
unset BASH_ENV CDPATH GLOBIGNORE GREP_OPTIONS POSIXLY_CORRECT TMOUT
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE # of a hook that runs this, for its own repository
unset DOCKER_DEFAULT_PLATFORM              # a node for another processor does not start
export -n SHELLOPTS
set +o posix
# The reader's language stays, for less; numbers, the order of names and messages are those that the scripts expect.
export LC_CTYPE="${LC_ALL:-${LC_CTYPE:-${LANG-}}}" LC_COLLATE=C LC_MESSAGES=C LC_NUMERIC=C
unset LC_ALL

scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=${scripts%/*}

# All that belongs to a cluster is in one folder, so that two checkouts, or two tests, never share anything.
state=${CLUSTER_DIR:-$root/.cluster}
case $state in /*) ;; *) state=$PWD/$state ;; esac
kubeconfig=$state/kubeconfig

# pin_go: for all that the scripts build. What a reader has set, by go env -w, too, does not decide what is built: no go.work of a
# folder above, no vendor folder, for this machine. His proxy, caches and toolchain stay. None of it decides how a package is
# compiled: so what the scripts have compiled, client-go above all, go test, go run and an editor find compiled. -ldflags=-w leaves
# debug information out of the programs, which links faster.
pin_go() {
	export GO111MODULE=on GOFLAGS='-mod=readonly -buildvcs=false -ldflags=-w' GOWORK=off GOOS GOARCH
	unset GOROOT
	{ read -r GOOS && read -r GOARCH; } < <(go env GOHOSTOS GOHOSTARCH 2>/dev/null) || unset GOOS GOARCH
}

say() { printf '%s\n' "$*" >&2; }

# fail MESSAGE: says it and ends the script. misuse MESSAGE: the same where the command line is wrong.
fail() {
	say "$*"
	exit 1
}
misuse() {
	say "$*"
	exit 2
}

# cluster_type: kind or local; nothing where no cluster has been made.
cluster_type() { cut -d' ' -f1 "$state/type" 2>/dev/null || true; }

# made_here: whether the cluster was made for this folder, and not for one that this is a copy of, or was moved from.
made_here() { [ "$(cut -d' ' -f3- "$state/type")" -ef "$state" ]; }

# pod_images: the images of the samples' pods, of the databases that the controllers make, and of the READMEs' commands.
pod_images() {
	{
		sed -n 's/^ *image: //p' "$scripts/samples"/*.yaml "$root"/06-crd-codegen/deploy/mariadb.yaml
		sed -n 's/^[[:blank:]]*"[a-z]*": *"\([a-z]*:[0-9.]*\)",$/\1/p' "$root"/05-controller/database.go
		sed -n 's/^\$ scripts.kubectl .*--image=\([^ ]*\).*/\1/p' "$root"/[0-9]*/README.md
	} | sort -u
}

# load_pod_images: puts those of them on the kind cluster's nodes that this machine has: they need not be pulled once more.
load_pod_images() {
	local image name
	command -v docker >/dev/null || return 0
	name=$(cut -d' ' -f2 "$state/type")
	while read -r image; do
		docker image inspect "$image" >/dev/null 2>&1 && (cd "$root" && pin_go && go tool kind load docker-image "$image" --name="$name") >/dev/null 2>&1
	done < <(pod_images)
	return 0
}

# chapter_folder N: the folder of chapter N, which begins with the number in two digits; fails if there is none.
chapter_folder() {
	local folder
	case $1 in *[!0-9]* | '') return 1 ;; esac
	for folder in "$root/$(printf %02d "$((10#$1))")"-*/; do
		[ -f "$folder/main.go" ] && basename "$folder" && return
	done
	return 1
}

# no_chapter N: says that there is no chapter N, and which there are.
no_chapter() {
	local file list=
	for file in "$root"/[0-9][0-9]-*/main.go; do
		[ -f "$file" ] || continue
		file=$(basename "${file%/main.go}")
		list="$list, $((10#${file%%-*})) (${file#*-})"
	done
	list=${list#, }
	misuse "${1:+There is no chapter $1. }Chapters: ${list:-none yet}."
}

# built NAME SOURCE...: prints the path of the program in scripts/NAME, which is built if need be. A copy of it is kept in
# the cache, under a name that changes with its sources: to find out that nothing has changed, go takes longer than the
# program itself. With a new one, those of older sources go that are a month old. In the checkout's folder, after pin_go.
built() {
	local cache=${XDG_CACHE_HOME:-${HOME-}/.cache}/client-go-workbook name=$1 program from sum
	shift
	sum=$({
		cat go.mod go.sum "$@"
		uname -sm
	} | cksum) || return
	[ -n "$sum" ] || return # else the name would be the same for all sources
	program=$cache/$name-${sum%% *}
	if [ ! -x "$program" ]; then
		[ ! -t 2 ] || say "Compiling scripts/$name, once."
		from=$(go tool -n "$name") || return # go builds it, in its own cache
		(umask 077 && mkdir -p "$cache" && cp "$from" "$program.$$" && mv "$program.$$" "$program" &&
			find "$cache" -maxdepth 1 -name "$name-[0-9]*" -mtime +30 -exec rm -f {} +) 2>/dev/null ||
			program=$from # the cache cannot be written
	fi
	echo "$program"
}

# answers RUNTIME [FILE]: whether docker or podman answers within 3 seconds; FILE gets what it says if not. A daemon that hangs must
# not hold this up.
answers() {
	command -v "$1" >/dev/null || return
	"$1" ps -q >/dev/null 2>"${2:-/dev/null}" &
	local question=$!
	for _ in {1..30}; do
		kill -0 $question 2>/dev/null || break
		sleep 0.1
	done
	kill $question 2>/dev/null
	wait $question 2>/dev/null
}

# container_runtime: prints docker or podman, the first that answers; fails if none does.
container_runtime() {
	local candidate
	for candidate in docker podman; do
		answers $candidate || continue
		# Where Podman calls itself docker, kind's part for Docker fails.
		[ $candidate = podman ] || case $(docker -v 2>/dev/null) in podman*) continue ;; esac
		echo $candidate
		return
	done
	return 1
}

# require_kind: ends the script unless there is a kind cluster that is up.
require_kind() {
	case $(cluster_type) in
	kind) "$scripts/cluster.sh" status >/dev/null || exit 1 ;;
	local) fail "The local cluster runs no containers: run make cluster-down, then CLUSTER=kind make cluster." ;;
	*) fail "There is no cluster: run CLUSTER=kind make cluster." ;;
	esac
}
