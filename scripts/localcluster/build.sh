#!/usr/bin/env bash
# usage: build.sh [NAME...]
# Builds the embedded cluster's programs, or only those named, from the versions in go.mod, and prints the
# folder they are in. Each is built once; what is there already is kept.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
cd "$scripts/localcluster"

packages=(
	go.etcd.io/etcd/server/v3
	k8s.io/kubernetes/cmd/kube-apiserver
	k8s.io/kubernetes/cmd/kube-controller-manager
	k8s.io/kubernetes/cmd/kube-scheduler
	k8s.io/kubernetes/cmd/kubectl
	sigs.k8s.io/kwok/cmd/kwok
	sigs.k8s.io/kwok/cmd/kwokctl
)

# name_of PACKAGE: the program's name. etcd's main package is the root of its module.
name_of() {
	case $1 in
	go.etcd.io/etcd/*) echo etcd ;;
	*) basename "$1" ;;
	esac
}

todo=()
for package in "${packages[@]}"; do
	name=$(name_of "$package")
	case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
	[ -x "$bin/$name" ] || todo+=("$package")
done

if [ ${#todo[@]} -gt 0 ]; then
	mkdir -p "$bin"
	IFS=. read -r major minor _ <<<"${kubernetes#v}"
	ldflags="-s -w"
	for version in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		ldflags+=" -X $version.gitVersion=$kubernetes -X $version.gitMajor=$major -X $version.gitMinor=$minor -X $version.gitTreeState=clean"
	done
	say "Building ${*:-Kubernetes} $kubernetes into $bin, once."
	if [ $# -eq 0 ]; then
		say "The first build downloads and compiles all of it: about 7 minutes on 2 cores, less on more."
	fi
	number=0
	for package in "${todo[@]}"; do
		name=$(name_of "$package")
		number=$((number + 1))
		# Linked beside its place and then moved, so that an interrupted build never leaves half a program.
		# What go says on the way, a line for each module it downloads, is of interest only if it fails.
		GOWORK=off GOFLAGS='' CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$ldflags" -o "$bin/.$name.partial" "$package" >"$bin/build.log" 2>&1 &
		build=$!
		trap 'kill $build 2>/dev/null; exit 130' INT TERM
		[ -t 2 ] || printf '  %d/%d %s\n' $number ${#todo[@]} "$name" >&2
		while kill -0 $build 2>/dev/null; do
			[ ! -t 2 ] || printf '\r  %d/%d %-24s %d:%02d' $number ${#todo[@]} "$name" $((SECONDS / 60)) $((SECONDS % 60)) >&2
			sleep 1
		done
		if ! wait $build; then
			cat "$bin/build.log" >&2
			fail "Building $name failed, see above. Cure that, then run the same command again: it goes on from here."
		fi
		mv "$bin/.$name.partial" "$bin/$name"
		[ ! -t 2 ] || printf '\n' >&2
	done
	say "$(printf 'Built in %d:%02d.' $((SECONDS / 60)) $((SECONDS % 60)))"
fi
echo "$bin"
