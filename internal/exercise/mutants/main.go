// Command mutants tests the graders of the exercises as graders test answers: it changes each accepted answer in many small
// ways, and a grader must reject each change. A mutant that is accepted shows what a grader does not see.
//
// It needs the tests' cluster: make mutants N=5.4 starts it. Mutants that are right, or that the task says nothing about,
// stand in the file mutants.yaml beside the answers, with the reason.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flags := pflag.NewFlagSet("mutants", pflag.ExitOnError)
	flags.BoolVar(&o.list, "list", false, "print the mutants, and run none")
	flags.BoolVar(&o.race, "race", false, "compile with the race detector")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "print why each mutant was rejected, too")
	flags.StringVar(&o.operator, "only", "", "mutants whose name contains this")
	flags.StringVar(&o.since, "since", "", "exercises that have changed since this commit")
	// Graders give answers random objects, so not every run sees the same.
	least := flags.Float64("least", 100, "exit code 1 if fewer percent of the mutants are rejected, or accepted with a reason")
	_ = flags.Parse(os.Args[1:])
	all, err := run(ctx, o, flags.Args())
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	case 100*all.survived > int((100-*least)*float64(all.mutants)):
		os.Exit(1)
	}
}

type options struct {
	list, race, verbose bool
	operator            string
	since               string
}

// run runs the mutants of the exercises with these numbers, or of all.
func run(ctx context.Context, o options, numbers []string) (all report, err error) {
	exercises, err := selected(numbers)
	if err == nil && o.since != "" {
		exercises, err = changed(ctx, exercises, o.since)
	}
	if err != nil || len(exercises) == 0 {
		return all, err
	}
	packages, err := newPackages(ctx, exercises)
	if err != nil {
		return all, err
	}
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return all, err
	}
	defer os.RemoveAll(folder)
	// One exercise is compiled while another one runs.
	reports := make(chan report)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(3)
	go func() {
		for _, e := range exercises {
			group.Go(func() error {
				r, err := grade(ctx, o, packages, e, folder)
				if err != nil {
					return fmt.Errorf("%s: %w", e.ID, err)
				}
				reports <- r
				return nil
			})
		}
		err = group.Wait()
		close(reports)
	}()
	for r := range reports {
		r.print(os.Stdout, o)
		all.add(r)
	}
	all.total(os.Stdout)
	return all, err
}

// selected returns the exercises with these numbers, or all.
func selected(numbers []string) (exercises []manifest.Exercise, err error) {
	chapters, err := manifest.Load(".")
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, number := range numbers {
		wanted[number] = true
	}
	for _, chapter := range chapters {
		for _, e := range chapter.Exercises {
			if len(numbers) == 0 || wanted[e.ID] {
				exercises = append(exercises, e)
				delete(wanted, e.ID)
			}
		}
	}
	for number := range wanted {
		return nil, fmt.Errorf("there is no exercise %s: make progress lists them", number)
	}
	return exercises, nil
}

// changed returns those of the exercises that commits have changed: their folders, their graders, or their answers.
func changed(ctx context.Context, exercises []manifest.Exercise, since string) ([]manifest.Exercise, error) {
	diff := exec.CommandContext(ctx, "git", "diff", "--name-only", since, "--")
	diff.Stderr = os.Stderr
	output, err := diff.Output()
	if err != nil {
		return nil, fmt.Errorf("git diff: %w", err)
	}
	return slices.DeleteFunc(exercises, func(e manifest.Exercise) bool {
		for file := range strings.Lines(string(output)) {
			file = filepath.FromSlash(strings.TrimSpace(file))
			if folder := filepath.Dir(file); folder == e.Folder || folder == e.Answers() || file == e.Grader() {
				return false
			}
		}
		return true
	}), nil
}
