package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/test/testkit"
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

// TestNothingPrintedIsObeyed prints each character that a terminal may obey, or that nobody sees, in each way that there is.
// Names, values, names of fields, and errors come from the server.
func TestNothingPrintedIsObeyed(t *testing.T) {
	evil := []string{"\x80", "\x9b", "\xc3", "\xff"} // no UTF-8
	for char := rune(0); char <= unicode.MaxRune; char++ {
		if unicode.In(char, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && char != '\t' {
			evil = append(evil, string(char))
		}
	}
	ways := map[string]struct {
		print     func(p *Printer, text string)
		lineBreak string // what is printed of one
	}{
		"an argument":          {func(p *Printer, text string) { p.Line("ADDED", "%s of it", text) }, " "},
		"an error":             {func(p *Printer, text string) { p.Line("RETRY", "in 1s: %v", errors.New(text)) }, " "},
		"the word":             {func(p *Printer, text string) { p.Line(text, "it") }, `\n`},
		"the prefix":           {func(p *Printer, text string) { p.Prefix(text).Line("ADDED", "it") }, `\n`},
		"a part":               {func(p *Printer, text string) { p.Print("ADDED ", text) }, `\n`},
		"the first part":       {func(p *Printer, text string) { p.Print(text, " it") }, `\n`},
		"behind a first word":  {func(p *Printer, text string) { p.Print("ADDED " + text) }, `\n`},
		"behind a plain word":  {func(p *Printer, text string) { p.Print("LISTED " + text) }, `\n`},
		"the first word of it": {func(p *Printer, text string) { p.Print("ADDED" + text + " it") }, `\n`},
	}
	for name, way := range ways {
		for _, colors := range []bool{false, true} {
			for _, text := range evil {
				shown := strings.Trim(strconv.Quote(text), `"`)
				if text == "\n" {
					shown = way.lineBreak
				}
				var got, want bytes.Buffer
				p, plain := NewPrinter(&got), NewPrinter(&want)
				p.colors, plain.colors = colors, colors
				way.print(p, "a"+text+"b")
				way.print(plain, "a"+shown+"b")
				if strings.Replace(got.String(), " ", "", -1) != strings.Replace(want.String(), " ", "", -1) { // words are filled up
					t.Errorf("%s, colors %t: %q prints %q, want %q", name, colors, text, &got, &want)
				}
			}
		}
	}
}

// TestWhatPeopleWriteIsPrintedAsItIs has letters of many scripts, marks, symbols and spaces.
func TestWhatPeopleWriteIsPrintedAsItIs(t *testing.T) {
	for _, text := range []string{"", "a\tb", "ü", "u\u0308", "日本", "مرحبا", "שלום", "👍🏽", "x\u00a0y", "x\u3000y", "`\\x1b'\""} {
		var got bytes.Buffer
		NewPrinter(&got).Print(text)
		if got.String() != text+"\n" {
			t.Errorf("%q prints %q", text, &got)
		}
	}
}

// TestNothingOnStderrIsObeyed has a server, or a kubeconfig, whose texts are evil.
func TestNothingOnStderrIsObeyed(t *testing.T) {
	const evil, shown = "a\x1b]0;t\x07\u202eb", `a\x1b]0;t\a\u202eb`
	for name, test := range map[string]struct {
		args []string
		run  func() error
		want string // the last line
	}{
		"an error":         {run: func() error { return errors.New(evil) }, want: "test: " + shown},
		"a usage error":    {run: func() error { return Usagef("no %s", evil) }, want: "test: no " + shown + " (--help lists the flags)"},
		"an unknown flag":  {args: []string{"--" + evil}, want: "test: unknown flag: --" + shown + " (--help lists the flags)"},
		"a context's name": {args: []string{"--context", evil}, run: func() error { return nil }, want: "context " + shown + ", "},
	} {
		kubeconfig, _ := newServer(t)
		content := testkit.Must(os.ReadFile(kubeconfig))(t)
		another := fmt.Sprintf("contexts:\n- {name: %s, context: {cluster: test}}\n", testkit.Must(json.Marshal(evil))(t))
		content = bytes.Replace(content, []byte("contexts:\n"), []byte(another), 1)
		if err := os.WriteFile(kubeconfig, content, 0o600); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		New("test").Main(t.Context(), append([]string{"--kubeconfig", kubeconfig}, test.args...), io.Discard, &stderr,
			func(context.Context, *rest.Config) error { return test.run() })
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, test.want) {
			t.Errorf("%s: %q, want %q", name, last, test.want)
		}
	}
}
