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

wanted=$(sed -n 's/^go //p' "$root/go.mod")
# GOTOOLCHAIN=local: else Go fetches the version that go.mod wants, and says it is that one.
version=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null | sed 's/^go\([0-9.]*\).*/\1/')
if [ -z "$version" ]; then
	bad "Go: not found. Install Go $wanted or later from https://go.dev/dl, and put its bin folder on PATH."
elif at_least "$version" "$wanted"; then
	ok "Go $version"
else
	bad "Go $version is too old: install Go $wanted or later from https://go.dev/dl."
fi

for tool in git make; do
	if command -v $tool >/dev/null; then
		ok "$tool: $($tool --version | head -n 1)"
	else
		bad "$tool: not found. Install it (macOS: xcode-select --install; Debian, Ubuntu: sudo apt install $tool)."
	fi
done

missing=
while read -r list programs; do
	[ "$list" = system ] || continue
	for program in $programs; do
		type -P "$program" >/dev/null || missing="$missing $program"
	done
done <"$scripts/programs.txt"
if [ -z "$missing" ]; then
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
if [ -n "$runtime" ]; then
	ok "containers: $runtime answers, for the kind cluster"
elif command -v docker >/dev/null || command -v podman >/dev/null; then
	note "containers: installed, but does not answer. The local cluster needs none; for kind, start Docker or Podman."
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

files=$(ulimit -n)
if [ "$files" = unlimited ] || [ "$files" -ge 1024 ]; then
	ok "open files: $files"
else
	bad "open files: $files at most, and etcd and the API server need 1024: run ulimit -n 4096 before make."
fi

# free_gb FOLDER: free disk space in whole GB, at FOLDER or the nearest folder above it that exists.
free_gb() {
	local folder=$1
	while [ ! -d "$folder" ]; do folder=$(dirname "$folder"); done
	df -Pk "$folder" | awk 'NR == 2 { print int($4 / 1024 / 1024) }'
}
# disk FOLDER GB WHAT: whether there is room for it.
disk() {
	local folder=$1 free
	while [ ! -d "$folder" ]; do folder=$(dirname "$folder"); done
	free=$(free_gb "$folder")
	if [ ! -w "$folder" ]; then
		bad "disk: $folder cannot be written, and is for $3. Set $4 to another folder."
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
disk "${XDG_CACHE_HOME:-${HOME-}/.cache}" $build_gb "the local cluster's programs" XDG_CACHE_HOME
disk "$state" 1 "the cluster's objects and logs" CLUSTER_DIR
exit $status
