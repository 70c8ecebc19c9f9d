package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
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
