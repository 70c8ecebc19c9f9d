package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/test/testkit"
)

// list returns a line of go list for each package that the arguments name, by its import path.
func list(t *testing.T, folder, format string, arguments ...string) map[string]string {
	t.Helper()
	testkit.Anew()
	cmd := exec.Command("go", append([]string{"list", "-f", "{{.ImportPath}} " + format}, arguments...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = folder, append(os.Environ(), "GOWORK=off"), os.Stderr
	output := testkit.Must(cmd.Output())(t)
	lines := map[string]string{}
	for line := range strings.Lines(string(output)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines[name] = rest
	}
	return lines
}

// buildFlags are those of pin_go in scripts/lib.sh.
func buildFlags(t *testing.T) string {
	t.Helper()
	script := testkit.Must(os.ReadFile("../lib.sh"))(t)
	flags := regexp.MustCompile(`GOFLAGS='(.*?)'`).FindSubmatch(script)
	if flags == nil {
		t.Fatal("scripts/lib.sh has no GOFLAGS")
	}
	return string(flags[1])
}

// TestClientGoIsCompiledOnce compares how the packages outside this module are compiled for a reader's go test of a chapter, by the
// scripts, and for the cluster's programs, which are built first: by the file of each in go's cache. Compiled with other flags, a
// package has another file. They are there already, and go compiles none of them for this test.
func TestClientGoIsCompiledOnce(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	c := testkit.Must(newCluster())(t)
	p := newPrograms("../..", c.cache)
	if !p.built() {
		t.Skip("the cluster's programs are not built, but downloaded: WORKBOOK_DOWNLOAD=off CLUSTER=local make cluster builds them")
	}
	chapters := []string{"./01-listwatch", "./02-informer", "./03-lister", "./04-workqueue", "./05-controller", "./06-crd-codegen"}
	const isOutside = "{{with .Module}}{{not .Main}}{{end}}"
	clusters := list(t, p.module(), isOutside, append([]string{"-deps"}, packages...)...)
	var outside, shared []string
	for name, is := range list(t, p.root, isOutside, append([]string{"-deps", "-test"}, chapters...)...) {
		if is == "true" && !strings.Contains(name, " [") {
			outside = append(outside, name)
			if clusters[name] == "true" {
				shared = append(shared, name)
			}
		}
	}
	if !slices.Contains(shared, "k8s.io/client-go/kubernetes") {
		t.Errorf("client-go is not among the %d packages of both", len(shared))
	}
	const file = "{{.Export}}"
	readers := list(t, p.root, file, append([]string{"-export"}, outside...)...)
	cluster := list(t, p.module(), file, append(append([]string{"-export"}, p.gcflags()...), shared...)...)
	t.Setenv("GOFLAGS", buildFlags(t))
	scripts := list(t, p.root, file, append([]string{"-export"}, outside...)...)
	for _, name := range outside {
		if readers[name] != scripts[name] {
			t.Errorf("the scripts compile %s another time", name)
		}
	}
	for _, name := range shared {
		if readers[name] != cluster[name] {
			t.Errorf("for the cluster, %s is compiled another time", name)
		}
	}
}
