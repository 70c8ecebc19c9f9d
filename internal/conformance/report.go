package main

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// Result is what came of a promise.
type Result struct {
	Promise
	took    time.Duration
	skipped string    // why; empty if it was tried
	err     error     // nil if it was kept
	writes  []Request // the controllers' and the suite's, in order
	figures []figure
	log     string // the end of what the controller has printed
	alone   string // the command that tries this promise alone
}

// isBroken reports whether the controller has broken the promise.
func (r Result) isBroken() bool {
	var failure *Failure
	return errors.As(r.err, &failure)
}

// isUnseen reports whether the suite could not find out: a request of its own has failed, or it has a bug.
func (r Result) isUnseen() bool { return r.err != nil && !r.isBroken() }

func (r Result) String() string {
	switch {
	case r.skipped != "":
		return "skipped"
	case r.isBroken():
		return "BROKEN"
	case r.isUnseen():
		return "unseen"
	}
	return "kept"
}

// printTable prints one line for each promise.
func printTable(out io.Writer, results []Result) {
	fmt.Fprintf(out, "\n%-11s %-8s %7s\n", "promise", "result", "time")
	for _, r := range results {
		line := fmt.Sprintf("%-11s %-8s %6.1fs  %s", r.name, r, r.took.Seconds(), r.skipped)
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
}

// figure is a number that no promise is about.
type figure struct{ name, value string }

// printFigures prints what was measured of the promises that are kept.
func printFigures(out io.Writer, results []Result) {
	for _, r := range results {
		if r.err != nil {
			continue
		}
		for _, f := range r.figures {
			fmt.Fprintf(out, "%-11s %-40s %s\n", r.name, f.name, f.value)
		}
	}
}

// maxWrites is how many writes of a failure are shown: the last ones.
const maxWrites = 30

// shown returns the writes that a failure is about.
func (r Result) shown() []Request {
	var failure *Failure
	if !errors.As(r.err, &failure) {
		return r.writes
	}
	return slices.DeleteFunc(slices.Clone(r.writes), func(w Request) bool {
		// drift tries values, and the server may refuse them.
		isRefused := w.Who == suite && (w.Code == http.StatusUnprocessableEntity || w.Code == http.StatusBadRequest)
		return isRefused || !w.about(failure.About) || !failure.Until.IsZero() && w.At.After(failure.Until)
	})
}

// print prints all about a promise that was not kept.
func (r Result) print(out io.Writer) {
	fmt.Fprintf(out, "\n%s: %s\n", r.name, r.sentence)
	var failure *Failure
	if errors.As(r.err, &failure) {
		fmt.Fprintf(out, "  the suite:\n%s\n  -expected +seen:\n%s\n", indent(failure.Did), indent(failure.Diff))
	} else {
		fmt.Fprintf(out, "  the suite could not see whether it is kept:\n%s\n", indent(r.err.Error()))
	}
	writes := r.shown()
	fmt.Fprintf(out, "  the last writes:\n%s", diagram(writes[max(0, len(writes)-maxWrites):]))
	fmt.Fprintf(out, "  the controller's last lines:\n%s\n  read:   %s\n", indent(cmp.Or(short(r.log), "none")), r.read)
	if r.source != "" {
		fmt.Fprintf(out, "  source: %s\n", r.source)
	}
	fmt.Fprintf(out, "  alone:  %s\n", r.alone)
}

// short cuts lines that are too long to be read.
func short(text string) string {
	const most = 240
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if runes := []rune(line); len(runes) > most {
			lines[i] = string(runes[:most]) + "..."
		}
	}
	return strings.Join(lines, "\n")
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

// The part of JUnit's XML that CI systems read; the JSON has the same names.
type (
	testSuite struct {
		XMLName  xml.Name   `xml:"testsuite" json:"-"`
		Name     string     `xml:"name,attr" json:"name"`
		Tests    int        `xml:"tests,attr" json:"tests"`
		Failures int        `xml:"failures,attr" json:"failures"`
		Errors   int        `xml:"errors,attr" json:"errors"`
		Skipped  int        `xml:"skipped,attr" json:"skipped"`
		Cases    []testCase `xml:"testcase" json:"cases"`
	}
	testCase struct {
		Name    string   `xml:"name,attr" json:"name"`
		Class   string   `xml:"classname,attr" json:"class"`
		Seconds float64  `xml:"time,attr" json:"seconds"`
		Failure *message `xml:"failure" json:"failure,omitempty"`
		Error   *message `xml:"error" json:"error,omitempty"`
		Skipped *message `xml:"skipped" json:"skipped,omitempty"`
	}
	message struct {
		Message string `xml:"message,attr" json:"message"`
		Text    string `xml:",chardata" json:"text,omitempty"`
	}
)

// writeReports writes the results to two files: NAME.xml is JUnit, for CI, and NAME.json has the same.
func writeReports(name string, results []Result) error {
	suite := testSuite{Name: "conformance", Tests: len(results)}
	for _, r := range results {
		c := testCase{Name: r.name, Class: "conformance", Seconds: r.took.Seconds()}
		switch {
		case r.skipped != "":
			suite.Skipped++
			c.Skipped = &message{Message: r.skipped}
		case r.err != nil:
			var text strings.Builder
			r.print(&text)
			told := &message{r.sentence, text.String()}
			if r.isBroken() {
				suite.Failures, c.Failure = suite.Failures+1, told
			} else {
				suite.Errors, c.Error = suite.Errors+1, told
			}
		}
		suite.Cases = append(suite.Cases, c)
	}
	asXML, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	asJSON, err := json.MarshalIndent(suite, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(name+".xml", append([]byte(xml.Header), append(asXML, '\n')...), 0o644),
		os.WriteFile(name+".json", append(asJSON, '\n'), 0o644),
	)
}
