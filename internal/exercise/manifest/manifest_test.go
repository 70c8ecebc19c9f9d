package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

// workbook makes one of these files, which begin with a line "== PATH".
func workbook(t *testing.T, text string) string {
	t.Helper()
	root := t.TempDir()
	for _, file := range strings.Split(text, "== ")[1:] {
		name, content, _ := strings.Cut(file, "\n")
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLoad(t *testing.T) {
	root := workbook(t, `
== 01-list/exercises/exercises.yaml
- name: 02-watch
  title: Watch
- name: 01-pages
  title: List with pages
  cluster: true
  hints: [one, two]
  why: Because.
== 01-list/exercises/01-pages/exercise.go
== 01-list/exercises/02-watch/exercise.go
== 02-none/README.md
== 03-lister/exercises/predictions.yaml
- id: 3.A
  question: What?
  choices:
    - {word: nothing, text: Nothing at all, reason: One would think so}
    - {word: all, text: Everything, reason: It is so}
  answer: all
  run: echo everything
  prints: everything
`)
	got, err := manifest.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []manifest.Chapter{{
		Number: 1, Folder: "01-list",
		Exercises: []manifest.Exercise{
			{ID: "1.1", Folder: "01-list/exercises/02-watch", Name: "02-watch", Title: "Watch"},
			{
				ID: "1.2", Folder: "01-list/exercises/01-pages", Name: "01-pages", Title: "List with pages",
				Cluster: true, Hints: []string{"one", "two"}, Why: "Because.",
			},
		},
	}, {
		Number: 3, Folder: "03-lister",
		Predictions: []manifest.Prediction{{
			ID: "3.A", Question: "What?", Answer: "all", Run: "echo everything", Prints: "everything",
			Choices: []manifest.Choice{
				{Word: "nothing", Text: "Nothing at all", Reason: "One would think so"},
				{Word: "all", Text: "Everything", Reason: "It is so"},
			},
		}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	prediction := got[1].Predictions[0]
	for answer, want := range map[string]string{"a": "nothing", " B\n": "all", "All": "all", "Nothing": "nothing", "c": "", "": ""} {
		word := ""
		if choice := prediction.Choice(answer); choice != nil {
			word = choice.Word
		}
		if word != want {
			t.Errorf("the answer %q means %q, want %q", answer, word, want)
		}
	}
}

func TestLoadNamesTheManifestAndWhatIsWrong(t *testing.T) {
	prediction := `
== 01-list/exercises/predictions.yaml
- id: 1.A
  question: What?
  choices: [{word: nothing, text: Nothing, reason: So}, {word: all, text: All, reason: So}]
  answer: all
  run: echo all
  prints: all
`
	for name, test := range map[string]struct{ files, want string }{
		"a field that nobody reads": {
			"== 01-list/exercises/exercises.yaml\n- name: 01-a\n  titel: A\n== 01-list/exercises/01-a/exercise.go\n",
			"line 2: field titel not found",
		},
		"no title":     {"== 01-list/exercises/exercises.yaml\n- name: 01-a\n", "exercise 1.1 needs a name and a title"},
		"no folder":    {"== 01-list/exercises/exercises.yaml\n- {name: 01-a, title: A}\n", "01-a is not a folder"},
		"no YAML":      {"== 01-list/exercises/exercises.yaml\n- name: [\n", "yaml: line"},
		"wrong id":     {strings.Replace(prediction, "1.A", "1.B", 1), `the id "1.B" must be 1.A`},
		"wrong answer": {strings.Replace(prediction, "answer: all", "answer: some", 1), `the answer "some" must be the word of a choice`},
		"a letter":     {strings.Replace(prediction, "answer: all", "answer: b", 1), `the answer "b" must be the word of a choice`},
		"no reason":    {strings.Replace(prediction, "All, reason: So", "All", 1), "each choice needs a word, a text and a reason"},
		"no command":   {strings.Replace(prediction, "run: echo all", "", 1), "1.A needs a question, run and prints"},
		"twice": {
			"== 01-list/exercises/exercises.yaml\n- {name: 01-a, title: A}\n- {name: 01-a, title: B}\n== 01-list/exercises/01-a/exercise.go\n",
			"01-a is there twice",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.Load(workbook(t, test.files))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "01-list/exercises/") ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with the manifest's path and %q", err, test.want)
			}
		})
	}
}
