package main

import (
	"testing"

	"example.com/client-go-workbook/internal/transcript"
)

func TestReadme(t *testing.T) {
	transcript.Test(t, "README.md",
		`for name in $(scripts/kubectl get dbm -n default -o name); do
			scripts/kubectl patch "$name" -n default --type=merge -p '{"metadata":{"finalizers":null}}'
			scripts/kubectl delete "$name" -n default
		done`,
		"scripts/kubectl delete deployment/mysql service/mysql secret/mysql-root -n default --ignore-not-found")
}
