package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
	"gotest.tools/gotestsum/testjson"
)

// progress counts the packages that are done, and shows that while the tests run: on a terminal in one line that changes,
// else in a line each half minute. It is the handler of go test's events.
type progress struct {
	out      *os.File
	packages int           // 0: not known
	last     time.Duration // how long the last run took, 0: not known
	start    time.Time

	mu      sync.Mutex
	running []string // packages, in the order in which they began
	done    int
	failed  int // tests
}

func newProgress(out *os.File, packages int, last time.Duration) *progress {
	return &progress{out: out, packages: packages, last: last, start: time.Now()}
}

// Event is called for each event of go test.
func (p *progress) Event(event testjson.TestEvent, _ *testjson.Execution) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := short(event.Package)
	switch {
	case !event.PackageEvent():
		if event.Action == testjson.ActionFail && !strings.Contains(event.Test, "/") {
			p.failed++
		}
	case event.Action == "start":
		p.running = append(p.running, name)
	case event.Action.IsTerminal():
		p.running = slices.DeleteFunc(p.running, func(other string) bool { return other == name })
		p.done++
	}
	return nil
}

// Err is called for each line that go test itself prints, such as a download. The report has the lines of a failed build.
func (p *progress) Err(string) error { return nil }

// show shows the progress until ctx is done.
func (p *progress) show(ctx context.Context) {
	every, terminal := 30*time.Second, isTerminal(p.out)
	if terminal {
		every = time.Second
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			if terminal {
				fmt.Fprint(p.out, "\r", ansi.EraseLineRight)
			}
			return
		case <-ticker.C:
		}
		if !terminal {
			fmt.Fprintln(p.out, p.line())
			continue
		}
		width, _, err := term.GetSize(int(p.out.Fd()))
		if err != nil {
			width = 80
		}
		fmt.Fprint(p.out, "\r", ansi.Truncate(p.line(), width-1, "…"), ansi.EraseLineRight)
	}
}

// line returns, for example, "12 of 84 packages, 1:40 of about 4:10, running: 06-crd-codegen, scripts".
func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var line strings.Builder
	fmt.Fprint(&line, p.done)
	if p.packages > 0 {
		fmt.Fprint(&line, " of ", p.packages)
	}
	fmt.Fprint(&line, " packages, ", clock(time.Since(p.start)))
	if p.packages > 0 && p.last > 0 { // the last run of all
		fmt.Fprint(&line, " of about ", clock(p.last))
	}
	if p.failed > 0 {
		fmt.Fprintf(&line, ", %d failed", p.failed)
	}
	if len(p.running) > 0 {
		fmt.Fprint(&line, ", running: ", strings.Join(p.running, ", "))
	} else {
		fmt.Fprint(&line, ", compiling")
	}
	return line.String()
}

// clock returns a duration as minutes and seconds.
func clock(d time.Duration) string {
	seconds := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}

// short returns a package's path without the module's.
func short(path string) string { return strings.TrimPrefix(path, "example.com/client-go-workbook/") }
