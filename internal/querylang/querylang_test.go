package querylang

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"example.com/client-go-workbook/internal/program"
)

// tree is a language whose queries are written-out trees.
var tree = Language[string]{
	Term: func(key, value string) (string, error) {
		if key == "bad" {
			return "", errors.New("no such key")
		}
		return key + "=" + value, nil
	},
	And: func(left, right string) string { return fmt.Sprintf("(%s and %s)", left, right) },
	Or:  func(left, right string) string { return fmt.Sprintf("(%s or %s)", left, right) },
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"a=1":                        "a=1",
		"  a=1\t":                    "a=1",
		"a=b=c":                      "a=b=c",
		"a=1 and b=2 and c=3":        "((a=1 and b=2) and c=3)",
		"a=1 or b=2 or c=3":          "((a=1 or b=2) or c=3)",
		"a=1 or b=2 and c=3":         "(a=1 or (b=2 and c=3))",
		"a=1 and b=2 or c=3":         "((a=1 and b=2) or c=3)",
		"a=1 and (b=2 or c=3)":       "(a=1 and (b=2 or c=3))",
		"(a=1)and(b=2)":              "(a=1 and b=2)",
		"((a=1)) AND b=2 Or and=and": "((a=1 and b=2) or and=and)",
	} {
		if got, err := tree.Parse(text); err != nil || got != want {
			t.Errorf("%q: got %q and error %v, want %q", text, got, err, want)
		}
	}
}

func TestErrorPointsAtTheWord(t *testing.T) {
	for text, want := range map[string]struct{ pointer, line string }{
		"a=1 adn b=2": {
			"    ^^^ expected \"and\" or \"or\"",
			`at "adn", character 5: expected "and" or "or"`,
		},
		"a=1 and": {
			"       ^ expected key=value",
			"at the end: expected key=value",
		},
		"a=1 and or b=2": {
			"        ^^ expected key=value",
			`at "or", character 9: expected key=value`,
		},
		"a=": {
			"^^ expected key=value",
			`at "a=", character 1: expected key=value`,
		},
		"(a=1 or b=2": {
			"           ^ expected \"and\", \"or\" or \")\"",
			`at the end: expected "and", "or" or ")"`,
		},
		"a=1) or b=2": {
			"   ^ expected \"and\" or \"or\"",
			`at ")", character 4: expected "and" or "or"`,
		},
		"name=日本 and\tbad=本": {
			"           \t^^^^^ no such key",
			`at "bad=本", character 13: no such key`,
		},
		"": {
			"^ expected key=value",
			"at the end: expected key=value",
		},
	} {
		_, err := tree.Parse(text)
		var mistake Error
		if !errors.As(err, &mistake) {
			t.Errorf("%q: got error %v, want an Error", text, err)
			continue
		}
		if got := mistake.Pointer(); got != want.pointer {
			t.Errorf("%q: got pointer\n%s\nwant\n%s", text, got, want.pointer)
		}
		if got := err.Error(); got != want.line {
			t.Errorf("%q: got error\n%s\nwant\n%s", text, got, want.line)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "a=1", "a=1 and (b=2 or c=3)", "((((", "a=1 adn b=2", ") and a=", "bad=\xff or 日=本"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := tree.Parse(text)
		if err == nil {
			// A tree that is written out means the same as what it was read from.
			if again, err := tree.Parse(got); err != nil || again != got {
				t.Errorf("%q was read as %q, and that as %q with error %v", text, got, again, err)
			}
			return
		}
		var mistake Error
		if !errors.As(err, &mistake) {
			t.Fatalf("%q: got error %v, want an Error", text, err)
		}
		if !strings.HasPrefix(text, mistake.Before+mistake.Word) {
			t.Errorf("%q: the error is at %q after %q, which is not in it", text, mistake.Word, mistake.Before)
		}
		if mistake.Word == "" && mistake.Before != text {
			t.Errorf("%q: the error has no word, but is not at the end", text)
		}
		if utf8.ValidString(text) && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the error has more than one line: %v", text, err)
		}
	})
}

func newPrompt(out io.Writer) *Prompt[string] {
	return &Prompt[string]{Language: tree, Out: program.NewPrinter(out), Answer: func(query string) error {
		if query == "fatal=1" {
			return errors.New("fatal")
		}
		_, err := fmt.Fprintf(out, "ANSWER     %s\n", query)
		return err
	}}
}

func TestPromptFromAPipe(t *testing.T) {
	var out bytes.Buffer
	err := newPrompt(&out).Run(t.Context(), strings.NewReader("a=1\n\n  \na=1 adn b=2\nb=2"))
	if err != nil {
		t.Errorf("run: %v", err)
	}
	want := `QUERY      a=1
ANSWER     a=1
QUERY      a=1 adn b=2
               ^^^ expected "and" or "or"
QUERY      b=2
ANSWER     b=2
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

// TestPromptSkipsALineThatIsTooLong has lines around the limit, with and without an end, and one that is much longer.
func TestPromptSkipsALineThatIsTooLong(t *testing.T) {
	const short = "QUERY      b=2\nANSWER     b=2\n"
	for length, tooLong := range map[int64]bool{
		maxQuery - 1: false, maxQuery: false, maxQuery + 1: true, maxQuery + 2: true, maxQuery + 3: true,
		2*maxQuery + 3: true, 2*maxQuery + 4: true, 2*maxQuery + 5: true, 1 << 24: true,
	} {
		for end, after := range map[string]string{"\nb=2\n": short, "\r\nb=2": short, "\n": "", "": ""} {
			t.Run(fmt.Sprintf("%d bytes, then %q", length, end), func(t *testing.T) {
				line := io.MultiReader(strings.NewReader("a="), io.LimitReader(endless("日"), length-2))
				var out bytes.Buffer
				in := io.MultiReader(strings.NewReader("b=2\n"), line, strings.NewReader(end))
				if err := newPrompt(&out).Run(t.Context(), in); err != nil {
					t.Errorf("run: %v", err)
				}
				got, isThere := strings.CutSuffix(strings.TrimPrefix(out.String(), short), after)
				query, answer, _ := strings.Cut(got, "\n")
				if tooLong {
					isThere = isThere && query == "QUERY      a="+strings.Repeat("日", 58)+"..." &&
						answer == "           a query has at most 65536 bytes: shorten it\n"
				} else {
					isThere = isThere && strings.HasPrefix(answer, "ANSWER     a=日") && strings.Count(answer, "\n") == 1
				}
				if !isThere {
					t.Errorf("printed %.300q, %.300q, and not %q after it", query, answer, after)
				}
			})
		}
	}
}

// endless is a text again and again.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	if n == 0 { // in this test, only at the end
		n = copy(p, e)
	}
	return n, nil
}

func TestPromptForAPerson(t *testing.T) {
	var out bytes.Buffer
	p := newPrompt(&out)
	p.Terminal = &out
	if err := p.Run(t.Context(), strings.NewReader("a=1\n")); err != nil {
		t.Errorf("run: %v", err)
	}
	// The person's own a=1 and line break are not in it: the terminal has printed those.
	if want := "QUERY      ANSWER     a=1\nQUERY      \n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestPromptEnds(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		in   io.Reader
		want string // in the error; "" for none
	}{
		"at the end of its input":        {strings.NewReader(""), ""},
		"when its input breaks":          {io.MultiReader(strings.NewReader("a=1\n"), errorReader{broken}), "broken"},
		"when an answer can't be given":  {strings.NewReader("fatal=1\na=1\n"), "fatal"},
		"not at what only looks like it": {strings.NewReader("fatal\nexit\nquit\n"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := newPrompt(io.Discard).Run(ctx, test.in)
			if got := fmt.Sprint(err); !strings.Contains(got, test.want) || (err == nil) != (test.want == "") {
				t.Errorf("got error %v, want %q", err, test.want)
			}
		})
	}
	t.Run("with its context, while no query is typed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			in, typist := io.Pipe()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- newPrompt(io.Discard).Run(ctx, in) }()
			synctest.Wait()
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("run: %v", err)
			}
			typist.Close() // what a terminal never does, but the bubble waits for
		})
	})
}

type errorReader struct{ error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.error }
