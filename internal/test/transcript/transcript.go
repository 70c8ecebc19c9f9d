// Package transcript runs the console blocks of a README and compares what they print with what the README shows,
// so that the text can't drift from the code. [Test] is the way in, one test a README:
//
//	func TestReadme(t *testing.T) { transcript.Test(t, "README.md") }
//
// In a block "```console", lines that begin with "$ " are commands, which a trailing \ continues; the lines below one
// are all that it prints, to stdout and stderr. The commands of a block share one bash, in the repository's root.
// One that fails is an error, unless the README asks `echo $?` next.
//
// A block "```console 1" is terminal 1. Its command runs on while other blocks follow; a later "```console 1" without
// a command shows what it prints next. A line ^C interrupts it: it then prints what follows and ends with exit code 0.
// ^Z pauses it, and "$ fg" lets it go on. A command that is followed by another in the same terminal must end by itself,
// with exit code 0, or with the one that "$ echo $?" shows. What still runs at the next heading of the same or a higher
// level is interrupted, and must end.
//
// Every heading is a subtest. "..." stands for any number of lines, also none. "```console unordered" and
// "```console 1 unordered" compare lines in any order. [mask] says what is not compared, because it changes from run
// to run.
//
// With the test flag -update, the README's output is rewritten with what was printed, where the two differ.
package transcript

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/client-go-workbook/internal/test/testcluster"
)

var update = flag.Bool("update", false, "rewrite the README's console output with what is printed now")

// nested is set for the commands, so that a README may show how to run the tests that it is part of.
const nested = "README_TRANSCRIPT"

// Test runs the README's console blocks, on a local cluster made for this test alone: so it shows what a reader sees
// on a new one, whatever the reader has on theirs. With CLUSTER=kind the blocks run on the workbook's kind cluster, one
// README after the other, without the sections that stop the API server. Without the workbook's cluster, or with -short, it skips.
//
// On kind, a README cleans up behind itself, but not if it fails halfway. What it may leave, undo takes away: shell
// commands, which run first and last, and may fail.
func Test(t *testing.T, readme string, undo ...string) {
	t.Helper()
	if os.Getenv(nested) != "" {
		t.Skip("this is the README's own command")
	}
	if testing.Short() {
		t.Skip("runs a README: not with -short")
	}
	testcluster.Config(t)
	onKind := os.Getenv("CLUSTER") == "kind"
	var env []string
	if onKind {
		testcluster.LockSamples(t)
	} else {
		env = []string{"CLUSTER_DIR=" + testcluster.Start(t).Folder(), "CLUSTER=local"}
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	sections, err := parse(string(text))
	if err != nil {
		t.Fatalf("%s:%v", readme, err)
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}

	p := &player{
		readme:    readme,
		root:      testcluster.Root(t),
		env:       env,
		hint:      fmt.Sprintf("`go test ./%s -run %s -update` rewrites the README's output", filepath.Base(folder), t.Name()),
		update:    *update,
		limits:    limits{start: 10 * time.Minute, output: time.Minute, end: time.Minute, quiet: 2 * time.Second},
		terminals: map[string]*terminal{},
		edits:     map[int]edit{},
	}
	clean := func() {
		for _, command := range undo {
			shell := exec.Command("bash", "-c", command)
			shell.Dir, shell.Env = p.root, append(os.Environ(), env...)
			_ = shell.Run()
		}
	}
	clean()
	t.Cleanup(clean)
	// The first run of a chapter on a new cluster also says which samples it has created. The README leaves that out.
	number, _, _ := strings.Cut(filepath.Base(folder), "-")
	samples := exec.Command("scripts/apply-samples.sh", "--if-missing", number)
	samples.Dir, samples.Env = p.root, append(os.Environ(), env...)
	if output, err := samples.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", samples, err, output)
	}
	t.Cleanup(p.kill) // first of the two
	for _, s := range sections {
		if len(s.blocks)+len(p.terminals) == 0 {
			continue
		}
		t.Run(s.title, func(t *testing.T) {
			if onKind && s.stopsAPIServer() {
				t.Skip("stops the API server, which is a process of its own on the local cluster only")
			}
			if err := p.play(s); err != nil {
				t.Error(err)
			}
		})
	}
	if len(p.edits) > 0 {
		if err := os.WriteFile(readme, []byte(rewrite(string(text), p.edits)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
