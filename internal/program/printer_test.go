package program

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

func TestPrinter(t *testing.T) {
	for name, test := range map[string]struct {
		print func(*Printer)
		want  string
	}{
		"a line": {func(p *Printer) { p.Line("ADDED", "%s at %d", "default/mypod", 7) },
			"ADDED      default/mypod at 7\n"},
		"a long word":                {func(p *Printer) { p.Line("UNREADABLE", "it") }, "UNREADABLE it\n"},
		"without a word":             {func(p *Printer) { p.Line("", "and %d more", 3) }, "           and 3 more\n"},
		"an error of several lines":  {func(p *Printer) { p.Line("RETRY", "%s", "one\ntwo\n") }, "RETRY      one two\n"},
		"a percent sign in the text": {func(p *Printer) { p.Line("RETRY", "%s", "100%s") }, "RETRY      100%s\n"},
		"a prefix":                   {func(p *Printer) { p.Prefix("#1 ").Prefix("a ").Line("ADDED", "mypod") }, "ADDED      #1 a mypod\n"},
		"a prefix, and then without": {func(p *Printer) { p.Prefix("#1 "); p.Line("ADDED", "mypod") }, "ADDED      mypod\n"},
		"a plain line":               {func(p *Printer) { p.Print("add pod:  ", "default", "/", "mypod") }, "add pod:  default/mypod\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			test.print(NewPrinter(&out))
			if out.String() != test.want {
				t.Errorf("printed %q, want %q", &out, test.want)
			}
		})
	}
}

// oneWrite fails the test if a Write is not exactly one line.
type oneWrite struct {
	t     *testing.T
	lines int
}

func (w *oneWrite) Write(p []byte) (int, error) {
	if bytes.Count(p, []byte("\n")) != 1 || p[len(p)-1] != '\n' {
		w.t.Errorf("a Write of %q, want one line", p)
	}
	w.lines++
	return len(p), nil
}

// TestPrinterOfSeveralGoroutines is of use with -race: the writer has no lock of its own.
func TestPrinterOfSeveralGoroutines(t *testing.T) {
	out := &oneWrite{t: t}
	p := NewPrinter(out)
	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() { p.Prefix(fmt.Sprintf("#%d ", i)).Line("ADDED", "mypod") })
		group.Go(func() { p.Print("add pod:  ", "mypod") })
	}
	group.Wait()
	if out.lines != 20 {
		t.Errorf("%d lines, want 20", out.lines)
	}
}

func TestPrintAllocatesNothing(t *testing.T) {
	p := NewPrinter(io.Discard)
	if n := testing.AllocsPerRun(100, func() { p.Print("add pod:  ", "default", "/", "mypod") }); n != 0 {
		t.Errorf("%v allocations a line, want none", n)
	}
}

func TestTimestamps(t *testing.T) {
	kubeconfig, _ := newServer(t)
	var stdout, stderr bytes.Buffer
	p := New("test")
	code := p.Main(t.Context(), []string{"--kubeconfig", kubeconfig, "--timestamps", "--wire"}, &stdout, &stderr,
		func(ctx context.Context, config *rest.Config) error {
			p.Out.Prefix("#1 ").Line("ADDED", "mypod")
			p.Out.Print("add pod:  mypod")
			p.Wire.Line("WIRE", "as printed by --wire")
			return nil
		})
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	want := regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} (ADDED      #1 mypod|add pod:  mypod|WIRE       as printed by --wire)$`)
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	for _, line := range lines {
		if !want.MatchString(line) {
			t.Errorf("printed %q, want the time of day in front", line)
		}
	}
	if len(lines) != 3 {
		t.Errorf("%d lines, want 3", len(lines))
	}
}
