package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPictureIsTheSame compares the pictures of all chapters. Each has a mark of its own, in the line of the chapter.
func TestPictureIsTheSame(t *testing.T) {
	picture := regexp.MustCompile("(?ms)^## The picture\n\n```\n(.*?)^```$")
	const mark = "<== this chapter"
	first := ""
	for number := 1; number <= 6; number++ {
		paths, err := filepath.Glob(fmt.Sprintf("../../../0%d-*/README.md", number))
		if err != nil || len(paths) != 1 {
			t.Fatalf("chapter %d: %q, %v", number, paths, err)
		}
		text, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		found := picture.FindStringSubmatch(string(text))
		if found == nil {
			t.Errorf("%s: there is no block after the heading \"The picture\"", paths[0])
			continue
		}
		line := regexp.MustCompile(fmt.Sprintf(` chapter [\d, ]*%d[\d, ]*%s\n`, number, mark))
		if strings.Count(found[1], mark) != 1 || !line.MatchString(found[1]) {
			t.Errorf("%s: the picture does not have %q once, in the line of chapter %d", paths[0], mark, number)
		}
		plain := regexp.MustCompile(` *`+mark).ReplaceAllString(found[1], "")
		if first == "" {
			first = plain
		}
		if plain != first {
			t.Errorf("%s: the picture is not that of chapter 1:\n%s", paths[0], plain)
		}
	}
}
