package main

import (
	"testing"

	"example.com/client-go-workbook/internal/test/transcript"
)

func TestReadme(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "README.md",
		"scripts/kubectl delete -f 05-controller/rbac.yaml --ignore-not-found",
		"scripts/kubectl delete deployment/billing-db -n databases --ignore-not-found",
		"scripts/kubectl delete configmap/orders -n databases --ignore-not-found; scripts/apply-samples.sh 5")
}
