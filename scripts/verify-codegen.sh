#!/usr/bin/env bash
# Checks that what is generated in chapter 6 follows from its Go types, and names the files that don't. It generates
# in a copy, and changes nothing here.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
copy=$(cd "$copy" && pwd -P)
cp "$root/go.mod" "$root/go.sum" "$copy"
cp -R "$root/06-crd-codegen" "$root/internal" "$copy"
mkdir "$copy/scripts"
cp -R "$scripts/openapi" "$scripts/cluster" "$copy/scripts" # the second is for the twin, which imports internal/, too
"$scripts/update-codegen.sh" "$copy"

# differ: a line for each file that is not as it should be, or is on one side only.
differ() {
	cd "$root/06-crd-codegen"
	LC_ALL=C find pkg crd controller-runtime/role.yaml "$copy/06-crd-codegen/pkg" "$copy/06-crd-codegen/crd" -type f 2>/dev/null |
		sed "s|^$copy/06-crd-codegen/||" | LC_ALL=C sort -u | while IFS= read -r file; do
		cmp -s "$file" "$copy/06-crd-codegen/$file" || echo "06-crd-codegen/$file"
	done
}
stale=$(differ)
if [ -n "$stale" ]; then
	fail "These files are not what the types in 06-crd-codegen/pkg/apis generate, run make codegen:
$stale"
fi
say "What is generated is what the types ask for."
