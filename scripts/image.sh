#!/usr/bin/env bash
# Builds chapter 6's controller and an image with nothing else in it, and prints the image's name. Its tag is a checksum of
# the content: a changed program is another image, and the same program from the same folder the same one.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

runtime=$(container_runtime) || fail "An image takes Docker or Podman, and neither answers: start one, then run this again."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022 # the image's user is not this one, and must be allowed to run the program
cp "$root/06-crd-codegen/deploy/Dockerfile" "$work"
# Without CGO the program is linked statically, and runs where there is no libc. -s -w: without the table of symbols.
pin_go
CGO_ENABLED=0 GOOS=linux go build -C "$root" -ldflags='-s -w' -o "$work/controller" ./06-crd-codegen
tag=$(cat "$work/Dockerfile" "$work/controller" | git hash-object --stdin | cut -c 1-12)
# With localhost before it, no node looks for this name in a public registry.
image=localhost/databasemanager-controller:$tag
if ! "$runtime" image inspect "$image" >/dev/null 2>&1; then
	"$runtime" build -t "$image" "$work" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
fi
say "The image has $(("$("$runtime" image inspect -f '{{.Size}}' "$image")" / 1000000)) MB."
echo "$image"
