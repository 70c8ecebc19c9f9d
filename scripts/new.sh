#!/usr/bin/env bash
# usage: new.sh KIND
# Begins a controller of the reader's own resource: a Go module in mine/KIND, or in FOLDER, that depends on nothing of this checkout.
# GROUP is the API group, by default example.com. What is there is never overwritten.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

kind=${1-} group=${GROUP:-example.com}
[[ $kind =~ ^[A-Z][A-Za-z0-9]+$ && ${#kind} -le 40 ]] ||
	misuse "A kind is two to forty letters and digits, the first one a capital letter: make new Cache."
[[ $group =~ ^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$ ]] || misuse "GROUP is a domain, such as example.com."
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
deployment | internal | break | case | chan | const | continue | default | defer | else | fallthrough | for | func | go | goto | \
	if | import | interface | map | package | range | return | select | struct | switch | type | var)
	misuse "Choose another kind: $name has another meaning in the program."
	;;
esac
folder=${FOLDER:-$root/mine/$name}
folder=${folder%/}
[ ! -e "$folder" ] || misuse "$folder is there already: move it away, or choose another FOLDER."

mkdir -p "$(dirname "$folder")"
folder=$(cd "$(dirname "$folder")" && pwd -P)/$(basename "$folder")
new=$folder.new
rm -rf "$new"
trap 'rm -rf "$new"' EXIT
mkdir "$new"
cd "$scripts/_website"
find . -type f | while IFS= read -r file; do
	to=$new/${file//website/$name}
	mkdir -p "${to%/*}"
	sed -e "s/Websites/$plural/g; s/Website/$kind/g; s/websites/$(lower "$plural")/g; s/website/$name/g; s/example\.com/$group/g" "$file" >"$to"
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
tool=sigs.k8s.io/controller-tools/cmd/controller-gen
sed "s|^module .*|module $group/$name|; /^tool (/,/^)/d" "$root/go.mod" >go.mod
cp "$root/go.sum" .
go mod edit -tool=$tool
say "Generating, which takes a minute."
./codegen.sh >log 2>&1 || {
	cat log >&2
	exit 1
}
rm log
modules=$(go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}' ./... tool && go list -m k8s.io/code-generator)
{
	sed -n '/^module /p; /^go /p' go.mod
	printf 'tool %s\nrequire (\n%s\n)\n' $tool "$(sort -u <<<"$modules")"
} >go.mod.new
mv go.mod.new go.mod
go mod edit -fmt
go vet ./...
cd "$root"
mv "$new" "$folder"
folder=${folder#"$root"/}
say "A controller of $plural begins in $folder: its README.md says what to change. This tries it:
  make conformance CONTROLLER=\"$folder\""
