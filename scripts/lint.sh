#!/usr/bin/env bash
# Checks the code: its form, what go vet and staticcheck find, the names of imports, the lengths of lines and of
# chapters, and the scripts. Where shellcheck is not installed, the scripts are only checked for their form; not so in CI.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$root"
pin_go

unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || fail "Run gofmt -w on: $unformatted"
go vet ./...
while read -r package; do set -- "$@" "$package"; done < <(go list ./... | grep -v /generated/)
go tool staticcheck "$@"

# The name of each import is the same in all files, and the one that Kubernetes itself uses. Each line is a pattern of
# paths, and the name.
names=(-no-unaliased)
while read -r path name; do names+=(-alias "$path:$name"); done <<'END'
k8s.io/api/(\w+)/(v\w+)                                  $1$2
k8s.io/apimachinery/pkg/apis/meta/v1                     metav1
k8s.io/apimachinery/pkg/api/(equality|errors|meta)       api$1
k8s.io/apimachinery/pkg/util/(net|runtime)               util$1
k8s.io/client-go/applyconfigurations/(\w+)/(v\w+)        ${1}${2}ac
k8s.io/client-go/features/testing                        clientfeatures
k8s.io/client-go/(informers|listers)/(\w+)/v\w+          $2$1
k8s.io/client-go/kubernetes/typed/(\w+)/(v\w+)           typed$1$2
k8s.io/client-go/testing                                 clienttesting
k8s.io/client-go/tools/clientcmd/api                     clientcmdapi
.*/pkg/apis/databasemanager/v1alpha1                     dbv1alpha1
.*/applyconfiguration/databasemanager/v1alpha1           dbv1alpha1ac
.*/versioned/scheme                                      dbscheme
.*/versioned/typed/databasemanager/v1alpha1              dbclient
.*/informers/externalversions                            dbinformers
.*/informers/externalversions/databasemanager/v1alpha1   dbv1alpha1informers
.*/listers/databasemanager/v1alpha1                      dblisters
END
wrong=$(go tool importas "${names[@]}" "$@" 2>&1 | grep -v -e /zz_generated -e '^go: downloading' || true)
[ -z "$wrong" ] || fail "$wrong"

go run ./scripts/lint
# Of the last make test: the tests that take more than 5 s. Alone on a quiet machine, none should.
cat "${XDG_CACHE_HOME:-${HOME-}/.cache}/client-go-workbook/test-slow" 2>/dev/null || true
shell=(scripts/*.sh scripts/kubectl .ci/* docs/questions/codegen/*.sh scripts/_website/*.sh)
go tool shfmt -d "${shell[@]}" || fail "Run go tool shfmt -w on these."
if command -v shellcheck >/dev/null; then
	shellcheck -x -P scripts "${shell[@]}"
elif [ -n "${CI-}" ]; then
	fail "shellcheck is not installed, and CI insists on it."
else
	say "shellcheck is not installed: the scripts are not checked with it."
fi
