package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

// The writer of the texts takes the colours out where they are not wanted.
var (
	bold  = ansi.NewStyle().Bold()
	faint = ansi.NewStyle().Faint()
	green = ansi.NewStyle().ForegroundColor(ansi.Green)
	red   = ansi.NewStyle().ForegroundColor(ansi.Red)
)

// wrap breaks lines between words only: a path that is broken behind a hyphen cannot be found with a search.
func wrap(text string, width int) string {
	const unbreakable = "\u2011" // a hyphen, as wide as the other one
	return strings.ReplaceAll(ansi.Wrap(strings.ReplaceAll(text, "-", unbreakable), width, ""), unbreakable, "-")
}

// hang writes a text behind a label. Its lines are wrapped, and stand below each other.
func hang(label, text string, width int) string {
	indent := strings.Repeat(" ", ansi.StringWidth(label))
	return label + strings.ReplaceAll(wrap(text, max(width-len(indent), 20)), "\n", "\n"+indent)
}

// paragraph wraps a text whose own line breaks mean nothing.
func paragraph(text string, width int) string {
	return wrap(strings.Join(strings.Fields(text), " "), width)
}

var (
	markdownLink = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
	markdownBold = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	newBlock     = regexp.MustCompile("^(#|\\||```| {4}|\t|[-*] |[0-9]+\\. )")
)

// taskText is an exercise's README without its heading, wrapped anew.
func taskText(markdown string, width int) string {
	_, text, _ := strings.Cut(markdown, "\n")
	var lines []string
	inCode, joins := false, false // a line that joins goes on where the one before has ended
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		isBlock := newBlock.MatchString(line)
		switch {
		case inCode, line == "", isBlock, !joins:
			lines = append(lines, line)
		default:
			lines[len(lines)-1] += " " + strings.TrimSpace(line)
		}
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		joins = line != "" && !inCode && !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "|")
	}
	for i, line := range lines {
		line = markdownLink.ReplaceAllString(line, "$1")
		line = markdownBold.ReplaceAllStringFunc(line, func(text string) string { return bold.Styled(strings.Trim(text, "*")) })
		lines[i] = wrap(line, width)
	}
	return strings.Join(lines, "\n")
}

// outcomeText is what came of grading, in at most five lines if the answer is rejected, apart from what it has printed itself.
func (w *workbook) outcomeText(o outcome, width int) string {
	e := o.exercise
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case o.passed():
		add("%s", green.Styled("solved")+" "+bold.Styled(e.ID+" "+e.Title))
		add("%s", paragraph(e.Why, width))
	case o.verdict == nil:
		add("%s", red.Styled("does not compile")+" "+bold.Styled(e.ID+" "+e.Title))
		for _, line := range o.compiler {
			add("%s", hang("  ", line, width))
		}
	default:
		add("%s", red.Styled("not solved")+" "+bold.Styled(e.ID+" "+e.Title))
		for _, line := range [][2]string{{"expected", o.verdict.Expected}, {"seen", o.verdict.Seen}, {"look at", o.verdict.Look}} {
			if line[1] != "" {
				add("%s", hang(fmt.Sprintf("  %-10s", line[0]), strings.Join(strings.Fields(line[1]), " "), width))
			}
		}
	}
	if o.untouched && !o.passed() {
		add("%s", hang("  ", fmt.Sprintf("Read %s, edit exercise.go beside it.", filepath.Join(e.Folder, "README.md")), width))
	}
	if o.before && !o.passed() {
		add("  An earlier answer was accepted: %s stays solved until make reset %s.", e.ID, e.ID)
	}
	if o.another != "" {
		add("  The grader is not the one of git. This brings that back:\n  %s", comesBack(o.another))
	}
	if o.verdict != nil && len(o.verdict.Printed) > 0 {
		add("  Your answer has printed:")
		for _, line := range o.verdict.Printed {
			add("%s", "  | "+ansi.Truncate(ansi.Strip(line), width-4, "..."))
		}
	}
	return strings.Join(lines, "\n")
}

// hintText is the hints that were shown.
func hintText(e exercise, shown, width int) string {
	var lines []string
	for i, hint := range e.Hints[:min(shown, len(e.Hints))] {
		lines = append(lines, hang(fmt.Sprintf("hint %d of %d: ", i+1, len(e.Hints)), strings.Join(strings.Fields(hint), " "), width))
	}
	return strings.Join(lines, "\n")
}

// questionText is the question of a prediction and its choices.
func questionText(p prediction, width int) string {
	lines := []string{bold.Styled("prediction " + p.ID), paragraph(p.Question, width)}
	for i, choice := range p.Choices {
		label := fmt.Sprintf("  %s  %-10s ", manifest.Letter(i), choice.Word)
		lines = append(lines, hang(label, strings.Join(strings.Fields(choice.Text), " "), width))
	}
	return strings.Join(lines, "\n")
}

// answerText says whether an answer is right, and why.
func answerText(p prediction, chosen manifest.Choice, width int) string {
	right := *p.Choice(p.Answer)
	is := fmt.Sprintf("It is %q: %s", right.Word, right.Reason)
	if chosen.Word == right.Word {
		return paragraph(green.Styled("right")+" "+is, width)
	}
	said := fmt.Sprintf("%s You said %q. %s", red.Styled("wrong"), chosen.Word, chosen.Reason)
	return paragraph(said, width) + "\n" + paragraph(is, width)
}

// nextText says what to do next.
func nextText(t *task) string {
	switch {
	case t == nil:
		return "All exercises are solved."
	case t.prediction != nil:
		return fmt.Sprintf("Next: prediction %s. make exercise %s asks it.", t.id, t.id)
	}
	return fmt.Sprintf("Next: %s %s\n      %s", t.id, t.title(), filepath.Join(t.exercise.Folder, "README.md"))
}

// progressText is a chapter's line with its bar.
func progressText(c manifest.Chapter, solved, answered int) string {
	_, name, _ := strings.Cut(c.Folder, "-")
	line := barText(fmt.Sprintf("%d %s", c.Number, name), solved, len(c.Exercises))
	if len(c.Predictions) > 0 {
		line += fmt.Sprintf(", %d of %d predictions", answered, len(c.Predictions))
	}
	return line
}

// barText is a line with a bar.
func barText(name string, done, of int) string {
	const columns = 20
	full := 0
	if of > 0 {
		full = done * columns / of
	}
	return fmt.Sprintf("%-14s %s%s %2d of %2d", name, green.Styled(strings.Repeat("#", full)),
		faint.Styled(strings.Repeat("-", columns-full)), done, of)
}

// solutionText is the solution's file, below its name.
func (w *workbook) solutionText(e exercise) (string, error) {
	data, err := os.ReadFile(filepath.Join(w.root, e.Solution()))
	switch {
	case os.IsNotExist(err):
		return "", errors.New(w.isMissing(e.Solution()))
	case err != nil:
		return "", err
	}
	return bold.Styled(e.Solution()) + "\n\n" + strings.TrimRight(string(data), "\n"), nil
}
