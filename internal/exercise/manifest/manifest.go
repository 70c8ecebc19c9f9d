// Package manifest knows which exercises the workbook has, in their order, and what their manifests say. [Load] is the
// way in. The graders are not here, but in internal/exercises.
package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Chapter is one of the workbook's, with its exercises in the order of the manifest.
type Chapter struct {
	Number      int
	Folder      string // from the workbook's root: 01-listwatch
	Predictions []Prediction
	Exercises   []Exercise
}

// Exercise is an entry of a chapter's exercises.yaml.
type Exercise struct {
	ID     string `yaml:"-"` // 1.2: chapter 1, the second in its manifest
	Folder string `yaml:"-"` // from the workbook's root: 01-listwatch/exercises/02-no-gap

	Name    string   `yaml:"name"` // of the folder: 02-no-gap
	Title   string   `yaml:"title"`
	Cluster bool     `yaml:"cluster"` // the grader needs the API server
	Hints   []string `yaml:"hints"`   // each leads a bit further
	Why     string   `yaml:"why"`     // shown after success
}

// File returns the path of the learner's file, from the workbook's root.
func (e Exercise) File() string { return filepath.Join(e.Folder, "exercise.go") }

// Graders returns the folder of the package that has the graders of the exercise's chapter.
func (e Exercise) Graders() string {
	return filepath.Join("internal", "exercises", filepath.Dir(filepath.Dir(e.Folder)))
}

// Grader returns the path of the grader: nogap.go for 02-no-gap.
func (e Exercise) Grader() string {
	return filepath.Join(e.Graders(), strings.ToLower(e.Variable())+".go")
}

// Variable returns the name that the grader has in its package: NoGap for 02-no-gap.
func (e Exercise) Variable() (name string) {
	for _, word := range strings.Split(filepath.Base(e.Folder), "-")[1:] {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// Answers returns the folder of the answers that the grader is tested with.
func (e Exercise) Answers() string {
	return filepath.Join(e.Graders(), "answers", filepath.Base(e.Folder))
}

// Starter returns the path of the file that File is a copy of in the beginning.
func (e Exercise) Starter() string { return filepath.Join(e.Answers(), "starter", "exercise.go") }

// Solution returns the path of the solution. It can stand in the place of File as it is.
func (e Exercise) Solution() string { return filepath.Join(e.Answers(), "solution.go") }

// IsStarter says whether the learner's file is as it was in the beginning. One that is missing is not.
func (e Exercise) IsStarter(root string) (bool, error) {
	starter, err := os.ReadFile(filepath.Join(root, e.Starter()))
	if err != nil {
		return false, fmt.Errorf("the starter of %s: %w", e.Folder, err)
	}
	file, err := os.ReadFile(filepath.Join(root, e.File()))
	return err == nil && bytes.Equal(file, starter), nil
}

// Prediction is an entry of a chapter's predictions.yaml: a question about what a program will print.
type Prediction struct {
	ID       string   `yaml:"id"` // 1.A: chapter 1, the first in its manifest
	Question string   `yaml:"question"`
	Choices  []Choice `yaml:"choices"`
	Answer   string   `yaml:"answer"` // the word of the right choice
	Run      string   `yaml:"run"`    // a shell command in the workbook's root, which ends by itself
	Prints   string   `yaml:"prints"` // its output contains this

	NotOnKind string `yaml:"notOnKind"` // why a kind cluster cannot show it; nothing if it can
}

// Choice is a possible answer to a prediction.
type Choice struct {
	Word   string `yaml:"word"` // what the learner types, or its letter: a is the first
	Text   string `yaml:"text"`
	Reason string `yaml:"reason"` // why this is right, or why one would think so
}

// Choice returns the choice that an answer means, its letter or its word. It returns nil if there is none.
func (p Prediction) Choice(answer string) *Choice {
	answer = strings.ToLower(strings.TrimSpace(answer))
	for i := range p.Choices {
		if answer == Letter(i) || answer == strings.ToLower(p.Choices[i].Word) {
			return &p.Choices[i]
		}
	}
	return nil
}

// Letter returns the letter of a choice: a for 0.
func Letter(i int) string { return string(rune('a' + i)) }

// Load reads the manifests of all chapters under root. A chapter without manifests is left out.
func Load(root string) ([]Chapter, error) {
	folders, err := fs.Glob(os.DirFS(root), "[0-9][0-9]-*")
	if err != nil {
		return nil, err
	}
	var chapters []Chapter
	for _, name := range folders {
		number, _ := strconv.Atoi(name[:2])
		chapter := Chapter{Number: number, Folder: name}
		if err := chapter.load(root); err != nil {
			return nil, err
		}
		if len(chapter.Exercises) > 0 || len(chapter.Predictions) > 0 {
			chapters = append(chapters, chapter)
		}
	}
	return chapters, nil
}

func (c *Chapter) load(root string) error {
	manifest := filepath.Join(c.Folder, "exercises", "exercises.yaml")
	if err := Read(root, manifest, &c.Exercises); err != nil {
		return err
	}
	names := map[string]bool{}
	for i := range c.Exercises {
		e := &c.Exercises[i]
		e.ID = fmt.Sprintf("%d.%d", c.Number, i+1)
		e.Folder = filepath.Join(c.Folder, "exercises", e.Name)
		switch info, err := os.Stat(filepath.Join(root, e.Folder)); {
		case e.Name == "" || e.Title == "":
			return fmt.Errorf("%s: exercise %s needs a name and a title", manifest, e.ID)
		case names[e.Name]:
			return fmt.Errorf("%s: %s is there twice", manifest, e.Name)
		case err != nil || !info.IsDir():
			return fmt.Errorf("%s: %s is not a folder beside it", manifest, e.Name)
		}
		names[e.Name] = true
	}

	manifest = filepath.Join(c.Folder, "exercises", "predictions.yaml")
	if err := Read(root, manifest, &c.Predictions); err != nil {
		return err
	}
	for i, p := range c.Predictions {
		id := fmt.Sprintf("%d.%c", c.Number, 'A'+i)
		switch {
		case p.ID != id:
			return fmt.Errorf("%s: the id %q must be %s, for the order", manifest, p.ID, id)
		case p.Question == "" || p.Run == "" || p.Prints == "":
			return fmt.Errorf("%s: %s needs a question, run and prints", manifest, id)
		case !slices.ContainsFunc(p.Choices, func(c Choice) bool { return c.Word == p.Answer }):
			return fmt.Errorf("%s: %s: the answer %q must be the word of a choice", manifest, id, p.Answer)
		}
		for _, choice := range p.Choices {
			if choice.Word == "" || choice.Text == "" || choice.Reason == "" {
				return fmt.Errorf("%s: %s: each choice needs a word, a text and a reason", manifest, id)
			}
		}
	}
	return nil
}

// Read reads a manifest into a list, which stays empty if there is no such file. A field without a meaning is an error.
func Read(root, manifest string, list any) error {
	data, err := os.ReadFile(filepath.Join(root, manifest))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(list); err != nil && err != io.EOF {
		return fmt.Errorf("%s: %s", manifest, strings.Join(strings.Fields(err.Error()), " "))
	}
	return nil
}
