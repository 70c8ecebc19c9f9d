package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// files are a module with tests that pass, skip and log.
var files = map[string]string{
	"go.mod":           "module example.com/client-go-workbook\n\ngo 1.26\n",
	"01-one/one.go":    "package one\n",
	"01-one/a_test.go": "package one\n\nimport (\"os\"; \"testing\")\n\nfunc TestA(t *testing.T) { os.Stderr.WriteString(\"noise\\n\") }\n",
	"01-one/b/b_test.go": `package b

import "testing"

func TestB(t *testing.T) {
	t.Run("one", func(t *testing.T) { t.Log("noise") })
	t.Run("two", func(t *testing.T) { t.Skip("not here") })
}
`,
	"internal/c/c_test.go": "package c\n\nimport \"testing\"\n\nfunc TestC(t *testing.T) {}\n",
}

// tests runs the tests of such a module with other files beside them, and returns what is printed.
func tests(t *testing.T, others map[string]string, arguments ...string) (string, error) {
	t.Helper()
	root := t.TempDir()
	for _, all := range []map[string]string{files, others} {
		for name, text := range all {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Chdir(root)
	t.Setenv("CLUSTER", "local")
	t.Setenv("WORKBOOK_TESTS", "")
	shown, err := os.Create(filepath.Join(t.TempDir(), "progress"))
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	var out bytes.Buffer
	err = run(t.Context(), &out, shown, 3, root, append(arguments, "./..."))
	return out.String(), err
}

func TestGreenIsALineForEachChapter(t *testing.T) {
	got, err := tests(t, nil)
	want := regexp.MustCompile(`^ok  01-one    2 packages  3 tests  \d:\d\d
ok  the rest  1 packages  1 tests  \d:\d\d
3 packages, \d:\d\d
4 passed, 0 failed, 1 skipped
CPU: \d+ s for tests, 0 s for clusters; besides the shared one, tests made 0 clusters
make test-all was green: never yet on this machine
$`)
	if err != nil || !want.MatchString(got) {
		t.Errorf("got error %v and\n%swant\n%s", err, got, want)
	}
	if lastRun("test-seconds") == 0 {
		if _, err := os.Stat("test-seconds"); err != nil {
			t.Error(err)
		}
	}
}

func TestRedIsWhatHasFailedAlone(t *testing.T) {
	got, err := tests(t, map[string]string{
		"02-two/two_test.go": `package two

import ("os"; "testing")

func TestQuiet(t *testing.T) { os.Stderr.WriteString("noise\n") }

func TestWrong(t *testing.T) {
	t.Run("good", func(t *testing.T) { t.Log("noise") })
	t.Run("it's bad", func(t *testing.T) { t.Log("a reason"); t.Error("two is not three") })
}
`,
		"03-three/three_test.go": "package three\n\nimport \"testing\"\n\nfunc TestPanic(t *testing.T) { panic(\"no such thing\") }\n",
		"04-four/four_test.go":   "package four\n\nfunc init() { undefinedName() }\n",
		"05-five/five_test.go": "package five\n\nimport (\"os\"; \"testing\")\n\n" +
			"func TestMain(m *testing.M) { println(\"no cluster\"); os.Exit(3) }\n",
	})
	if err == nil {
		t.Error("it returns no error")
	}
	for _, want := range []string{
		"FAIL 02-two TestWrong/it's_bad\n     alone: make test ARGS='./02-two -run ^TestWrong$$/^it.s_bad$$'\n",
		"a reason\n", "two is not three\n",
		"FAIL 03-three TestPanic\n", "no such thing",
		"four_test.go:3:15: undefined: undefinedName\n", "FAIL 04-four \n",
		"FAIL 05-five \n", "no cluster\n",
		" 1 skipped\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in what it prints", want)
		}
	}
	for _, other := range []string{"noise", "ok ", "TestQuiet", "=== RUN"} {
		if strings.Contains(got, other) {
			t.Errorf("%q is in what it prints", other)
		}
	}
	if t.Failed() {
		t.Logf("it prints\n%s", got)
	}
	if _, err := os.Stat("test-seconds"); err == nil {
		t.Error("the time of a red run is kept")
	}
}

func TestInterruptedIsNoSuccess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Chdir(t.TempDir())
	shown, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	var out bytes.Buffer
	if err := run(ctx, &out, shown, 0, ".", []string{"./..."}); err == nil {
		t.Error("it returns no error")
	}
}

func TestOnlyARunOfAllIsEstimated(t *testing.T) {
	for packages, want := range map[int]string{0: "0 packages, 0:00, compiling", 92: "0 of 92 packages, 0:00 of about 4:10, compiling"} {
		if got := newProgress(nil, packages, 250*time.Second).line(); got != want {
			t.Errorf("of %d packages: got %q, want %q", packages, got, want)
		}
	}
}
