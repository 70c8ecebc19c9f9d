package scripts_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/client-go-workbook/internal/test/testkit"
)

var goFile = regexp.MustCompile(`\b[a-z0-9_/]+\.go\b`)

// TestReadingOrder holds three things to one another: the order in which a chapter's main.go says to read its files, the
// two lines at the head of each file, and the order in which make diff shows them.
func TestReadingOrder(t *testing.T) {
	mains, err := filepath.Glob("../[0-9][0-9]-*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatalf("no chapters: %v", err)
	}
	for number, main := range mains {
		folder := filepath.Dir(main)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			file := testkit.Must(parser.ParseFile(token.NewFileSet(), main, nil, parser.ParseComments|parser.PackageClauseOnly))(t)
			_, sentence, _ := strings.Cut(file.Doc.Text(), "Read in this order:")
			order := goFile.FindAllString(sentence, -1)
			own := slices.DeleteFunc(slices.Sorted(slices.Values(order)), inSubfolder)
			if diff := cmp.Diff(own, chapterFiles(t, folder)); diff != "" {
				t.Errorf("the files that main.go names (-named +there):\n%s", diff)
			}
			checkHeads(t, mains, folder, order)
			if number > 0 {
				checkDiff(t, filepath.Base(folder), fmt.Sprint(number+1), order)
			}
		})
	}
}

// inSubfolder reports whether a file is of another package, which the chapter's main imports.
func inSubfolder(name string) bool { return strings.Contains(name, "/") }

// chapterFiles returns the names of a chapter's own files, sorted: without tests and generated code.
func chapterFiles(t *testing.T, folder string) (names []string) {
	t.Helper()
	files := testkit.Must(filepath.Glob(filepath.Join(folder, "*.go")))(t)
	for _, name := range files {
		file := testkit.Must(parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.PackageClauseOnly))(t)
		if !strings.HasSuffix(name, "_test.go") && !ast.IsGenerated(file) {
			names = append(names, filepath.Base(name))
		}
	}
	return names
}

// shared is the second line of a file that several chapters have. They differ in what is read before and after it.
var shared = regexp.MustCompile(`^// The same file in chapters (\d)(?:,| and| to) .*(\d)\.$`)

// checkHeads checks the head of each file of the main package but main.go, whose package comment has the order.
func checkHeads(t *testing.T, mains []string, folder string, order []string) {
	t.Helper()
	for i, name := range order {
		if name == "main.go" || inSubfolder(name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
			continue
		}
		head, _, _ := strings.Cut("\n"+string(text), "\npackage main\n")
		lines := strings.Split(strings.TrimPrefix(head, "\n"), "\n")
		want := []string{"// " + name + ": what it shows.", "// Before: " + order[i-1] + ".", ""}
		if i+1 < len(order) {
			want[1] += " Next: " + order[i+1] + "."
		}
		if len(lines) == len(want) {
			if strings.HasPrefix(lines[0], "// "+name+": ") && strings.HasSuffix(lines[0], ".") {
				want[0] = lines[0]
			}
			if chapters := shared.FindStringSubmatch(lines[1]); chapters != nil {
				checkSame(t, mains, chapters[1], chapters[2], name, text)
				want[1] = lines[1]
			}
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("the head of %s (-want +got):\n%s", name, diff)
		}
	}
}

// checkSame checks that the chapters from one number to another have the same file.
func checkSame(t *testing.T, mains []string, first, last, name string, want []byte) {
	t.Helper()
	for _, main := range mains {
		chapter := filepath.Dir(main)
		if number := filepath.Base(chapter)[1:2]; number < first || number > last {
			continue
		}
		if got, err := os.ReadFile(filepath.Join(chapter, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s of %s is not the same file: %v", name, filepath.Base(chapter), err)
		}
	}
}

// checkDiff checks that make diff shows the files of a chapter in their order, then the files of other folders,
// and at last the files of the chapter before that are gone.
func checkDiff(t *testing.T, chapter, number string, order []string) {
	t.Helper()
	got := run(t, nil, "./diff.sh", number)
	var shown, last []string
	file := regexp.MustCompile(`(?m)^(new|changed|same|gone): +([^\s,]+)(?: \(not shown\)|, which .*)?$`)
	for _, match := range file.FindAllStringSubmatch(got.stdout, -1) {
		if name, own := strings.CutPrefix(match[2], chapter+"/"); own && (slices.Contains(order, name) || !inSubfolder(name)) {
			shown = append(shown, name)
		} else if _, err := os.Stat(filepath.Join("..", chapter, filepath.Dir(name), "main.go")); own && err == nil {
			t.Errorf("make diff %s shows %s, which is of another program", number, name)
		}
		last = append(last, match[1])
	}
	// main.go puts the parts together, so it is the last that is shown.
	order = append(slices.DeleteFunc(slices.Clone(order), func(name string) bool { return name == "main.go" }), "main.go")
	if diff := cmp.Diff(order, shown); diff != "" {
		t.Errorf("make diff %s (-main.go +shown):\n%s", number, diff)
	}
	if i := slices.Index(last, "gone"); i >= 0 && slices.ContainsFunc(last[i:], func(word string) bool { return word != "gone" }) {
		t.Errorf("make diff %s shows a file after those that are gone:\n%s", number, got.stdout)
	}
}
