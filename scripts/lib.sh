# shellcheck shell=bash disable=SC2034
# What the scripts in this folder share; they source it. It only defines, it does nothing.
# Bash 3.2 (macOS) must understand all of it.

scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
root=${scripts%/*}

# All that belongs to a cluster is in one folder, so that two checkouts, or two tests, never share anything.
state=${CLUSTER_DIR:-$root/.cluster}
case $state in /*) ;; *) state=$PWD/$state ;; esac
[ ! -d "$state" ] || state=$(cd "$state" && pwd -P)
kubeconfig=$state/kubeconfig
kwok=$state/.kwok

# The embedded cluster's programs are shared by all checkouts that want the same versions of them.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/client-go-workbook
modules=$scripts/localcluster/go.mod
kubernetes=$(sed -n 's|^.*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' "$modules")
bin=$cache/$kubernetes-$(cksum <"$modules" | cut -d' ' -f1)

components="etcd kube-apiserver kube-controller-manager kube-scheduler kwok-controller"

# kubectl would else keep a cache in ~/.kube.
export KUBECACHEDIR=$state/kubectl-cache

say() { printf '%s\n' "$*" >&2; }

# fail MESSAGE: says it and ends the script. misuse MESSAGE: the same where the command line is wrong.
fail() { say "$*"; exit 1; }
misuse() { say "$*"; exit 2; }

kubectl() { "$bin/kubectl" --kubeconfig="$kubeconfig" "$@"; }

# cluster_type: kind or local; nothing where no cluster has been made.
cluster_type() { cat "$state/type" 2>/dev/null || true; }

# ready: whether the API server answers and says that it is ready.
ready() { [ -f "$kubeconfig" ] && kubectl get --raw=/readyz --request-timeout=3s >/dev/null 2>&1; }

# within SECONDS COMMAND...: runs a command that may hang, and gives up on it after that time.
within() {
	local tenths=$(($1 * 10))
	shift
	"$@" 9>&- &
	while kill -0 $! 2>/dev/null && [ $tenths -gt 0 ]; do
		sleep 0.1
		tenths=$((tenths - 1))
	done
	kill $! 2>/dev/null || true
	wait $! 2>/dev/null
}

# lock: waits until no other script changes a cluster of this user, then keeps the others waiting until it ends.
# One lock for all checkouts, since two starting at once would also choose the same free ports. Descriptor 9
# holds it: what must outlive the script is started with 9>&-, or the lock would never be free again.
lock() {
	mkdir -p "$cache"
	exec 9>>"$cache/lock"
	if ! flock_9 -n; then
		say "Waiting for another make cluster or make cluster-down to end."
		flock_9
	fi
}

# flock_9 [-n]: macOS has no flock command, but it has perl.
flock_9() {
	if command -v flock >/dev/null; then
		flock "$@" 9
	else
		perl -e 'use Fcntl ":flock"; open my $f, ">&=", 9; exit !flock $f, @ARGV ? LOCK_EX|LOCK_NB : LOCK_EX' -- "$@"
	fi
}

# processes: a line "pid name" for each running process of the local cluster. They are found by their arguments,
# which all name kwok's work folder: a pid file is worth nothing after a reboot, when the number is someone else's.
processes() {
	local file pid command
	if [ -d /proc/self ]; then
		# shellcheck disable=SC2013 # these paths have no spaces
		for file in $(grep -lsF -- "=$kwok/" /proc/[0-9]*/cmdline); do
			pid=${file#/proc/}
			{ IFS= read -r -d '' command <"$file"; } 2>/dev/null && echo "${pid%/cmdline} ${command##*/}"
		done
	else
		# shellcheck disable=SC2009 # pgrep prints no arguments on macOS
		ps -axww -o pid=,args= | grep -F -- "=$kwok/" | while read -r pid command; do
			command=${command%% --*}
			echo "$pid ${command##*/}"
		done
	fi | grep -E ' (etcd|kube-.*|kwok-controller|kwokctl)$' || true
}

# missing: those of the local cluster's programs that don't run.
missing() {
	local name running
	running=" $(processes | cut -d' ' -f2 | tr '\n' ' ')"
	for name in $components; do
		case $running in *" $name "*) ;; *) echo "$name" ;; esac
	done
}

# stop PATTERN: ends the local cluster's processes whose names match, and waits until they are gone.
# Without mercy, as kwokctl does it too: etcd's data survive that, and no other program writes any.
stop() {
	local pids
	while
		pids=$(processes | grep -E " ($1)\$" | cut -d' ' -f1)
		[ -n "$pids" ]
	do
		# shellcheck disable=SC2086
		kill -9 $pids 2>/dev/null
		sleep 0.05
	done
}

# kind_name: kind's clusters share one list, so the name tells checkouts apart.
kind_name() { echo "workbook-$(printf %s "$state" | cksum | cut -d' ' -f1)"; }

# kind ARGUMENT...: the kind of go.mod. It writes to no other kubeconfig than ours.
kind() { (cd "$root" && KUBECONFIG=$kubeconfig go tool kind "$@" 9>&-); }

# answers RUNTIME: whether docker or podman is there and its daemon answers within 3 seconds.
answers() { command -v "$1" >/dev/null && within 3 "$1" ps -q >/dev/null 2>&1; }

# container_runtime: docker or podman, whichever answers; nothing if none does.
container_runtime() {
	local runtime
	for runtime in docker podman; do
		if answers "$runtime"; then
			echo "$runtime"
			return
		fi
	done
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

# free_gb FOLDER: free disk space in whole GB, at FOLDER or the nearest folder above it that exists.
free_gb() {
	local folder=$1
	while [ ! -d "$folder" ]; do folder=$(dirname "$folder"); done
	df -Pk "$folder" | awk 'NR == 2 { print int($4 / 1024 / 1024) }'
}
