package scripts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/test/testkit"
)

// TestBug has all but the suite: here, it says that each promise is broken as long as there is a file "broken".
func TestBug(t *testing.T) {
	t.Parallel()
	root := exerciseWorkbook(t)
	for _, folder := range []string{
		"06-crd-codegen/bugs", "06-crd-codegen/children", "06-crd-codegen/database", "internal/conformance/broken",
	} {
		copyFolder(t, filepath.Join(root, folder), filepath.Join("..", folder))
	}
	if err := os.RemoveAll(filepath.Join(root, "06-crd-codegen/bugs/mine")); err != nil { // the reader's
		t.Fatal(err)
	}
	for _, name := range testkit.Must(filepath.Glob("../06-crd-codegen/*.*"))(t) {
		write(t, filepath.Join(root, "06-crd-codegen", filepath.Base(name)), string(testkit.Must(os.ReadFile(name))(t)))
	}
	write(t, filepath.Join(root, "scripts", "conformance.sh"),
		"#!/bin/sh\necho \"tries ${ONLY-all} of $CONTROLLER\" \"$@\"\n[ ! -f broken ]\n")
	write(t, filepath.Join(root, "broken"), "")

	if got := makeIn(t, root, "bug"); got.code != 0 || strings.Count(got.stdout, "\n") != 10 {
		t.Errorf("ten reports, and not %+v", got)
	}
	contains(t, makeIn(t, root, "bug", "11"), 2, "There is no bug 11: make bug lists them.\n")
	contains(t, makeIn(t, root, "bug", "x"), 2, "There is no bug x: ")

	for n := range 10 {
		got := makeIn(t, root, "bug", fmt.Sprint(n+1))
		folder := fmt.Sprintf("06-crd-codegen/bugs/mine/%02d", n+1)
		contains(t, got, 0, "The program with the bug is in "+folder+". ", fmt.Sprintf("# %d. ", n+1), " of "+folder+"\n")
		if strings.Contains(got.stdout, "<") || strings.Contains(got.stdout, "became") {
			t.Errorf("it tells too much: %s", got.stdout)
		}
	}
	mine := filepath.Join(root, "06-crd-codegen/bugs/mine/03")
	text := string(testkit.Must(os.ReadFile(filepath.Join(mine, "controller.go")))(t))
	if !strings.Contains(text, `/bugs/mine/03/children"`) || !strings.Contains(text, `/bugs/mine/03/database"`) {
		t.Errorf("it does not import its own packages:\n%s", text)
	}
	child := filepath.Join(mine, "children", "child.go")
	write(t, child, "mended")
	if err := os.Remove(filepath.Join(root, "broken")); err != nil {
		t.Fatal(err)
	}
	got := makeIn(t, root, "bug", "3")
	contains(t, got, 0, "tries drift of ", "tries all of ", " --capstone ", "\nBug 3 is mended.\n", "cluster-api-operator/issues/589")
	if text := testkit.Must(os.ReadFile(child))(t); string(text) != "mended" {
		t.Errorf("the reader's file has become %q", text)
	}
	contains(t, makeIn(t, root, "progress"), 0, "\n  bugs         ##------------------  1 of 10\n")
}
