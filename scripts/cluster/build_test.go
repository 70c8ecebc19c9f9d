package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// exports returns the file in go's cache of each package that these arguments of go list name, and of all that they import. A package
// that is compiled with other flags has another file.
func exports(t *testing.T, folder string, arguments ...string) map[string]string {
	t.Helper()
	list := exec.Command("go", append([]string{"list", "-deps", "-export", "-f", "{{.ImportPath}} {{.Export}}"}, arguments...)...)
	list.Dir, list.Env, list.Stderr = folder, append(os.Environ(), "GOWORK=off"), os.Stderr
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(output)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[name] = file
	}
	return files
}

// buildFlags are those of scripts/lib.sh.
func buildFlags(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile("../lib.sh")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^build_flags='(.*)'$`).FindSubmatch(script)
	if flags == nil {
		t.Fatal("scripts/lib.sh has no build_flags")
	}
	return string(flags[1])
}

// TestClientGoIsCompiledOnce compares how the packages outside this module are compiled by a reader's go test of a chapter, by the
// scripts, and for the cluster's programs, which are built first.
func TestClientGoIsCompiledOnce(t *testing.T) {
	chapters := []string{"./01-listwatch", "./02-informer", "./03-lister", "./04-workqueue", "./05-controller", "./06-crd-codegen"}
	t.Setenv("GOFLAGS", "")
	readers := exports(t, "../..", append([]string{"-test"}, chapters...)...)
	t.Setenv("GOFLAGS", buildFlags(t))
	scripts := exports(t, "../..", append([]string{"-test"}, chapters...)...)
	p := programs{root: "../.."}
	shared := exports(t, p.module(), append(p.gcflags(), "k8s.io/client-go/kubernetes", "k8s.io/client-go/tools/cache")...)
	if shared["k8s.io/client-go/kubernetes"] == "" {
		t.Error("go list names no file of client-go")
	}
	for name, file := range readers {
		if strings.HasPrefix(name, "example.com/client-go-workbook") || strings.Contains(name, " [") {
			continue
		}
		if file != scripts[name] {
			t.Errorf("the scripts compile %s another time", name)
		}
		if cluster, ok := shared[name]; ok && file != cluster {
			t.Errorf("for the cluster, %s is compiled another time", name)
		}
	}
}
