// Package transcript runs the console blocks of READMEs and compares what they print with what the READMEs show,
// so that the text can't drift from the code. [Start] and [Cluster.Test] are the way in, one test a README.
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
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

var update = flag.Bool("update", false, "rewrite the README's console output with what is printed now")

// nested is set for the commands, so that a README may show how to run the tests that it is part of.
const nested = "README_TRANSCRIPT"

// Cluster is what READMEs run on, one after the other.
type Cluster struct {
	Env    []string // of the commands, for what leads to it
	onKind bool
}

// Start makes a local cluster for READMEs: so they show what a reader sees on a new one, whatever the reader has on theirs. With
// CLUSTER=kind it is the workbook's kind cluster. It skips without the workbook's cluster, and unless make test-all runs it, or -update.
func Start(t *testing.T) *Cluster {
	t.Helper()
	if os.Getenv(nested) != "" {
		t.Skip("this is the README's own command")
	}
	if *update {
		t.Setenv("WORKBOOK_TESTS", "all")
	}
	testkit.All(t, "runs READMEs")
	testcluster.Config(t)
	if os.Getenv("CLUSTER") == "kind" {
		testcluster.LockSamples(t)
		return &Cluster{onKind: true}
	}
	// make codegen, too, keeps the generators there: nothing links them once more.
	generators := filepath.Join(testkit.Must(os.UserCacheDir())(t), "client-go-workbook", "generators")
	return &Cluster{Env: []string{"CLUSTER_DIR=" + testcluster.Start(t).Folder(), "CLUSTER=local", "GOBIN=" + generators}}
}

// Test runs the console blocks of a folder's README.md. On kind, it leaves out the sections that stop the API server.
//
// A README cleans up behind itself, but not if it fails halfway. What it may leave, undo takes away: shell commands, which run first
// and last, and may fail.
func (c *Cluster) Test(t *testing.T, folder string, undo ...string) {
	t.Helper()
	env, root := c.Env, testcluster.Root(t)
	readme := filepath.Join(folder, "README.md")
	text := testkit.Must(os.ReadFile(filepath.Join(root, readme)))(t)
	sections, err := parse(string(text))
	if err != nil {
		t.Fatalf("%s:%v", readme, err)
	}
	p := &player{
		readme:    readme,
		root:      root,
		env:       env,
		hint:      fmt.Sprintf("`go test ./internal/test/readmes -run ^%s$ -update` rewrites the README's output", t.Name()),
		update:    *update,
		limits:    limits{start: 10 * time.Minute, output: time.Minute, end: time.Minute, quiet: 2 * time.Second},
		terminals: map[string]*terminal{},
		edits:     map[int]edit{},
	}
	clean := func() {
		for _, command := range undo {
			shell := exec.Command("bash", "-c", command)
			shell.Dir, shell.Env = p.root, slices.Concat(os.Environ(), []string{"KUBERC=off"}, env)
			_ = shell.Run()
		}
	}
	clean()
	t.Cleanup(clean)
	// The first run of a chapter on a new cluster also says which samples it has created. The README leaves that out.
	if number, _, isChapter := strings.Cut(folder, "-"); isChapter {
		samples := exec.Command("scripts/apply-samples.sh", "--if-missing", number)
		samples.Dir, samples.Env = p.root, append(os.Environ(), env...)
		if output, err := samples.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", samples, err, output)
		}
	}
	t.Cleanup(p.kill) // first of the two
	for _, s := range sections {
		if len(s.blocks)+len(p.terminals) == 0 {
			continue
		}
		t.Run(s.title, func(t *testing.T) {
			if c.onKind && s.stopsAPIServer() {
				t.Skip("stops the API server, which is a process of its own on the local cluster only")
			}
			if err := p.play(s); err != nil {
				t.Error(err)
			}
		})
	}
	if len(p.edits) > 0 {
		if err := os.WriteFile(filepath.Join(root, readme), []byte(rewrite(string(text), p.edits)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
