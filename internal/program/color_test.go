package program

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
	"k8s.io/client-go/rest"
)

// TestColors runs a program whose stdout is a terminal, and one whose stdout is a pipe.
func TestColors(t *testing.T) {
	const (
		plain   = "ADDED      x/a|LISTED     x/b|delete pod:  x/c|"
		colored = "\x1b[32mADDED\x1b[0m      x/a|LISTED     x/b|\x1b[31mdelete\x1b[0m pod:  x/c|"
	)
	for name, test := range map[string]struct {
		open          func() (reader, writer *os.File, err error)
		term, noColor string
		want          string
	}{
		"a terminal":                     {open: pty.Open, term: "xterm", want: colored},
		"a terminal and NO_COLOR":        {open: pty.Open, term: "xterm", noColor: "1", want: plain},
		"a terminal and NO_COLOR, empty": {open: pty.Open, term: "xterm", want: colored},
		"a terminal without colours":     {open: pty.Open, term: "dumb", want: plain},
		"a pipe":                         {open: os.Pipe, term: "xterm", want: plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TERM", test.term)
			t.Setenv("NO_COLOR", test.noColor)
			kubeconfig, _ := newServer(t)
			reader, writer, err := test.open()
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			defer writer.Close()
			p := New("test")
			code := p.Main(t.Context(), []string{"--kubeconfig", kubeconfig}, writer, io.Discard,
				func(context.Context, *rest.Config) error {
					p.Out.Line("ADDED", "x/a")
					p.Out.Line("LISTED", "x/b")
					p.Out.Print("delete pod:  ", "x", "/", "c")
					return nil
				})
			if code != 0 {
				t.Fatalf("exit code %d", code)
			}
			got := ""
			for lines := bufio.NewScanner(reader); strings.Count(got, "|") < 3 && lines.Scan(); {
				got += lines.Text() + "|"
			}
			if got != test.want {
				t.Errorf("printed %q, want %q", got, test.want)
			}
		})
	}
}
