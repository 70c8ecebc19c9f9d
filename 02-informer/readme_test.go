package main

import (
	"testing"

	"example.com/client-go-workbook/internal/test/transcript"
)

func TestReadme(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "README.md",
		"scripts/kubectl delete deployment/nginx-deployment pod/web -n nginx --ignore-not-found",
		"scripts/kubectl delete clusterrole/visitor clusterrolebinding/visitor --ignore-not-found",
		"scripts/kubectl config delete-context visitor; scripts/kubectl config delete-user visitor")
}
