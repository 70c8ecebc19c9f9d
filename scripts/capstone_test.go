package scripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/test/testkit"
)

// TestCapstone has all but the suite, which internal/conformance tests: here, it prints what it gets.
func TestCapstone(t *testing.T) {
	t.Parallel()
	root := exerciseWorkbook(t)
	const capstone = "06-crd-codegen/capstone"
	copyFolder(t, filepath.Join(root, capstone), filepath.Join("..", capstone))
	if err := os.RemoveAll(filepath.Join(root, capstone, "mine")); err != nil { // the reader's
		t.Fatal(err)
	}
	suite := filepath.Join(root, "scripts", "conformance.sh")
	write(t, suite, "#!/bin/sh\necho \"$CONTROLLER\" \"$@\"\n[ ! -d .progress ] || echo 7 12 >.progress/capstone\nexit 1\n")
	mine := filepath.Join(root, capstone, "mine")

	contains(t, makeIn(t, root, "capstone", "START=ruby"), 2, "There is no starter ruby: client-go, controller-runtime, python, shell.\n")
	contains(t, makeIn(t, root, "reset", "capstone"), 2, "There is no 06-crd-codegen/capstone/mine: make capstone START=client-go begins.\n")
	contains(t, makeIn(t, root, "watch", "capstone"), 2, "There is no 06-crd-codegen/capstone/mine: ")
	contains(t, makeIn(t, root, "exercise", "capstone.3"), 2, "grade is not for the capstone: make capstone, make hint capstone.7, ")

	contains(t, makeIn(t, root, "capstone", "START=python"), 0, "Your controller begins in 06-crd-codegen/capstone/mine. ")
	write(t, filepath.Join(mine, "run"), "mine")
	contains(t, makeIn(t, root, "capstone", "START=shell"), 2, "06-crd-codegen/capstone/mine is there already: make reset capstone ")
	if text := testkit.Must(os.ReadFile(filepath.Join(mine, "run")))(t); string(text) != "mine" {
		t.Errorf("the reader's file has become %q", text)
	}
	testkit.Must(os.Stat(filepath.Join(mine, "role.yaml")))(t)

	contains(t, makeIn(t, root, "capstone", "CONTROLLER=twin", "STAGE=2"), 0,
		"twin --capstone --again=make capstone CONTROLLER=\"twin\" --svg=.progress/capstone.svg --stage=2\n")
	contains(t, makeIn(t, root, "capstone", "ARGS=--timeout=9s"), 0, "mine --capstone --again=make capstone ",
		" --reached=.progress/capstone --timeout=9s\n")
	contains(t, makeIn(t, root, "progress"), 0, "\n  capstone     ###########---------  7 of 12\n")

	first := makeIn(t, root, "hint", "capstone.5")
	contains(t, first, 0, "hint 1 of 2: Write the subresource status, ")
	for range 2 {
		second := makeIn(t, root, "hint", "capstone.05")
		contains(t, second, 0, "\nhint 2 of 2: A rollout is done if ", " are the number that is asked for.\n") // on a line of its own
		if !strings.HasPrefix(second.stdout, first.stdout) || strings.Count(second.stdout, "\n") != 2 {
			t.Errorf("one hint, and then %q", second.stdout)
		}
	}
	contains(t, makeIn(t, root, "hint", "capstone.13"), 2, "There is no stage 13.\n")
	contains(t, makeIn(t, root, "hint", "capstone.x"), 2, "make hint capstone.7 shows a hint of stage 7.\n")
	contains(t, makeIn(t, root, "hint", "capstone"), 0, "An object that another one controls is not yours.") // of stage 8

	got := makeIn(t, root, "reset", "capstone")
	contains(t, got, 0, "Your controller is kept in .progress/capstone.1.\n")
	if strings.Contains(got.stdout, "--capstone") {
		t.Errorf("make reset capstone has tried the stages, too: %+v", got)
	}
	if text := testkit.Must(os.ReadFile(filepath.Join(root, ".progress", "capstone.1", "run")))(t); string(text) != "mine" {
		t.Errorf("it has kept %q", text)
	}
	if got := makeIn(t, root, "progress"); !strings.Contains(got.stdout, " 0 of 12") {
		t.Errorf("no stage is kept any more: %+v", got)
	}
	contains(t, makeIn(t, root, "capstone", "START=client-go"), 0, "Your controller begins")
}
