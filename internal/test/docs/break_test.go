package docs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// A README shows what a mistake does: "```diff" is a change of one of the chapter's files. The "```text" below it is a
// command, behind "$ ", and some of what it then prints; "..." stands for lines that are left out.
func TestMistakesDoWhatREADMEsShow(t *testing.T) {
	testkit.All(t, "compiles a changed chapter for each mistake")
	testcluster.Config(t) // some of the commands need a cluster
	root := testcluster.Root(t)
	shown := 0
	for page, text := range readmes(t) {
		all := blocks(text)
		for i, b := range all {
			if b.language != "diff" {
				continue
			}
			shown++
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(filepath.Dir(page)), b.line), func(t *testing.T) {
				if i+1 == len(all) || all[i+1].language != "text" {
					t.Fatal("no ```text with a command below the ```diff")
				}
				if err := checkMistake(root, t.TempDir(), b, all[i+1]); err != nil {
					t.Error(err)
				}
			})
		}
	}
	if shown == 0 {
		t.Error("no README has a ```diff")
	}
}

func TestWrongMistakesAreFound(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module m\n",
		"p/main.go": "package main\n\nfunc main() {\n\tprintln(1)\n}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change := "```diff\n--- a/p/main.go\n+++ b/p/main.go\n@@ -3,3 +3,3 @@\n func main() {\n-\tprintln(%d)\n+\tprintln(2)\n }\n```\n"
	for text, want := range map[string]string{
		fmt.Sprintf(change, 1) + "```text\n$ go run ./p\n2\n```": "",
		fmt.Sprintf(change, 1) + "```text\n$ go run ./p\n1\n```": "part 1 of what the README shows is not printed",
		fmt.Sprintf(change, 3) + "```text\n$ go run ./p\n2\n```": "the change does not fit any more",
		fmt.Sprintf(change, 1) + "```text\n$ go run ./p\n```":    "shows no output",
		fmt.Sprintf(change, 1) + "```text\n2\n```":               "does not begin with",
		"```diff\n-a\n+b\n```\n```text\n$ go run ./p\n2\n```":    "names no file",
	} {
		all := blocks(text)
		err := checkMistake(root, t.TempDir(), all[0], all[1])
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q for\n%s", err, want, text)
		}
	}
}

// checkMistake runs the command with a changed copy of the file, which go builds in the place of the file itself. It returns
// an error if that does not print what the README shows.
func checkMistake(root, copies string, change, shown block) error {
	command, ok := strings.CutPrefix(shown.lines[0], "$ ")
	if !ok {
		return errors.New("the ```text below the ```diff does not begin with $ and a command")
	}
	if len(shown.lines) == 1 {
		return fmt.Errorf("the README shows no output of %s", command)
	}
	overlay, err := testkit.Overlay(root, copies, strings.Join(change.lines, "\n")+"\n")
	if err != nil {
		return err
	}
	shell := exec.Command("bash", "-c", command)
	shell.Dir = root
	shell.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false -ldflags=-w -vet=off -overlay="+overlay, "REQUIRE_CLUSTER=1",
		"WORKBOOK_TESTS=") // a reader's: the command must not name a test that only make test-all runs
	output, err := shell.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) { // to exit with a failure is what a test does that finds the mistake
		return err
	}
	if part := missing(masked(strings.Split(string(output), "\n")), masked(shown.lines[1:]), "..."); part > 0 {
		return fmt.Errorf("part %d of what the README shows is not printed, or not behind the part before it. %s prints:\n%s",
			part, command, output)
	}
	return nil
}

// changing is what a test prints otherwise in each run, or when the test's file has changed.
var changing = regexp.MustCompile(`\(\d+\.\d+s\)|_test\.go:\d+:`)

// masked returns the lines without what changes, and with one space for each run of them: cmp.Diff uses two kinds of space.
func masked(lines []string) []string {
	var result []string
	for _, line := range lines {
		result = append(result, strings.Join(strings.Fields(changing.ReplaceAllString(line, "")), " "))
	}
	return result
}
