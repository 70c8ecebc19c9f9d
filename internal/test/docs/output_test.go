package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/test/testkit"
)

// The console blocks of the workbook's own README are not run. Each of their lines stands in a chapter's README, whose blocks are.
// The block about the exercises is compared by a test of package scripts.
func TestOutputInTheREADMEIsTheChapters(t *testing.T) {
	const root = "../../../README.md"
	all := readmes(t)
	var shown []string
	for page, text := range all {
		if page != root {
			shown = append(shown, strings.Split(text, "\n")...)
		}
	}
	blocks := regexp.MustCompile("(?ms)^```console\n(.*?)\n```$").FindAllStringSubmatch(all[root], -1)
	if len(blocks) == 0 {
		t.Errorf("%s has no console block", root)
	}
	for _, block := range blocks {
		if strings.HasPrefix(block[1], "$ make exercise ") {
			continue
		}
		for _, line := range strings.Split(block[1], "\n") {
			if line != "..." && !slices.Contains(shown, line) {
				t.Errorf("%s: no chapter's README has the line %q: copy it from there", root, line)
			}
		}
	}
}

// TestBenchmarksOfTheREADMEsExist: go test ends well if -bench matches nothing, and prints no figure.
func TestBenchmarksOfTheREADMEsExist(t *testing.T) {
	files := testkit.Must(filepath.Glob("../../../0*/*_test.go"))(t)
	files = append(files, testkit.Must(filepath.Glob("../../../0*/*/*_test.go"))(t)...)
	var names []string
	for _, file := range files {
		text := string(testkit.Must(os.ReadFile(file))(t))
		for _, match := range regexp.MustCompile(`(?m)^func (Benchmark\w+)`).FindAllStringSubmatch(text, -1) {
			names = append(names, match[1])
		}
	}
	commands := 0
	for page, text := range readmes(t) {
		for _, match := range regexp.MustCompile("-bench ([^\\s`]+)").FindAllStringSubmatch(text, -1) {
			commands++
			if !slices.ContainsFunc(names, regexp.MustCompile(match[1]).MatchString) {
				t.Errorf("%s: -bench %s: there is no such benchmark: %q", page, match[1], names)
			}
		}
	}
	if commands < 10 {
		t.Errorf("%d commands", commands)
	}
}
