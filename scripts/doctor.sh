#!/usr/bin/env bash
# Checks what the workbook needs: one line each, ok or how to correct it. Exit code 1 if something must be corrected.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

status=0
ok() { printf 'ok    %s\n' "$*"; }
note() { printf 'note  %s\n' "$*"; }
bad() {
	printf 'FIX   %s\n' "$*"
	status=1
}

# at_least VERSION WANTED: compares 1.26.0 with 1.9.
at_least() {
	local have want part
	IFS=. read -r -a have <<<"$1"
	IFS=. read -r -a want <<<"$2"
	for part in 0 1 2; do
		[ "${have[part]:-0}" -eq "${want[part]:-0}" ] || {
			[ "${have[part]:-0}" -gt "${want[part]:-0}" ]
			return
		}
	done
}

wanted=$(sed -n 's/^go //p' "$root/go.mod" 2>/dev/null)
# GOTOOLCHAIN=local: else Go fetches the version that go.mod wants, and says it is that one.
said=$(GOTOOLCHAIN=local go env GOVERSION 2>&1)
version=$(printf '%s\n' "$said" | sed -n 's/^go\([0-9.]*\).*/\1/p')
if [ -z "$wanted" ]; then
	bad "Go: $root/go.mod cannot be read. Clone the workbook again."
elif [ -z "$version" ] && command -v go >/dev/null; then
	bad "Go: go env GOVERSION fails: $said"
elif [ -z "$version" ]; then
	bad "Go: not found. Install Go $wanted or later from https://go.dev/dl, and put its bin folder on PATH."
elif at_least "$version" "$wanted"; then
	ok "Go $version"
else
	bad "Go $version is too old: install Go $wanted or later from https://go.dev/dl."
fi

# cause OUTPUT: the first sentence of what go says, after its progress.
cause() { printf '%s\n' "$1" | grep -v -e '^#' -e '^go: downloading ' | sed -e 's/\. You can.*//' -e 's/:$//' -e q; }

# What decides is whether a program can be built, and runs. First as the READMEs let the reader type it: with all that he has set for
# go, and a go.work in a folder above. Then as the scripts build, which pin what they can, and where go test builds.
check_go() {
	local said advice temporary
	if said=$({ cd "$root" && go list -m >/dev/null && go run ./scripts/doctor; } 2>&1); then
		ok "go run: runs a program on $said"
	else
		case $said in
		*go.work*) advice="set GOWORK=off, or run go work use $root in the folder of go.work" ;;
		*'exec format error'*) advice='run go env -u GOOS GOARCH, and unset both' ;;
		*) advice='go env -changed lists what is set for go' ;;
		esac
		bad "go run: go run ./scripts/doctor: $(cause "$said"): $advice"
	fi
	temporary=$(go env GOTMPDIR 2>/dev/null)
	temporary=${temporary:-${TMPDIR:-/tmp}}
	work=$(mktemp -d "$temporary/doctor.XXXXXX" 2>&1) || work=''
	trap 'rm -rf "$work"' EXIT
	if [ -z "$work" ]; then
		bad "go test: no folder can be made in $temporary, for what go test builds. Set TMPDIR to another folder."
	elif ! said=$(pin_go && go build -C "$root" -o "$work/doctor" ./scripts/doctor 2>&1); then
		bad "go build: the scripts cannot build a program: $(cause "$said")"
	elif ! said=$(cd "$root" && pin_go && go list -deps ./scripts/cluster 2>&1 >/dev/null); then
		bad "go modules: they are not here, and cannot be downloaded: $(cause "$said")"
	elif ! said=$("$work/doctor" 2>&1); then
		bad "go test: a program in $temporary does not run: ${said##*: }. Set GOTMPDIR to another folder: go test builds there."
	else
		ok "go test: programs run in $temporary"
	fi
}
work=''
[ -z "$version" ] || check_go
modules=$(go env GOMODCACHE 2>/dev/null)
case $modules in
"$root"/*) bad "GOMODCACHE: $modules is inside the workbook, so that go takes modules in it for packages of the workbook. Set another folder." ;;
esac
# The scripts pin the first four. What they compile is not found compiled by a command with other ones.
settings=$(go env -changed GOFLAGS GOOS GOARCH GO111MODULE GOEXPERIMENT GODEBUG 2>/dev/null | tr '\n' ' ')
[ -z "$settings" ] ||
	note "go env: ${settings% }. With them, go may compile everything once more, or programs may print something else than the READMEs."

for tool in git make; do
	if said=$($tool --version 2>&1); then
		ok "$tool: $(printf '%s\n' "$said" | head -n 1)"
	elif command -v $tool >/dev/null; then
		bad "$tool: does not run: $(printf '%s\n' "$said" | head -n 1)"
	else
		bad "$tool: not found. Install it (macOS: xcode-select --install; Debian, Ubuntu: sudo apt install $tool)."
	fi
done

missing='' found=''
while read -r list programs; do
	[ "$list" = system ] || continue
	for program in $programs; do
		type -P "$program" >/dev/null || missing="$missing $program"
	done
	found=yes
done <"$scripts/programs.txt" 2>/dev/null
if [ -z "$found" ]; then
	bad "programs: $scripts/programs.txt cannot be read. Clone the workbook again."
elif [ -z "$missing" ]; then
	ok "programs: all that are in scripts/programs.txt"
else
	bad "programs: not found on PATH:$missing. macOS and Debian have them from the start: look at your PATH, or install them."
fi

case $(uname -s)/$(uname -m) in
Linux/x86_64 | Linux/aarch64 | Darwin/x86_64 | Darwin/arm64) ok "system: $(uname -s) on $(uname -m)" ;;
*) bad "system: $(uname -s) on $(uname -m). Use Linux or macOS on amd64 or arm64; on Windows that is WSL 2." ;;
esac

# Only the race detector needs one: it is C code that go links in.
compiler=$(go env CC 2>/dev/null)
compiler=${compiler%% *} # CC may have arguments
if command -v "${compiler:-gcc}" >/dev/null; then
	ok "C compiler: $(command -v "${compiler:-gcc}"), for RACE=1 make exercise and RACE=1 make test, which find data races"
else
	note "C compiler: none. Only RACE=1 make exercise and RACE=1 make test need one; to have it, install one (Debian, Ubuntu: sudo apt install gcc; macOS: xcode-select --install)."
fi

runtime=$(container_runtime)
unfit=''
[ -z "$runtime" ] || unfit=$("$scripts/cluster.sh" unfit "$runtime" 2>/dev/null)
if [ -n "$unfit" ]; then
	note "containers: $unfit. make cluster takes the local cluster, which needs none."
elif [ -n "$runtime" ]; then
	ok "containers: $runtime answers, for the kind cluster"
elif command -v docker >/dev/null || command -v podman >/dev/null; then
	for program in docker podman; do answers $program "${work:+$work/$program}"; done
	said=$(cat "$work/docker" "$work/podman" 2>/dev/null | tail -n 1)
	note "containers: installed, but does not answer${said:+: $said}. The local cluster needs none; for kind, start Docker or Podman."
else
	note "containers: neither Docker nor Podman. The local cluster needs none; for kind, install one of them."
fi

# All nodes of a kind cluster share these limits with the other programs of their user. A node with the samples has 25
# instances. A kubelet that gets none ends with "Failed to start cAdvisor", and its node never becomes ready.
if [ -r /proc/sys/fs/inotify/max_user_watches ]; then
	watches=$(cat /proc/sys/fs/inotify/max_user_watches)
	instances=$(cat /proc/sys/fs/inotify/max_user_instances)
	if [ "$watches" -ge 524288 ] && [ "$instances" -ge 512 ]; then
		ok "inotify: $watches watches, $instances instances"
	elif [ -n "$runtime" ] || [ "$(cluster_type)" = kind ]; then
		note "inotify: $watches watches, $instances instances; a kind node takes 25 instances. If one does not become ready: sudo sysctl fs.inotify.max_user_watches=$((watches > 524288 ? watches : 524288)) fs.inotify.max_user_instances=$((instances > 512 ? instances : 512))"
	else
		ok "inotify: $watches watches, $instances instances; only kind needs more"
	fi
else
	ok "inotify: not on this system"
fi

# Programs in Go raise the soft limit to the hard one by themselves. With 128, etcd ends.
files=$(ulimit -Hn)
if [ "$files" = unlimited ] || [ "$files" -ge 256 ]; then
	ok "open files: $files"
else
	bad "open files: $files at most, and etcd needs 256: raise the hard limit, which ulimit -Hn shows."
fi

# runs_in FOLDER: whether a program there runs: a file system can forbid it (noexec).
runs_in() {
	local copy result=0
	copy=$(mktemp "$1/.doctor.XXXXXX") && cp "$work/doctor" "$copy" && chmod 700 "$copy" && "$copy" || result=1
	rm -f "$copy"
	return $result
}
# disk FOLDER GB WHAT VARIABLE: whether there is room for it.
disk() {
	local folder=$1 free
	while [ ! -d "$folder" ]; do folder=$(dirname "$folder"); done
	free=$(df -Pk "$folder" | awk 'NR == 2 { print int($4 / 1024 / 1024) }')
	if [ ! -w "$folder" ]; then
		bad "disk: $folder cannot be written, and is for $3. Set $4 to another folder."
	elif [ -z "$free" ]; then
		bad "disk: df does not tell how much is free in $folder, for $3."
	elif [ -f "$work/doctor" ] && ! said=$(runs_in "$folder" 2>&1); then
		bad "disk: a program in $folder does not run: ${said##*: }. It is for $3: set $4 to another folder."
	elif [ "$free" -ge "$2" ]; then
		ok "disk: $free GB free in $folder, for $3"
	else
		bad "disk: $free GB free in $folder, and $3 takes $2 GB. Free some, or set $4 to another folder."
	fi
}
build_gb=8
if [ -d "$("$scripts/cluster.sh" programs 2>/dev/null)" ]; then
	build_gb=0
fi
disk "${XDG_CACHE_HOME:-${HOME-}/.cache}" $build_gb "building the local cluster's programs" XDG_CACHE_HOME
disk "$state" 1 "the cluster's objects and logs" CLUSTER_DIR

if metrics=$(KUBERC=off "$scripts/kubectl" --request-timeout=5s get --raw /metrics 2>/dev/null); then
	if grep -q '^kubernetes_feature_enabled{name="ShardedListAndWatch",.* 1$' <<<"$metrics"; then
		ok "cluster: its API server has ShardedListAndWatch on"
	else
		note "cluster: its API server has ShardedListAndWatch off. With --shard, chapter 2 gets all objects, and leaves out the others itself."
	fi
fi
exit $status
