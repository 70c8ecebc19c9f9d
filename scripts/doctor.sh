#!/usr/bin/env bash
# Checks what the workbook needs: one line each, ok or how to put it right. Exit code 1 if something must be put right.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
. "$scripts/cluster-local.sh"

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
		[ "${have[part]:-0}" -eq "${want[part]:-0}" ] || { [ "${have[part]:-0}" -gt "${want[part]:-0}" ]; return; }
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

case $(uname -s)/$(uname -m) in
Linux/x86_64 | Linux/aarch64 | Darwin/x86_64 | Darwin/arm64) ok "system: $(uname -s) on $(uname -m)" ;;
*) bad "system: $(uname -s) on $(uname -m). Use Linux or macOS on amd64 or arm64; on Windows that is WSL 2." ;;
esac

runtime=$(container_runtime)
if [ -n "$runtime" ]; then
	ok "containers: $runtime answers, for the kind cluster"
elif command -v docker >/dev/null || command -v podman >/dev/null; then
	note "containers: installed, but does not answer. The local cluster needs none; for kind, start Docker or Podman."
else
	note "containers: neither Docker nor Podman. The local cluster needs none; for kind, install one of them."
fi

# Nodes of a kind cluster share these limits with all else on the machine, and break in odd ways at the limit.
if [ -r /proc/sys/fs/inotify/max_user_watches ]; then
	watches=$(cat /proc/sys/fs/inotify/max_user_watches)
	instances=$(cat /proc/sys/fs/inotify/max_user_instances)
	if [ "$watches" -ge 524288 ] && [ "$instances" -ge 512 ]; then
		ok "inotify: $watches watches, $instances instances"
	else
		note "inotify: $watches watches, $instances instances; only kind may need more: sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512"
	fi
else
	ok "inotify: not on this system"
fi

free=$(free_gb "$cache")
if built; then
	ok "disk: $free GB free in $cache, the local cluster is built"
elif [ "$free" -ge $build_gb ]; then
	ok "disk: $free GB free in $cache, building the local cluster takes $build_gb GB"
else
	bad "disk: $free GB free in $cache, building the local cluster takes $build_gb GB. Free some, or use kind."
fi
exit $status
