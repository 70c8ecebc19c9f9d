// Package docs holds the READMEs and the pages in the folder docs to what they cite: the chapters' code, sources of
// Kubernetes' modules, and other files.
package docs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/test/testkit"
)

var (
	// A citation is `module/path/file.go`: `Name`, `Name`, where the module's path has two parts.
	citation = regexp.MustCompile("`((?:sigs\\.)?k8s\\.io/[\\w-]+)/([^`]+\\.(?:go|sh|md))`(:\\s(?:`[^`]+`(?:, )?)*)?")
	code     = regexp.MustCompile("`([^`]+)`")
	link     = regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noAnchor = regexp.MustCompile(`[^\w\- ]`)
	testName = regexp.MustCompile(`\bTest[A-Z]\w+|\bBenchmark[A-Z]\w+|\bExample_\w+`)
)

func TestCitedSourcesExist(t *testing.T) {
	for page, text := range pages(t) {
		cited := citation.FindAllStringSubmatch(text, -1)
		if len(cited) == 0 {
			t.Errorf("%s cites no source", page)
		}
		for _, c := range cited {
			module, path, names := c[1], c[2], code.FindAllStringSubmatch(c[3], -1)
			source, err := os.ReadFile(filepath.Join(testkit.Must(testkit.Module("../../..", module))(t), path))
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if len(names) == 0 {
				t.Errorf("%s: `%s/%s` stands without `: ` and the name to search for", page, module, path)
			}
			for _, name := range names {
				if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name[1]) + `\b`).Match(source) {
					t.Errorf("%s: %s/%s has no %s", page, module, path, name[1])
				}
			}
		}
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	all := readmes(t)
	maps.Copy(all, pages(t))
	for page, text := range all {
		for _, l := range link.FindAllStringSubmatch(lineLink.ReplaceAllString(text, "]($1)"), -1) {
			file, anchor := l[1], strings.TrimPrefix(l[2], "#")
			if strings.Contains(file, "://") {
				continue
			}
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			content, err := os.ReadFile(target)
			if err != nil {
				t.Errorf("%s: %v", page, err)
			} else if anchor != "" && !hasHeading(string(content), anchor) {
				t.Errorf("%s: %s has no heading for #%s", page, target, anchor)
			}
		}
	}
}

// TestNamedTestsExist finds tests by their names, or by how the names of several begin, as go test -run does.
func TestNamedTestsExist(t *testing.T) {
	var declared strings.Builder
	err := filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..":
			return fs.SkipDir // a cluster's files
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		declared.Write(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := readmes(t)
	maps.Copy(all, pages(t))
	for page, text := range all {
		for _, name := range testName.FindAllString(text, -1) {
			if !strings.Contains(declared.String(), "\nfunc "+name) {
				t.Errorf("%s: there is no %s", page, name)
			}
		}
	}
}

func pages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	return texts
}

// hasHeading says whether GitHub makes this anchor for one of the text's headings.
func hasHeading(text, anchor string) bool {
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		if strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}
