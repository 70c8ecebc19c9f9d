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
	"runtime"
	"slices"
	"strings"
	"time"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

const module = "example.com/client-go-workbook/"

// report is what came of an exercise's mutants.
type report struct {
	exercise                            manifest.Exercise
	mutants, rejected, listed, survived int // survived: accepted without a reason, or with one that is out of date
	took                                time.Duration
	text                                string
}

// kept is an entry of mutants.yaml: a mutant that is accepted, and why it may be.
type kept struct {
	Mutant string `yaml:"mutant"`
	Reason string `yaml:"reason"`
}

// grade runs the mutants of an exercise.
func grade(ctx context.Context, o options, p *packages, e manifest.Exercise, folder string) (report, error) {
	begin := time.Now()
	r := report{exercise: e}
	source, err := answers(e)
	if err != nil {
		return r, err
	}
	mutants, overlay, err := write(o, p, e, source, folder)
	if err != nil {
		return r, err
	}
	r.mutants = len(mutants)
	if o.list || len(mutants) == 0 {
		for _, m := range mutants {
			r.text += fmt.Sprintf("%s  %s:%d  %s\n", e.ID, m.file, m.line, m.name)
		}
		return r, nil
	}
	verdicts, err := runMutants(ctx, o, e, overlay, folder)
	if err != nil {
		return r, err
	}
	reasons, err := keptMutants(e)
	if err != nil {
		return r, err
	}
	for i, m := range mutants {
		v := verdicts[number(i)]
		reason, isKept := reasons[m.name]
		delete(reasons, m.name)
		place := fmt.Sprintf("%s:%d  %s", m.file, m.line, m.name)
		switch {
		case v.rejected && isKept:
			r.rejected++
			r.survived++
			r.say("%s  mutants.yaml has a mutant that is rejected now: %s", e.ID, m.name)
		case v.rejected:
			r.rejected++
			if o.verbose {
				r.say("%s  rejected %s\n%s", e.ID, place, indent(v.says))
			}
		case isKept && v.ran && v.says == "": // accepted, and not just unjudged
			r.listed++
			if o.verbose {
				r.say("%s  accepted %s\n%s", e.ID, place, indent(reason))
			}
		default:
			r.survived++
			r.say("%s  %s %s\n%s%s", e.ID, v.outcome(), place, difference(source[m.file], m.edits), indent(v.says))
		}
	}
	if o.operator == "" {
		for name := range reasons {
			r.survived++
			r.say("%s  mutants.yaml has a mutant that does not exist: %s", e.ID, name)
		}
	}
	r.took = time.Since(begin)
	return r, nil
}

// overlay adds files to a package without writing them there: go test -overlay.
type overlay struct{ Replace map[string]string }

// number is the name under which a grader knows a mutant.
func number(index int) string { return fmt.Sprintf("mutant %d", index+1) }

// write makes the mutants of an exercise, those that compile, and writes a file for each.
func write(o options, p *packages, e manifest.Exercise, source map[string]string, folder string) ([]mutant, overlay, error) {
	files := overlay{map[string]string{}}
	pkg, roots, err := accepted(e)
	if err != nil {
		return nil, files, err
	}
	gradersPath, answersPath := module+filepath.ToSlash(e.Graders()), module+filepath.ToSlash(e.Answers())
	original, err := p.check(answersPath, source)
	if err != nil {
		return nil, files, err
	}
	inFolder, err := filepath.Abs(e.Graders())
	if err != nil {
		return nil, files, err
	}
	add := func(name, text string) error {
		file := filepath.Join(folder, e.ID+"-"+name)
		files.Replace[filepath.Join(inFolder, name)] = file
		return os.WriteFile(file, []byte(text), 0o600)
	}
	var mutants []mutant
	var tests strings.Builder
	seen, names := map[string]bool{}, map[string]int{}
	for _, root := range roots {
		for _, d := range original.closure(root.names) {
			for _, m := range original.mutants(d.file, d.decl, d.name) {
				text := m.file + apply(source[m.file], m.edits)
				if seen[text] {
					continue // another answer has this declaration, too
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
				n := len(mutants)
				mutants = append(mutants, m)
				if err := add(fmt.Sprintf("mutant%d_test.go", n), changed.emit(n, pkg, gradersPath, answersPath, root)); err != nil {
					return nil, files, err
				}
				fmt.Fprintf(&tests, "\tgraders.%s.Rejects(t, %q, mutant_m%d, \"\")\n", e.Variable(), number(n), n)
			}
		}
	}
	return mutants, files, add("mutants_test.go", fmt.Sprintf(
		"package %s\n\nimport (\n\t\"testing\"\n\n\tgraders %q\n)\n\nfunc TestMutants(t *testing.T) {\n%s}\n", pkg, gradersPath, &tests))
}

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

// runMutants compiles the grader with the mutants, and lets its own test run them, each in a process of its own.
func runMutants(ctx context.Context, o options, e manifest.Exercise, files overlay, folder string) (map[string]verdict, error) {
	data, err := json.Marshal(files)
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
	compile := exec.CommandContext(ctx, "go", append(args, "./"+filepath.ToSlash(e.Graders()))...)
	if output, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the mutants do not compile: %w\n%s", err, output)
	}
	defer os.Remove(program)
	test := exec.CommandContext(ctx, "go", "tool", "test2json", program, "-test.run=^TestMutants$",
		"-test.v=test2json", fmt.Sprintf("-test.parallel=%d", 3*runtime.NumCPU())) // most of them wait
	test.Dir, test.Env = e.Graders(), append(os.Environ(), "WORKBOOK_TESTS=all")
	output, err := test.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	return read(output)
}

// read reads the verdicts of a test's events.
func read(events []byte) (map[string]verdict, error) {
	verdicts, says := map[string]verdict{}, map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(events)); ; {
		var event struct{ Action, Test, Output string }
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		name, isMutant := strings.CutPrefix(event.Test, "TestMutants/mutant-")
		if !isMutant {
			continue
		}
		text := says[name]
		switch event.Action {
		case "output":
			if !strings.Contains(event.Output, "=== ") && !strings.Contains(event.Output, "--- ") {
				says[name] += strings.TrimSpace(event.Output) + "\n"
			}
		case "pass":
			verdicts["mutant "+name] = verdict{ran: true, rejected: true, says: text}
		case "fail":
			// A verdict of more than five lines is a rejection, too.
			rejected := strings.Contains(text, "more than five lines")
			if strings.Contains(text, "a wrong answer is accepted") {
				text = ""
			}
			verdicts["mutant "+name] = verdict{ran: true, rejected: rejected, says: text}
		}
	}
	if len(verdicts) == 0 {
		return nil, fmt.Errorf("no mutant ran: %s", last(string(events)))
	}
	return verdicts, nil
}

func last(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// keptMutants reads the reasons of mutants.yaml, by the mutant's name.
func keptMutants(e manifest.Exercise) (map[string]string, error) {
	var list []kept
	if err := manifest.Read(".", filepath.Join(e.Answers(), "mutants.yaml"), &list); err != nil {
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
	if text == "" {
		return ""
	}
	return "        " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n        ") + "\n"
}

func (r *report) say(format string, args ...any) {
	r.text += strings.TrimRight(fmt.Sprintf(format, args...), "\n") + "\n"
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
	fmt.Fprintf(out, "\n| exercise | mutants | rejected | accepted with a reason | to look at | score | time |\n"+
		"| --- | --- | --- | --- | --- | --- | --- |\n%s| all | %s |\n", strings.Join(lines, ""), r.figures())
}
