package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

const (
	module    = "example.com/client-go-workbook/"
	gradePath = module + "internal/exercise/grade"
)

// report is what came of an exercise's mutants.
type report struct {
	exercise                            manifest.Exercise
	mutants, rejected, listed, survived int
	took                                time.Duration
	text                                string
}

// kept is an entry of mutants.yaml: a mutant that is accepted, and why it may be.
type kept struct {
	Mutant string `yaml:"mutant"`
	Reason string `yaml:"reason"`
}

// grade makes the mutants of an exercise, compiles all into one test program, and runs each in a process of its own.
func grade(ctx context.Context, o options, p *packages, e manifest.Exercise, folder string) (report, error) {
	begin := time.Now()
	r := report{exercise: e}
	source, err := answers(e)
	if err != nil {
		return r, err
	}
	roots, err := accepted(e)
	if err != nil {
		return r, err
	}
	answersPath := module + filepath.ToSlash(e.Answers())
	original, err := p.check(answersPath, source)
	if err != nil {
		return r, err
	}
	reasons, err := keptMutants(e)
	if err != nil {
		return r, err
	}

	overlay := struct{ Replace map[string]string }{map[string]string{}}
	all := map[string]mutant{}
	names := map[string]int{}
	var order []string
	seen := map[changedFile]bool{}
	for _, root := range roots {
		for _, d := range original.closure(root.names) {
			for _, m := range original.mutants(d.file, d.decl, d.name) {
				text := changedFile{d.file, apply(source[m.file], m.edits)}
				if seen[text] {
					continue // another answer has the same declaration
				}
				seen[text] = true
				changed := p.mutate(answersPath, source, m)
				if changed == nil {
					continue
				}
				names[m.name]++
				if n := names[m.name]; n > 1 {
					m.name = fmt.Sprintf("%s (%d)", m.name, n)
				}
				if !strings.Contains(m.name, o.operator) {
					continue
				}
				number := len(all) + 1
				id := fmt.Sprintf("mutant %d", number)
				all[id] = m
				order = append(order, id)
				file := filepath.Join(folder, e.ID+"-"+strings.ReplaceAll(id, " ", "-")+".go")
				if err := os.WriteFile(file, []byte(changed.emit(number, id, answersPath, root)), 0o600); err != nil {
					return r, err
				}
				in, err := filepath.Abs(filepath.Join(e.Folder, fmt.Sprintf("mutant%d_test.go", number)))
				if err != nil {
					return r, err
				}
				overlay.Replace[in] = file
			}
		}
	}
	r.mutants = len(all)
	if o.list || len(all) == 0 {
		for _, id := range order {
			r.text += fmt.Sprintf("%s  %s:%d  %s\n", e.ID, all[id].file, all[id].line, all[id].name)
		}
		return r, nil
	}
	verdicts, err := runMutants(ctx, o, e, overlay, folder)
	if err != nil {
		return r, err
	}
	var text strings.Builder
	for _, id := range order {
		m, v := all[id], verdicts[id]
		reason, isKept := reasons[m.name]
		delete(reasons, m.name)
		switch {
		case v.rejected && isKept:
			fmt.Fprintf(&text, "%s  mutants.yaml has a mutant that is rejected now: %s\n", e.ID, m.name)
			r.rejected++
			r.survived++
		case v.rejected:
			r.rejected++
			if o.verbose {
				fmt.Fprintf(&text, "%s  rejected %s:%d  %s\n%s\n", e.ID, m.file, m.line, m.name, indent(v.says))
			}
		case isKept:
			r.listed++
			if o.verbose {
				fmt.Fprintf(&text, "%s  accepted %s:%d  %s\n        %s\n", e.ID, m.file, m.line, m.name, reason)
			}
		default:
			r.survived++
			fmt.Fprintf(&text, "%s  %s %s:%d  %s\n%s", e.ID, v.outcome(), m.file, m.line, m.name, difference(source[m.file], m.edits))
			if v.says != "" {
				fmt.Fprintln(&text, indent(v.says))
			}
		}
	}
	if o.operator == "" {
		for name := range reasons {
			fmt.Fprintf(&text, "%s  mutants.yaml has a mutant that does not exist: %s\n", e.ID, name)
			r.survived++
		}
	}
	r.text, r.took = text.String(), time.Since(begin)
	return r, nil
}

type changedFile struct{ file, text string }

// verdict is what a grader said of a mutant.
type verdict struct {
	ran, rejected bool
	says          string
}

func (v verdict) outcome() string {
	switch {
	case !v.ran:
		return "NOT RUN "
	case v.says != "":
		return "BROKEN  "
	default:
		return "ACCEPTED"
	}
}

// runMutants compiles the grader with the mutants, and lets its own test run them.
func runMutants(ctx context.Context, o options, e manifest.Exercise, overlay any, folder string) (map[string]verdict, error) {
	data, err := json.Marshal(overlay)
	if err != nil {
		return nil, err
	}
	overlayFile, program := filepath.Join(folder, e.ID+".json"), filepath.Join(folder, e.ID+".test")
	if err := os.WriteFile(overlayFile, data, 0o600); err != nil {
		return nil, err
	}
	args := []string{"test", "-c", "-vet=off", "-overlay", overlayFile, "-o", program}
	if o.race {
		args = append(args, "-race")
	}
	compile := exec.CommandContext(ctx, "go", append(args, "./"+filepath.ToSlash(e.Folder))...)
	if output, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the mutants do not compile: %w\n%s", err, output)
	}
	defer os.Remove(program)
	test := exec.CommandContext(ctx, program, "-test.run=^TestGrader$/^mutant-", "-test.v", fmt.Sprintf("-test.parallel=%d", o.parallel))
	test.Dir = e.Folder
	var stderr bytes.Buffer
	test.Stderr = &stderr
	output, err := test.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	verdicts := map[string]verdict{}
	var current string
	says := map[string]*strings.Builder{}
	for line := range strings.Lines(string(output)) {
		line = strings.TrimRight(line, "\n")
		switch match := subtest.FindStringSubmatch(line); {
		case match != nil && (match[1] == "=== NAME " || match[1] == "=== RUN  " || match[1] == "=== CONT "):
			current = match[2]
		case match != nil && match[1] != "=== PAUSE":
			current = match[2]
			text := ""
			if says[current] != nil {
				text = says[current].String()
			}
			passed := match[1] == "    --- PASS:"
			// A verdict of more than five lines is a rejection, too.
			rejected := passed || strings.Contains(text, "more than five lines")
			if strings.Contains(text, "a wrong answer is accepted") {
				text = ""
			}
			verdicts[strings.Replace(current, "-", " ", 1)] = verdict{ran: true, rejected: rejected, says: text}
		case current != "":
			if says[current] == nil {
				says[current] = &strings.Builder{}
			}
			says[current].WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	if len(verdicts) == 0 {
		return nil, fmt.Errorf("no mutant ran: %s%s", last(string(output)), last(stderr.String()))
	}
	return verdicts, nil
}

var subtest = regexp.MustCompile(`^(=== RUN  |=== CONT |=== NAME |=== PAUSE|    --- PASS:|    --- FAIL:|    --- SKIP:) +TestGrader/(mutant-\d+)`)

func last(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// keptMutants reads the reasons of mutants.yaml, by the mutant's name.
func keptMutants(e manifest.Exercise) (map[string]string, error) {
	data, err := os.ReadFile(filepath.Join(e.Answers(), "mutants.yaml"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []kept
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&list); err != nil && err != io.EOF {
		return nil, err
	}
	reasons := map[string]string{}
	for _, k := range list {
		if k.Mutant == "" || k.Reason == "" {
			return nil, errors.New("mutants.yaml: each entry needs a mutant and a reason")
		}
		reasons[k.Mutant] = k.Reason
	}
	return reasons, nil
}

// difference shows the changed lines.
func difference(source string, edits []edit) string {
	before, after := strings.Split(source, "\n"), strings.Split(apply(source, edits), "\n")
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	var b strings.Builder
	for i, lines := range [][]string{before, after} {
		for _, line := range lines[:min(len(lines), 8)] {
			fmt.Fprintf(&b, "        %c %s\n", "-+"[i], strings.TrimSpace(line))
		}
	}
	return b.String()
}

func indent(text string) string {
	return "        " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n        ")
}

func (r *report) add(other report) {
	r.mutants += other.mutants
	r.rejected += other.rejected
	r.listed += other.listed
	r.survived += other.survived
	r.took += other.took
	r.text += fmt.Sprintf("| %s %s | %s |\n", other.exercise.ID, other.exercise.Title, other.figures())
}

func (r report) figures() string {
	score := 100.0
	if r.mutants > 0 {
		score = 100 * float64(r.rejected) / float64(r.mutants)
	}
	return fmt.Sprintf("%d | %d | %d | %d | %.1f %% | %s", r.mutants, r.rejected, r.listed, r.survived, score, r.took.Round(time.Second))
}

func (r report) print(out io.Writer, o options) {
	fmt.Fprint(out, r.text)
	if !o.list {
		fmt.Fprintf(out, "%s %s: %d mutants, %d rejected, %d accepted with a reason, %d to look at, %s\n", r.exercise.ID,
			r.exercise.Title, r.mutants, r.rejected, r.listed, r.survived, r.took.Round(100*time.Millisecond))
	}
}

// total prints the table of all exercises.
func (r report) total(out io.Writer) {
	lines := slices.Sorted(strings.Lines(r.text))
	fmt.Fprintf(out, "\n| exercise | mutants | rejected | accepted with a reason | to look at | score | time |\n| --- | --- | --- | --- | --- | --- | --- |\n%s| all | %s |\n",
		strings.Join(lines, ""), r.figures())
}
