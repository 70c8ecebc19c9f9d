package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"gotest.tools/gotestsum/testjson"
)

// report prints what has failed, or else a line for each chapter and one for the rest, and the sums. again is the command for tests.
func report(out io.Writer, again string, execution *testjson.Execution, taken time.Duration) {
	if failures(out, again, execution) {
		fmt.Fprintln(out)
	} else {
		table(out, execution)
	}
	skipped := len(execution.Skipped())
	failed := len(execution.Failed())
	fmt.Fprintf(out, "%d packages, %s\n", len(execution.Packages()), clock(taken))
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", execution.Total()-failed-skipped, failed, skipped)
}

// table prints the tests and the time of each chapter, and of the rest.
func table(out io.Writer, execution *testjson.Execution) {
	type part struct {
		packages, tests int
		time            time.Duration
	}
	parts := map[string]*part{}
	var names []string
	for _, name := range execution.Packages() {
		pkg := execution.Package(name)
		folder, _, _ := strings.Cut(short(name), "/")
		if !isChapter.MatchString(folder) {
			folder = "the rest"
		}
		if parts[folder] == nil {
			parts[folder] = &part{}
			names = append(names, folder)
		}
		parts[folder].packages++
		parts[folder].tests += pkg.Total - len(pkg.Skipped)
		parts[folder].time += pkg.Elapsed()
	}
	slices.Sort(names)
	columns := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, name := range names {
		p := parts[name]
		fmt.Fprintf(columns, "ok\t%s\t%d packages\t%d tests\t%s\n", name, p.packages, p.tests, clock(p.time))
	}
	_ = columns.Flush()
}

var isChapter = regexp.MustCompile(`^\d\d-`)

// failures prints all that has failed, and returns whether anything has.
func failures(out io.Writer, again string, execution *testjson.Execution) (failed bool) {
	for _, line := range execution.Errors() { // of a build
		failed = true
		fmt.Fprintln(out, strings.TrimSuffix(line, "\n"))
	}
	for _, name := range execution.Packages() {
		pkg := execution.Package(name)
		for _, test := range testjson.FilterFailedUnique(pkg.Failed) {
			failed = true
			heading(out, again, name, test.Test.Name())
			for _, line := range pkg.OutputLines(test) {
				if !frame.MatchString(line) {
					fmt.Fprint(out, line)
				}
			}
		}
		if pkg.TestMainFailed() { // a panic, a time-out, or a build
			failed = true
			heading(out, again, name, "")
			_ = pkg.WriteOutputTo(stringWriter{out}, 0)
		}
	}
	return failed
}

// heading names a test, or a package, and says how to run it alone.
func heading(out io.Writer, again, pkg, test string) {
	arguments := "./" + short(pkg)
	if test != "" {
		arguments += " -run " + pattern(test)
	}
	fmt.Fprintf(out, "\nFAIL %s %s\n     alone: %s ARGS='%s'\n", short(pkg), test, again, arguments)
}

// pattern returns a -run pattern of this test alone, for make, in single quotes. A character that the shell or a pattern
// takes for something else becomes a dot, which stands for any.
func pattern(test string) string {
	names := strings.Split(test, "/")
	for i, name := range names {
		names[i] = "^" + unsafe.ReplaceAllString(name, ".") + "$$" // make takes one away
	}
	return strings.Join(names, "/")
}

var (
	unsafe = regexp.MustCompile(`[^\w,:=@%+-]`)
	// frame is what go test -v prints around a test's own output, and what the mutation detector says for each informer.
	frame = regexp.MustCompile(`^=== (RUN|PAUSE|CONT|NAME) |Mutation detector is enabled, this will result in memory leakage`)
)

type stringWriter struct{ io.Writer }

func (w stringWriter) WriteString(s string) (int, error) { return io.WriteString(w.Writer, s) }
