package docs

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/test/testkit"
)

// TestInternalMap compares the map of internal/doc.go with the packages, and with what they import.
func TestInternalMap(t *testing.T) {
	const module = "example.com/client-go-workbook/"
	text, err := os.ReadFile("../../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var onMap []string
	for _, entry := range regexp.MustCompile(`(?m)^//\t(\S+)  `).FindAllStringSubmatch(string(text), -1) {
		onMap = append(onMap, entry[1])
	}

	testkit.Anew()
	list := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	list.Dir = "../../.."
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []string
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		path := strings.TrimPrefix(p.ImportPath, module)
		name, isInternal := strings.CutPrefix(path, "internal/")
		if isInternal && !strings.Contains(path, "/answers/") && !strings.Contains(path, "/grade/exercises/") {
			packages = append(packages, name)
		}
		exercises := strings.HasPrefix(path, "internal/exercises/")
		machinery := exercises || regexp.MustCompile(`^(internal/exercise/|internal/test/|scripts/exercise$)`).MatchString(path)
		for _, imported := range p.Imports {
			imported, ours := strings.CutPrefix(imported, module)
			switch {
			case !ours:
			case isInternal && !exercises && regexp.MustCompile(`^\d\d-`).MatchString(imported) &&
				!strings.HasPrefix(name+" "+imported, "conformance 06-crd-codegen/pkg/"):
				t.Errorf("%s imports %s, a chapter", path, imported)
			case !machinery && regexp.MustCompile(`^internal/(exercises?|test)/`).MatchString(imported):
				t.Errorf("%s imports %s, which only tests and exercises do", path, imported)
			}
		}
	}
	slices.Sort(packages)
	slices.Sort(onMap)
	if !slices.Equal(onMap, packages) {
		t.Errorf("internal/doc.go has\n%q\nbut the packages are\n%q", onMap, packages)
	}
}
