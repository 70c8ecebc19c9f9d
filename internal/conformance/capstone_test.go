package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

const capstone = "06-crd-codegen/capstone"

// TestStagesHaveTheirSections compares the stages with the sections of the page, which are read as texts by make hint, too.
func TestStagesHaveTheirSections(t *testing.T) {
	page := read(t, filepath.Join(testcluster.Root(t), capstone, "README.md"))
	_, page, _ = strings.Cut(page, "\n## 1. ")
	sections := strings.Split("1. "+page, "\n## ")
	want, got := []string{}, []string{}
	for i, stage := range stages {
		want = append(want, fmt.Sprintf("%d. %s", i+1, stage.title))
	}
	for _, section := range sections {
		title, text, _ := strings.Cut(section, "\n")
		got = append(got, title)
		for _, part := range []string{"**Must be true:** ", "**The suite** ", "**Not yet:** ", "Shown in ", "- Hint: "} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is missing", title, part)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the sections (-stages +page):\n%s", diff)
	}
}

func TestDiagram(t *testing.T) {
	start := time.Now()
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	requests := []Request{
		{Who: suite, At: at(0), Verb: "create", Resource: "databasemanagers", Name: "one", Code: 201},
		{Who: "1", At: at(0.5), Verb: "patch", Resource: "services", Name: "one", Code: 504, Broken: "not done, answered 504"},
		{Who: "2", At: at(1), Verb: "patch", Resource: "services", Name: "<one>", Broken: "done, connection closed"},
	}
	const want = `
             ┌ suite
             │  ┌ controller 1
             │  │  ┌ controller 2
             │  │  │  ┌ API server
       0.000 ├──┼──┼─▶│ create databasemanagers one 201
       0.500 │  ├──┼─✗│ patch services one 504  <== not done, answered 504
       1.000 │  │  ├─▶│ patch services <one> no answer  <== done, connection closed
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), diagram(requests)); diff != "" {
		t.Errorf("the diagram (-want +got):\n%s", diff)
	}
	svg := drawSVG(requests)
	if err := xml.Unmarshal([]byte(svg), new(any)); err != nil || strings.Count(svg, "marker-end") != len(requests) {
		t.Errorf("%v, an arrow for each request:\n%s", err, svg)
	}
}

func TestVerdictOfAStage(t *testing.T) {
	kept, broken, unseen := Result{}, Result{err: &Failure{}}, Result{err: errors.New("no answer")}
	skipped := Result{Promise: Promise{name: "leaders"}, skipped: "--claims leaves it out"}
	for want, results := range map[string][]Result{
		"kept": {kept, kept}, "kept, without leaders": {kept, skipped}, "BROKEN, without leaders": {broken, skipped, kept},
		"BROKEN": {unseen, broken}, "unseen": {kept, unseen},
	} {
		if verdict, without := verdictOf(results); verdict+without != want {
			t.Errorf("%s%s, want %s", verdict, without, want)
		}
	}
}

// climbs tries the stages, or one, and returns the exit code and what was printed.
func climbs(t *testing.T, role string, arguments ...string) (int, string) {
	t.Helper()
	return conformance(t, append([]string{"--capstone", "--again=make capstone", "--rbac", role}, arguments...)...)
}

// TestStarters has each starter fail the first stage by the same message. The page shows it.
func TestStarters(t *testing.T) {
	testkit.All(t, "compiles two programs")
	t.Parallel()
	root := testcluster.Root(t)
	cluster := os.Getenv("CLUSTER_DIR")
	if cluster == "" {
		cluster = filepath.Join(root, ".cluster")
	}
	script := "#!/bin/sh\nPATH='" + cluster + "/bin':$PATH exec '%s' \"$@\"\n" // for kubectl, as make capstone does
	for _, kind := range []string{"client-go", "controller-runtime", "python", "shell"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			controller := filepath.Join(root, capstone, kind, "run")
			if _, err := os.Stat(controller); err != nil {
				controller = testcluster.Build(t, "./"+capstone+"/"+kind)
			} else {
				text := fmt.Sprintf(script, controller)
				controller = filepath.Join(t.TempDir(), kind)
				if err := os.WriteFile(controller, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			svg := filepath.Join(t.TempDir(), "capstone.svg")
			code, output := climbs(t, filepath.Join(root, capstone, "role.yaml"), "--controller", controller, "--svg", svg)
			if code != 1 || !strings.Contains(output, "If it is still a starter, that is expected") {
				t.Errorf("exit code %d:\n%s", code, output)
			}
			if picture := read(t, svg); !strings.Contains(picture, "create databasemanagers one 201</text>") {
				t.Errorf("the picture:\n%s", picture)
			}
		})
	}
}

var stageLine = regexp.MustCompile(`(?m)^stage +(\d+)  .*? (kept|BROKEN|unseen) `)

// verdicts returns the stages that were tried, with their verdicts.
func verdicts(output string) (all []string) {
	for _, match := range stageLine.FindAllStringSubmatch(output, -1) {
		all = append(all, match[1]+" "+match[2])
	}
	return all
}

// upTo returns the verdicts of a program that fails a stage, and none before: 0 is none at all.
func upTo(failed int) (all []string) {
	for i := range stages {
		if i+1 == failed {
			return append(all, fmt.Sprint(failed, " BROKEN"))
		}
		all = append(all, fmt.Sprint(i+1, " kept"))
	}
	return all
}

// TestPythonClimbs has a program of another language climb to the stage for which it is not written any more.
func TestPythonClimbs(t *testing.T) {
	testkit.All(t, "tries a whole program")
	t.Parallel()
	root, reached := testcluster.Root(t), filepath.Join(t.TempDir(), "reached")
	code, output := climbs(t, filepath.Join(root, capstone, "role.yaml"),
		"--controller", filepath.Join(root, "internal/conformance/python/run"), "--reached", reached)
	if diff := cmp.Diff(upTo(9), verdicts(output)); code != 1 || diff != "" {
		t.Errorf("exit code %d, the stages (-want +got):\n%s\n%s", code, diff, output)
	}
	if got, want := read(t, reached), "8 12\n"; got != want {
		t.Errorf("for make progress, it wrote %q, want %q", got, want)
	}
}

// TestReferencesKeepTheStages has chapter 6 and the twin keep the stages that have parts of their own. The others have whole promises,
// which these two keep in other tests: with CONFORMANCE=all, they climb all stages here, too.
func TestReferencesKeepTheStages(t *testing.T) {
	testkit.All(t, "tries whole programs")
	t.Parallel()
	root := testcluster.Root(t)
	for program, role := range map[string]string{
		chapter6: rbac, "./06-crd-codegen/controller-runtime": "06-crd-codegen/controller-runtime/role.yaml",
	} {
		t.Run(filepath.Base(program), func(t *testing.T) {
			t.Parallel()
			controller := testcluster.Build(t, program)
			climb := func(want []string, arguments ...string) {
				code, output := climbs(t, filepath.Join(root, role), append(arguments, "--controller", controller)...)
				if diff := cmp.Diff(want, verdicts(output)); code != 0 || diff != "" {
					t.Errorf("exit code %d, the stages (-want +got):\n%s\n%s", code, diff, output)
				}
			}
			if os.Getenv("CONFORMANCE") == "all" {
				climb(upTo(0))
				climb([]string{"11 kept"}, "--stage=11", "--leader-flags=--no-such-flag") // an election is for stage 12
				return
			}
			for i, stage := range stages {
				if named(stage.promises[0].name) == nil {
					climb([]string{fmt.Sprint(i+1, " kept")}, fmt.Sprint("--stage=", i+1))
				}
			}
		})
	}
}

// TestBrokenControllersFailTheirStage has a broken controller for each stage fail that one and none before: with CONFORMANCE=all, and
// else that of stage 3.
func TestBrokenControllersFailTheirStage(t *testing.T) {
	testkit.All(t, "compiles and tries broken controllers")
	t.Parallel()
	for i, patch := range []string{
		"two-names", "claim-not-mounted", "only-replicas", "one-selector", "ready-of-old-pods", "finalizer-each-time",
		"service-not-compared", "takes-secrets", "owned-with-retain", "failed-key-is-lost", "trusts-its-store", "exit-code",
	} {
		if i+1 != 3 && os.Getenv("CONFORMANCE") != "all" {
			continue
		}
		t.Run(patch, func(t *testing.T) {
			t.Parallel()
			controller := testcluster.Build(t, chapter6, "-overlay", overlay(t, t.TempDir(), "broken/"+patch+".patch"))
			code, output := climbs(t, filepath.Join(testcluster.Root(t), rbac), "--timeout", "15s", "--controller", controller)
			if diff := cmp.Diff(upTo(i+1), verdicts(output)); code != 1 || diff != "" {
				t.Errorf("exit code %d, the stages (-want +got):\n%s\n%s", code, diff, output)
			}
		})
	}
}
