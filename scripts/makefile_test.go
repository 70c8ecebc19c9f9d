package scripts_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMakeRefusesWhatIsNoNumber runs the Makefile where every script only prints its arguments.
func TestMakeRefusesWhatIsNoNumber(t *testing.T) {
	root := t.TempDir()
	makefile, err := os.ReadFile("../Makefile")
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "Makefile"), makefile, 0o600)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(root, "scripts"), 0o755)
	}
	for _, script := range []string{"chapter.sh", "diff.sh", "apply-samples.sh", "cluster-down.sh", "exercise.sh"} {
		if err == nil {
			printsArguments := "#!/bin/sh\nprintf " + script + "\nprintf '<%s>' \"$@\"\n"
			err = os.WriteFile(filepath.Join(root, "scripts", script), []byte(printsArguments), 0o755)
		}
	}
	if err != nil {
		t.Fatal(err)
	}

	for name, test := range map[string]struct {
		goals  []string
		stdout string // empty if nothing must run
	}{
		"a number":                    {[]string{"chapter", "1"}, "chapter.sh<1>"},
		"a number for diff":           {[]string{"diff", "2"}, "diff.sh<2>"},
		"a number for picture":        {[]string{"picture", "4"}, "chapter.sh<4><--picture><127.0.0.1:18004>"},
		"a number with a zero":        {[]string{"picture", "04"}, "chapter.sh<04><--picture><127.0.0.1:18004>"},
		"many pods":                   {[]string{"samples", "3", "PODS=3000"}, "apply-samples.sh<--pods><3000><3>"},
		"a quote for many pods":       {[]string{"samples", "3", `PODS=1';"id"`}, `apply-samples.sh<--pods><1';"id"><3>`},
		"an exercise":                 {[]string{"hint", "2.3"}, "exercise.sh<hint><2.3>"},
		"an exercise to watch":        {[]string{"watch", "2.3"}, "exercise.sh<watch><2.3>"},
		"a prediction":                {[]string{"exercise", "1.a"}, "exercise.sh<grade><1.a>"},
		"a command as an answer":      {[]string{"exercise", "1.A", `ANSWER=";id`}, `exercise.sh<grade><1.A><";id>`},
		"force":                       {[]string{"solution", "2.3", "FORCE=1"}, "exercise.sh<solution><--force><2.3>"},
		"a semicolon":                 {[]string{"chapter", "1;touch made"}, ""},
		"a semicolon without a space": {[]string{"chapter", "1;id"}, "chapter.sh<1;id>"},
		"a function of make":          {[]string{"chapter", "$(error)"}, "chapter.sh<$(error)>"},
		"a colon":                     {[]string{"chapter", "a:b"}, "chapter.sh<a:b>"},
		"a quote":                     {[]string{"chapter", "1'id"}, ""},
		"a quote, as a variable":      {[]string{"chapter", "N=1'id"}, ""},
		"a command between quotes":    {[]string{"samples", "1';id;'"}, ""},
		"a second target":             {[]string{"chapter", "1", "cluster-down"}, ""},
		"a target":                    {[]string{"chapter", "cluster-down"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("make", append([]string{"-C", root, "-s", "--no-print-directory"}, test.goals...)...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			stdout, err := cmd.Output()
			if string(stdout) != test.stdout {
				t.Errorf("printed %q, want %q", stdout, test.stdout)
			}
			if test.stdout != "" {
				if err != nil || stderr.Len() > 0 {
					t.Errorf("%v, and stderr %q", err, &stderr)
				}
				return
			}
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Errorf("%v, want an exit code other than 0", err)
			}
			want := "takes one word, the number of a chapter: make " + test.goals[0] + " 2"
			if got := stderr.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
				t.Errorf("stderr %q, want one line that says what to write", got)
			}
		})
	}
}
