package scripts_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestMakePassesOnNumberAndArguments runs the Makefile where every script only prints its name and its
// arguments. What is no number is refused.
func TestMakePassesOnNumberAndArguments(t *testing.T) {
	root := workbook(t)
	for _, script := range []string{"chapter.sh", "diff.sh", "apply-samples.sh", "cluster-down.sh", "exercise.sh"} {
		write(t, filepath.Join(root, "scripts", script), "#!/bin/sh\nprintf "+script+"\nprintf '<%s>' \"$@\"\n")
	}
	for name, test := range map[string]struct {
		goals  []string
		stdout string // empty if nothing must run
	}{
		"a number":       {[]string{"chapter", "1"}, "chapter.sh<1>"},
		"as a variable":  {[]string{"chapter", "N=1"}, "chapter.sh<1>"},
		"with arguments": {[]string{"chapter", "1", "ARGS=--namespace nginx"}, "chapter.sh<1><--namespace><nginx>"},
		"with quoted spaces": {
			[]string{"chapter", "N=2", `ARGS=--selector 'app in (a, b)' -x "c d"`}, "chapter.sh<2><--selector><app in (a, b)><-x><c d>",
		},
		"a number that is a file, too": {[]string{"chapter", "Makefile"}, "chapter.sh<Makefile>"},
		"a number for diff":            {[]string{"diff", "2"}, "diff.sh<2>"},
		"a number for picture":         {[]string{"picture", "4"}, "chapter.sh<4><--picture><127.0.0.1:18004>"},
		"a number with a zero":         {[]string{"picture", "04"}, "chapter.sh<04><--picture><127.0.0.1:18004>"},
		"many pods":                    {[]string{"samples", "3", "PODS=3000"}, "apply-samples.sh<--pods><3000><3>"},
		"a quote for many pods":        {[]string{"samples", "3", `PODS=1';"id"`}, `apply-samples.sh<--pods><1';"id"><3>`},
		"an exercise":                  {[]string{"hint", "2.3"}, "exercise.sh<hint><2.3>"},
		"an exercise to watch":         {[]string{"watch", "2.3"}, "exercise.sh<watch><2.3>"},
		"a prediction":                 {[]string{"exercise", "1.a"}, "exercise.sh<grade><1.a>"},
		"a command as an answer":       {[]string{"exercise", "1.A", `ANSWER=";id`}, `exercise.sh<grade><1.A><";id>`},
		"force":                        {[]string{"solution", "2.3", "FORCE=1"}, "exercise.sh<solution><--force><2.3>"},
		"a semicolon":                  {[]string{"chapter", "1;touch made"}, ""},
		"a semicolon without a space":  {[]string{"chapter", "1;id"}, "chapter.sh<1;id>"},
		"a function of make":           {[]string{"chapter", "$(error)"}, "chapter.sh<$(error)>"},
		"a colon":                      {[]string{"chapter", "a:b"}, "chapter.sh<a:b>"},
		"a quote":                      {[]string{"chapter", "1'id"}, ""},
		"a quote, as a variable":       {[]string{"chapter", "N=1'id"}, ""},
		"a command between quotes":     {[]string{"samples", "1';id;'"}, ""},
		"a second target":              {[]string{"chapter", "1", "cluster-down"}, ""},
		"a target":                     {[]string{"chapter", "cluster-down"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, nil, "make", append([]string{"-C", root, "-s", "--no-print-directory"}, test.goals...)...)
			if test.stdout != "" {
				if got != (result{test.stdout, "", 0}) {
					t.Errorf("got %+v, want %q", got, test.stdout)
				}
				return
			}
			want := "takes one word, the number of a chapter: make " + test.goals[0] + " 2"
			if got.stdout != "" || got.code == 0 || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, want) {
				t.Errorf("got %+v, want one line that says what to write", got)
			}
		})
	}
}
