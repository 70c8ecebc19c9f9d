package transcript

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// patient is for what must happen. Tests of what must not happen are quicker with less.
var patient = limits{start: 20 * time.Second, output: 20 * time.Second, end: 20 * time.Second, quiet: 300 * time.Millisecond}

// play runs a README's text, without a cluster. An empty folder takes the place of the repository's root.
func play(t *testing.T, text string, limits limits, update bool) (*player, error) {
	t.Helper()
	sections, err := parse(text)
	if err != nil {
		return nil, err
	}
	p := &player{
		readme:    "README.md",
		root:      t.TempDir(),
		hint:      "-update rewrites it",
		update:    update,
		limits:    limits,
		terminals: map[string]*terminal{},
		edits:     map[int]edit{},
	}
	t.Cleanup(p.kill)
	var errs []error
	for _, s := range sections {
		errs = append(errs, p.play(s))
	}
	return p, errors.Join(errs...)
}

// server is a program that runs until it is interrupted. It prints what is in the file "events" as it grows.
const server = `trap 'kill $! 2>/dev/null; echo stopped; exit 0' INT; ` +
	`echo started; touch events; tail -f events & while :; do wait $!; done`

func TestReadmes(t *testing.T) {
	shortOutput, shortEnd := patient, patient
	shortOutput.start, shortEnd.end = 300*time.Millisecond, 300*time.Millisecond
	t.Setenv("KUBECONFIG", "elsewhere")
	t.Setenv("MAKELEVEL", "1")
	t.Setenv("CLUSTER", "kind") // where a node's extra writes are no difference
	tests := map[string]struct {
		readme string
		want   string // part of the error; empty for none
		limits limits // patient, if empty
	}{
		"output as shown": {readme: "```console\n$ echo one; echo two >&2\none\ntwo\n$ echo three\nthree\n```"},
		"a wrong number": {
			readme: "```console\n$ echo 3 pods\n4 pods\n```",
			want:   "README.md:2: it prints something else (- README, + printed):\n",
		},
		"a wrong number shows both lines": {readme: "```console\n$ echo 3 pods\n4 pods\n```", want: `"3 pods"`},
		"a difference says what to do":    {readme: "```console\n$ echo 3 pods\n4 pods\n```", want: "-update rewrites it"},
		"a missing line":                  {readme: "```console\n$ echo one\none\ntwo\n```", want: `"two"`},
		"an extra line":                   {readme: "```console\n$ echo one; echo two\none\n```", want: `"two"`},
		"an extra write by the node": {
			readme: "```console\n$ echo one; echo 'MODIFIED a: status.conditions, by kubelet'; echo two\none\ntwo\n```",
		},
		"a write by the node that is missing": {
			readme: "```console\n$ echo one\none\nMODIFIED a: status.conditions, by kubelet\n```",
			want:   `"MODIFIED`,
		},
		"any lines, then a write by the node": {
			readme: "```console\n$ echo 'MODIFIED a: status.conditions, by kubelet'\n...\nMODIFIED a: status.conditions, by kubelet\n```",
		},
		"no output where some is shown": {readme: "```console\n$ true\none\n```", want: `"one"`},
		"output where none is shown":    {readme: "```console\n$ echo one\n```", want: `"one"`},
		"no newline at the end":         {readme: "```console\n$ printf one\none\n$ echo two\ntwo\n```"},
		"one shell for a block":         {readme: "```console\n$ cd /; word=hello\n$ echo $word $PWD\nhello /\n```"},
		"another shell for the next":    {readme: "```console\n$ word=hello\n```\n```console\n$ echo -$word-\n--\n```"},
		"a continued command":           {readme: "```console\n$ echo one \\\n  two\none two\n```"},
		"a failure": {
			readme: "```console\n$ sh -c 'exit 2'\n$ echo one\none\n```",
			want:   "README.md:2: it fails with exit code 2",
		},
		"a failure that is meant": {readme: "```console\n$ sh -c 'exit 2'\n$ echo $?\n2\n```"},
		"the wrong failure":       {readme: "```console\n$ sh -c 'exit 3'\n$ echo $?\n2\n```", want: `"3"`},
		"a command that ends the shell": {
			readme: "```console\n$ echo one; exit 0\none\n$ echo two\ntwo\n```",
			want:   "README.md:2: its shell ends here",
		},
		"a command that hangs":     {readme: "```console\n$ sleep 60\n```", want: "not within 300ms", limits: shortOutput},
		"any lines":                {readme: "```console\n$ seq 9\n1\n...\n5\n...\n9\n```"},
		"any lines, also none":     {readme: "```console\n$ seq 2\n...\n1\n...\n2\n...\n```"},
		"any lines, but the last":  {readme: "```console\n$ seq 9\n1\n...\n5\n```", want: `"9"`},
		"any order":                {readme: "```console unordered\n$ seq 3\n3\n1\n2\n```"},
		"any order, one missing":   {readme: "```console unordered\n$ seq 2\n3\n1\n2\n```", want: `"3"`},
		"any order, one too often": {readme: "```console unordered\n$ seq 2; echo 2\n2\n1\n```", want: `"2"`},
		"any order, others too":    {readme: "```console unordered\n$ seq 9\n7\n3\n...\n```"},
		"other blocks are not run": {readme: "```go\n$ exit 1\n```\n```\n# not a heading\n$ exit 1\n```"},
		"paths in the repository":  {readme: "```console\n$ pwd\n~/client-go-workbook\n```"},
		"a slow machine":           {readme: "```console\n$ echo 'Waiting for pods, 61 seconds so far.'; echo one\none\n```"},
		"the environment":          {readme: "```console\n$ echo -$KUBECONFIG-$MAKELEVEL-$KUBERC-\n---off-\n```"},

		"a terminal that ends by itself": {readme: "```console 1\n$ echo one\none\n```"},
		"two commands in a terminal":     {readme: "```console 1\n$ echo one\none\n$ echo two\ntwo\n```"},
		"a failure before a command": {
			readme: "```console 1\n$ exit 3\n$ echo two\ntwo\n```",
			want:   "README.md:3: the command before it in this terminal: exit status 3",
		},
		"a failure in a terminal": {readme: "```console 1\n$ echo one; exit 3\none\n```", want: "README.md:2: exit status 3"},
		"a terminal that runs on": {
			readme: "```console 1\n$ " + server + "\nstarted\n```\n" +
				"```console 2\n$ echo one >>events\n```\n" +
				"```console 1\none\n^C\nstopped\n```",
		},
		"two terminals that run on": {
			readme: "```console 1\n$ " + server + "\nstarted\n```\n" +
				"```console 2\n$ touch events; tail -f events\n```\n" +
				"```console\n$ echo one >>events\n```\n" +
				"```console 1\none\n```\n" +
				"```console 2\none\n```",
		},
		"events in any order": {
			readme: "```console 1\n$ " + server + "\nstarted\n```\n" +
				"```console\n$ seq 3 >>events\n```\n" +
				"```console 1 unordered\n2\n3\n1\n^C\nstopped\n```",
		},
		"a wrong line in a terminal": {readme: "```console 1\n$ echo one\n2\n```", want: "README.md:2: it prints something else"},
		"an extra line in a terminal": {
			readme: "```console 1\n$ echo one; echo two; sleep 60\none\n```",
			want:   "README.md:2: it prints more",
		},
		"an extra line between blocks": {
			readme: "```console 1\n$ " + server + "\nstarted\n```\n" +
				"```console\n$ seq 2 >>events\n```\n" +
				"```console 1\n2\n```",
			want: "README.md:9: it prints something else",
		},
		"extra lines where any may come": {
			readme: "```console 1\n$ " + server + "\nstarted\n...\n```\n" +
				"```console\n$ seq 9 >>events\n```\n" +
				"```console 1\n5\n...\n^C\nstopped\n```",
		},
		"a program that ends early": {
			readme: "```console 1\n$ echo one\none\ntwo\n```",
			want:   "it does not print all of it (exit status 0",
		},
		"a program that ends before ^C": {
			readme: "```console 1\n$ echo one\none\n```\n```console\n$ sleep 0.2\n```\n```console 1\n^C\n```",
			want:   "the command has ended before it (exit status 0)",
		},
		"a program that never prints": {
			readme: "```console 1\n$ exec sleep 60\none\n```",
			want:   "it does not print all of it (still running, after at most 300ms)",
			limits: shortOutput,
		},
		"a program that ^C kills": {readme: "```console 1\n$ echo one; exec sleep 60\none\n^C\n```", want: "signal: interrupt"},
		"a program that ^C makes fail": {
			readme: "```console 1\n$ trap 'exit 1' INT; echo one; while :; do sleep 0.1; done\none\n^C\n```",
			want:   "exit status 1",
		},
		"a program that says more at ^C": {readme: "```console 1\n$ " + server + "\nstarted\n^C\n```", want: `"stopped"`},
		"a program that ignores ^C": {
			readme: "```console 1\n$ trap '' INT; echo one; while :; do sleep 0.1; done\none\n^C\n```",
			want:   "README.md:4: it does not end within 300ms after ^C",
			limits: shortEnd,
		},
		"a program that ignores the end": {
			readme: "# A\n```console 1\n$ trap '' INT; echo one; while :; do sleep 0.1; done\none\n```\n# B\n",
			want:   "README.md:3: it does not end within 300ms after ^C",
			limits: shortEnd,
		},
		"processes left behind": {
			readme: "```console 1\n$ sleep 60 >/dev/null 2>&1 & echo one\none\n```",
			want:   "README.md:2: it leaves processes behind",
			limits: shortEnd,
		},
		"a program that is paused": {
			readme: "```console 1\n$ echo one; sleep 0.2; echo two\none\n^Z\n```\n```console 1\ntwo\n```",
			want:   "README.md:7: it does not print all of it (still running",
			limits: shortOutput,
		},
		"a program that continues": {
			readme: "```console 1\n$ echo one; sleep 0.2; echo two; exit 3\none\n^Z\n```\n" +
				"```console\n$ sleep 0.4\n```\n```console 1\n$ fg\ntwo\n$ echo $?\n3\n```",
		},
		"another exit code": {readme: "```console 1\n$ exit 3\n$ echo $?\n0\n```", want: "README.md:3: it prints something else"},
		"a pause after the end": {
			readme: "```console 1\n$ echo one\none\n```\n```console\n$ sleep 0.2\n```\n```console 1\n^Z\n```",
			want:   "README.md:9: the command has ended before it (exit status 0)",
		},
		"a command while another runs": {
			readme: "```console 1\n$ sleep 60\n$ echo one\none\n```",
			want:   "README.md:3: the command before it still runs",
			limits: shortOutput,
		},
		"a terminal where nothing runs": {readme: "```console 1\none\n```", want: "README.md:2: nothing runs in terminal 1"},
		"a terminal in subsections": {
			readme: "## A\n```console 1\n$ " + server + "\nstarted\n```\n" +
				"### B\n```console\n$ echo one >>events\n```\n" +
				"### C\n```console 1\none\n```",
		},
		"a terminal ends with its section": {
			readme: "## A\n```console 1\n$ " + server + "\nstarted\n```\n## B\n```console 1\none\n```",
			want:   "README.md:8: nothing runs in terminal 1",
		},

		"output before a command": {readme: "\n```console\none\n```", want: "3: only a terminal"},
		"^C without a terminal":   {readme: "```console\n$ sleep 60\n^C\n```", want: "3: only a terminal"},
		"an unknown word":         {readme: "```console one\n```", want: `1: unknown word "one"`},
		"an indented block":       {readme: "1. Do\n   ```console\n   $ true\n   ```", want: "2: an indented console block"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.limits == (limits{}) {
				test.limits = patient
			}
			_, err := play(t, test.readme, test.limits, false)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got error %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestMakeEndsWellAfterInterrupt(t *testing.T) {
	makefile := "p:\\n\\t@trap \"echo stopped; exit 0\" INT; echo started; while :; do sleep 0.1; done\\n"
	readme := "```console\n$ printf '" + makefile + "' >Makefile\n```\n```console 1\n$ make p\nstarted\n^C\nstopped\n```"
	_, err := play(t, readme, patient, false)
	if err != nil {
		t.Error(err)
	}
}

func TestEverySectionRunsAfterOneFails(t *testing.T) {
	_, err := play(t, "# A\n```console\n$ echo 1\n2\n```\n# B\n```console\n$ echo 3\n4\n```", patient, false)
	if err == nil || !strings.Contains(err.Error(), "README.md:3:") || !strings.Contains(err.Error(), "README.md:8:") {
		t.Errorf("got %v, want errors for lines 3 and 8", err)
	}
}

func TestUpdate(t *testing.T) {
	tests := map[string]struct{ before, after string }{
		"what is right stays": {
			before: "```console\n$ seq 3\n1\n...\n$ echo took 5ms\ntook 7ms\n```\n",
			after:  "```console\n$ seq 3\n1\n...\n$ echo took 5ms\ntook 7ms\n```\n",
		},
		"what is wrong is replaced": {
			before: "a\n```console\n$ seq 3\n1\n$ echo 2\n3\n4\n```\nb\n",
			after:  "a\n```console\n$ seq 3\n1\n2\n3\n$ echo 2\n2\n```\nb\n",
		},
		"what is missing is filled in": {
			before: "```console 1\n$ " + server + "\n```\n```console\n$ seq 2 >>events\n```\n```console 1\n9\n^C\n```\n",
			after: "```console 1\n$ " + server + "\nstarted\n```\n" +
				"```console\n$ seq 2 >>events\n```\n```console 1\n1\n2\n^C\nstopped\n```\n",
		},
		"what is too little is completed": {
			before: "```console 1\n$ seq 2\n1\n```\n",
			after:  "```console 1\n$ seq 2\n1\n2\n```\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := play(t, test.before, patient, true)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, rewrite(test.before, p.edits)); diff != "" {
				t.Errorf("the README is not as expected (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMask(t *testing.T) {
	tests := map[string][]string{ // lines that must be the same masked
		"resourceVersions":  {"at resourceVersion 7", "at resourceVersion 812", "at resourceVersion 15014"},
		"of an error":       {"too old resource version: 816 (821): listing", "too old resource version: 16792 (20148): listing"},
		"in a query":        {"GET /pods?resourceVersion=276&watch=true", "GET /pods?resourceVersion=4711&watch=true"},
		"in YAML":           {`resourceVersion: "245"`, `resourceVersion: "9000"`},
		"after a version":   {"resuming after 276", "resuming after 15014"},
		"a watch's timeout": {"timeoutSeconds=301&watch=true", "timeoutSeconds=599&watch=true"},
		"durations":         {"took 7ms", "took 1.25s", "took 2m3s", "took 850µs"},
		"sizes":             {"523 bytes", "4106 bytes", "4.1 kB", "12MiB"},
		"times":             {"at 14:03:59", "at 2026-11-20T09:41:21Z", "at 2026-11-20 09:41:21.123 +0000", "at 2026-11-20"},
		"ports":             {"server https://127.0.0.1:32716", "server https://127.0.0.1:443"},
		"UUIDs":             {"99763c8b-c43a-4d2b-87dd-a1430ca1dc84", "00063c8b-c43a-4d2b-87dd-a1430ca1dc84"},
		"pods":              {"nginx-deployment-7dc6dfb96b-fml76 is", "nginx-deployment-7dc6dfb96b-x7k2p is"},
		"temporary files":   {"wrote /tmp/go-build12/a.out.", "wrote /tmp/x"},
		"klog's header":     {"I1120 14:17:59.123456   12345 main.go:42] hello", "I1121 01:02:03.000000 7 main.go:7] hello"},
		"columns":           {"nginx-1   1/1   Running   0   5s", "nginx-1  1/1  Running  0  12m  "},
		"versions":          {"Kubernetes v1.37.1", "Kubernetes v1.37.0"},
		"a pod's end":       {"DELETED    nginx/web resourceVersion 7 Running", "DELETED    nginx/web resourceVersion 812 Succeeded"},
	}
	for name, lines := range tests {
		for _, line := range lines[1:] {
			if a, b := mask(lines[0]), mask(line); a != b {
				t.Errorf("%s: %q is masked as %q, but %q as %q", name, lines[0], a, line, b)
			}
		}
	}

	// Numbers that have a meaning.
	for _, line := range []string{
		"410 Gone", "HTTP 429", "after 3 event(s)", "from 3 to 5 replicas", "page 2 of 20, 500 objects",
		"nginx-1", "nginx-deployment", "v1alpha1", "1/1 Running 0", "exit status 2", "#3 GET /api/v1/namespaces/nginx/pods?limit=500",
		"node-000000", "nginx:1.28", "E2E 5 m", "MODIFIED nginx/web Failed",
	} {
		if got := mask(line); got != line {
			t.Errorf("%q is masked as %q", line, got)
		}
	}
}
