#!/usr/bin/env bash
# usage: new.sh KIND
# Begins a controller of the reader's own resource: a Go module in mine/KIND, or in FOLDER, that depends on nothing of this checkout.
# GROUP is the API group, by default example.com. What is there is never overwritten.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

kind=${1-} group=${GROUP:-example.com}
[[ $kind =~ ^[A-Z][A-Za-z0-9]+$ && ${#kind} -le 40 ]] ||
	misuse "${kind:+$kind is no kind. }A kind is two to forty letters and digits, the first one a capital letter: make new Cache."
[[ $group =~ ^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$ ]] || misuse "GROUP=$group is no domain, such as example.com."
case .$group in *.k8s.io | *.kubernetes.io) misuse "GROUP=$group belongs to Kubernetes: choose another domain." ;; esac
case $kind in # as client-gen does it
*[sxz] | *[cs]h) plural=${kind}es ;;
*[!aeiou]y) plural=${kind%y}ies ;;
*f) plural=${kind%f}ves ;;
*fe) plural=${kind%fe}ves ;;
*) plural=${kind}s ;;
esac
lower() { tr '[:upper:]' '[:lower:]' <<<"$1"; }
name=$(lower "$kind")
case $name in
deployment | service | error | install | internal | main | make | resource | string | test | testdata | vendor | \
	break | case | chan | const | continue | default | defer | else | fallthrough | for | func | go | goto | if | import | \
	interface | map | package | range | return | select | struct | switch | type | var)
	misuse "Choose another kind: $name has another meaning in the program."
	;;
esac
folder=${FOLDER:-$root/mine/$name}
folder=${folder%/}
[ ! -e "$folder" ] || misuse "$folder is there already: move it away, or choose another FOLDER."

mkdir -p "$(dirname "$folder")"
folder=$(cd "$(dirname "$folder")" && pwd -P)/$(basename "$folder")
new=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$new"' EXIT
chmod 755 "$new"
cd "$scripts/_website"
find . -type f ! -name '.?*' ! -name '*~' | while IFS= read -r file; do
	to=$new/${file//website/$name} # below, %K and the others are there because a kind may itself contain Website
	mkdir -p "${to%/*}"
	sed -e 's/Websites/%P/g; s/Website/%K/g; s/websites/%p/g; s/website/%k/g; s/example\.com/%g/g' \
		-e "s/%P/$plural/g; s/%K/$kind/g; s/%p/$(lower "$plural")/g; s/%k/$name/g; s/%g/$group/g" "$file" >"$to"
done
chmod +x "$new/codegen.sh"
for package in ssa consistency election; do
	mkdir -p "$new/internal/$package"
	for file in "$root/internal/controller/$package"/*.go; do
		case $file in *_test.go) ;; *) cp "$file" "$new/internal/$package" ;; esac
	done
done

# First with all modules of the workbook, then with those that are needed.
cd "$new"
pin_go
sed "s|^module .*|module $group/$name|; /^tool (/,/^)/d" "$root/go.mod" >go.mod
cp "$root/go.sum" .
go mod edit -tool=sigs.k8s.io/controller-tools/cmd/controller-gen -tool=k8s.io/code-generator/cmd/client-gen
say "Generating, which takes a minute."
./codegen.sh >log 2>&1 || {
	cat log >&2
	exit 1
}
rm log
module='{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}'
# shellcheck disable=SC2046 # packages
direct=$(go list -f "$module" $(go list -f '{{join .Imports " "}}' ./...))
go list -deps -f "$module" ./... tool | sort -u >modules
{
	sed -n '/^module /p; /^go /p; /^tool (/,/^)/p; /^tool [^(]/p' go.mod
	echo 'require ('
	while read -r path version; do
		case $direct in *"$path $version"*) echo "$path $version" ;; *) echo "$path $version // indirect" ;; esac
	done <modules
	echo ')'
} >go.mod.new
rm modules
mv go.mod.new go.mod
go mod edit -fmt
go vet ./... || fail "The generated code does not compile: choose another kind than $kind."
cd "$root"
[ ! -e "$folder" ] || fail "$folder is there now: choose another FOLDER."
mv "$new" "$folder"
folder=${folder#"$root"/}
say "A controller of $plural begins in $folder: its README.md says what to change. This tries it:
  make conformance CONTROLLER=\"$folder\""
