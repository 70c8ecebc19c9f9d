package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/test/testkit"
)

// A surrounding is what a reader's machine has set, for other reasons than the workbook.
type surrounding struct {
	env []string
	// doctor is what make doctor says to correct, if anything: the scripts work nevertheless, a command that the reader types does not.
	doctor string
	// within is a command that sets what no variable can, and runs its arguments.
	within []string
}

// surroundings are of kinds: the shell's variables, make's, git's configuration, go's settings, kubectl's, the network's.
func surroundings(t *testing.T) map[string]surrounding {
	folder := t.TempDir()
	file := func(name, text string) string {
		write(t, filepath.Join(folder, name), text)
		return filepath.Join(folder, name)
	}
	all := map[string]surrounding{
		"shell": {env: []string{
			"CDPATH=.:/tmp:" + folder, "GLOBIGNORE=*", "POSIXLY_CORRECT=1", "GREP_OPTIONS=--color=always", "TMOUT=1",
			"SHELLOPTS=noclobber:noglob:nounset:errexit", "BASHOPTS=failglob:dotglob:nocasematch", "BASH_FUNC_grep%%=() { echo mine; }",
			"BASH_ENV=" + file("profile", "cd() { echo mine; builtin cd \"$@\"; }\nset -o noglob\nshopt -s nullglob\necho hello >&2\n"),
		}},
		"make": {env: []string{"MAKEFLAGS=-j4 -O -e", "N=7", "ARGS=--nonsense", "words=9"}},
		"git": {env: []string{"GIT_DIR=" + folder, "GIT_EXTERNAL_DIFF=false", "GIT_CONFIG_GLOBAL=" + file("gitconfig",
			"[diff]\nexternal = false\nnoprefix = true\n[color]\nui = always\n[core]\nautocrlf = true\npager = false\n[status]\nbranch = true\n")}},
		"go": {env: []string{"GOENV=" + file("goenv", "GOOS=plan9\nGOARCH=arm64\nGO111MODULE=off\nGOFLAGS=-mod=vendor\n")},
			doctor: "go run"},
		"GOROOT":  {env: []string{"GOROOT=/nonexistent"}, doctor: "Go"},
		"go.work": {env: []string{"GOWORK=" + file("go.work", "go 1.26\n\nuse ./other\n")}, doctor: "go run"},
		"proxy": {env: []string{"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "ALL_PROXY=http://127.0.0.1:9",
			"http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9"}},
		"pod": {env: []string{"KUBERNETES_SERVICE_HOST=10.0.0.1", "KUBERNETES_SERVICE_PORT=443", "KUBECONFIG=:/nonexistent/config",
			"LANG=zh_CN.UTF-8", "LC_ALL=tr_TR.UTF-8"}},
		"few open files": {within: []string{"bash", "-c", `ulimit -Sn 256 && exec "$@"`, "bash"}},
	}
	file("other/go.mod", "module example.com/other\n\ngo 1.26\n")
	var everything surrounding
	for _, one := range all {
		everything.env = append(everything.env, one.env...)
	}
	everything.doctor = "Go"
	all["everything"] = everything
	return all
}

// inSurroundings runs what a reader runs, in each of them: it does what it does where nothing is set.
func inSurroundings(t *testing.T, c *cluster) {
	root := exerciseWorkbook(t)
	small := []string{"make", "-C", root, "-s", "--no-print-directory"}
	whole := []string{"make", "-C", "..", "-s", "--no-print-directory"}
	// same print the same each time; the first ones run once, with everything set.
	same := [][]string{
		append(whole, "help"), append(whole, "diff", "2"), append(whole, "cluster-status"), append(small, "progress"),
		{"./kubectl", "get", "namespace", "nginx", "-o", "name"}, {"./doctor.sh"},
	}
	const once = 4
	others := map[string][]string{
		"SYNCED":         append(whole, "chapter", "1", "ARGS=--namespace nginx --duration 1s"),
		"not solved 1.1": append(small, "exercise", "1.1"),
	}
	run := func(t *testing.T, s surrounding, words []string) result {
		t.Helper()
		words = append(s.within, words...)
		unpinned := []string{"GO111MODULE=", "GOARCH=", "GOFLAGS=", "GOOS=", "GOWORK="} // as before make test, which pins them
		return run(t, slices.Concat(c.env, unpinned, s.env), words[0], words[1:]...)
	}
	c.run(t, "./apply-samples.sh", "1")
	plain := make([]result, len(same))
	for i, words := range same {
		if plain[i] = run(t, surrounding{}, words); plain[i].code != 0 {
			t.Fatalf("%q: %+v", words, plain[i])
		}
	}
	for name, s := range surroundings(t) {
		t.Run(name, func(t *testing.T) {
			for i, words := range same {
				if i < once && name != "everything" {
					continue
				}
				got, want := run(t, s, words), plain[i]
				if words[0] == "./doctor.sh" {
					got.stdout, want.stdout, want.code = toCorrect(got.stdout), s.doctor, min(1, len(s.doctor))
				}
				if got.stdout != want.stdout || got.code != want.code {
					t.Errorf("%q: got %+v, want %+v", words, got, want)
				}
			}
			for text, words := range others {
				if got := run(t, s, words); got.code != 0 || !strings.Contains(got.stdout, text) {
					t.Errorf("%q: got %+v, want %q", words, got, text)
				}
			}
			typed := []string{"go", "run", "../01-listwatch", "--kubeconfig", filepath.Join(c.folder, "kubeconfig"), "--duration", "1s"}
			if got := run(t, s, typed); (got.code == 0) != (s.doctor == "") {
				t.Errorf("%q: got %+v, and make doctor says to correct %q", typed, got, s.doctor)
			}
		})
	}
}

// toCorrect returns what make doctor says to correct.
func toCorrect(said string) string {
	var subjects []string
	for _, line := range regexp.MustCompile(`(?m)^FIX   (.*?):`).FindAllStringSubmatch(said, -1) {
		subjects = append(subjects, line[1])
	}
	return strings.Join(subjects, ", ")
}

// TestWhatDoctorCorrectsFails breaks one thing after the other. make doctor says which, and what needs it fails by the same cause.
func TestWhatDoctorCorrectsFails(t *testing.T) {
	testkit.All(t, "breaks what a reader's machine has, and runs what needs it")
	t.Parallel()
	folder := t.TempDir()
	root := exerciseWorkbook(t)
	for _, chapter := range []string{"01-listwatch", "02-informer"} {
		write(t, filepath.Join(root, chapter, "main.go"), "package main\n\nfunc main() {}\n")
	}
	script := func(name string, arguments ...string) []string {
		return append([]string{filepath.Join(root, "scripts", name)}, arguments...)
	}
	goTest := []string{"go", "test", "-C", root, "./internal/exercise/manifest"}
	noexec, readOnly := t.TempDir(), t.TempDir()
	mount(t, "-t", "tmpfs", "-o", "noexec", "none", noexec)
	mount(t, "-t", "tmpfs", "-o", "ro", "none", readOnly)
	write(t, filepath.Join(folder, "go.work"), "go 1.26\n\nuse ./other\n")
	write(t, filepath.Join(folder, "other", "go.mod"), "module example.com/other\n\ngo 1.26\n")
	goMod := testkit.Must(os.ReadFile(filepath.Join(root, "go.mod")))(t)
	goMod = regexp.MustCompile(`(?m)^go .*`).ReplaceAll(goMod, []byte("go 1.99"))
	newer := exerciseWorkbook(t)
	write(t, filepath.Join(newer, "go.mod"), string(goMod))

	modules := strings.TrimPrefix(goCaches(t)[1], "GOMODCACHE=")
	if err := os.Symlink(modules, filepath.Join(root, "modules")); err != nil {
		t.Fatal(err)
	}
	// A machine that lacks one program. It has the C compiler of this one, without which go would compile all once more.
	without := func(name string) []string {
		path := bare(t, name)
		if compiler, err := exec.LookPath("gcc"); err == nil {
			if err := os.Symlink(compiler, filepath.Join(path, "gcc")); err != nil {
				t.Fatal(err)
			}
		}
		return []string{"PATH=" + path}
	}
	for _, test := range []struct {
		env     []string
		correct string   // what make doctor says to correct
		command []string // what fails
		cause   string   // in what it prints
	}{
		{without("go"), "Go", script("exercise.sh", "grade", "1.1"), "not found"},
		{without("git"), "git", script("diff.sh", "2"), "git: command not found"},
		{without("cksum"), "programs", script("cluster.sh", "status"), "cksum: command not found"},
		{[]string{fakes(t, map[string]string{"git": "echo xcrun: error: invalid active developer path >&2; exit 1"})}, "git",
			script("diff.sh", "2"), "invalid active developer path"},
		{[]string{"GOROOT=/nonexistent"}, "Go", goTest, "cannot find GOROOT"},
		{[]string{"GOOS=plan9"}, "go run", goTest, "exec format error"},
		{[]string{"GOWORK=" + filepath.Join(folder, "go.work")}, "go run", goTest, "go.work"},
		{[]string{"GO111MODULE=off"}, "go run", goTest, "cannot find package"},
		{[]string{"TMPDIR=/nonexistent"}, "go run, go test", goTest, "/nonexistent"},
		{[]string{"TMPDIR=" + noexec}, "go test", goTest, "permission denied"},
		{[]string{"GOTMPDIR=" + noexec}, "go test", goTest, "permission denied"},
		{[]string{"GOMODCACHE=" + filepath.Join(folder, "none"), "GOPROXY=off"}, "go modules",
			script("exercise.sh", "grade", "1.1"), "GOPROXY=off"},
		{[]string{"GOMODCACHE=" + filepath.Join(root, "modules")}, "GOMODCACHE", nil, ""},
		{[]string{"CLUSTER_DIR=" + filepath.Join(noexec, "c")}, "disk", nil, ""},
		{[]string{"CLUSTER_DIR=" + filepath.Join(readOnly, "c")}, "disk", script("cluster.sh", "up"), "read-only file system"},
		{[]string{"XDG_CACHE_HOME=" + filepath.Join(readOnly, "c")}, "disk", script("cluster.sh", "up"), "set XDG_CACHE_HOME"},
	} {
		env := append(goCaches(t), "GOFLAGS=", "CLUSTER=local", "CLUSTER_DIR="+filepath.Join(folder, "cluster"))
		env = append(env, test.env...)
		if got := run(t, env, script("doctor.sh")[0]); toCorrect(got.stdout) != test.correct || got.code != 1 {
			t.Errorf("%q: make doctor says %+v, want to correct %s", test.env, got, test.correct)
		}
		if test.command == nil {
			continue
		}
		if got := run(t, env, test.command[0], test.command[1:]...); !strings.Contains(got.stdout+got.stderr, test.cause) {
			t.Errorf("%q: %q: got %+v, want %q", test.env, test.command, got, test.cause)
		}
	}
	old := append(goCaches(t), "GOTOOLCHAIN=local", "CLUSTER=local")
	if got := run(t, old, filepath.Join(newer, "scripts", "doctor.sh")); !strings.HasPrefix(toCorrect(got.stdout), "Go 1") {
		t.Errorf("make doctor: %+v", got)
	}
	got := run(t, old, filepath.Join(newer, "scripts", "cluster.sh"), "status")
	if !strings.Contains(got.stderr, "go.mod requires go >= 1.99") {
		t.Errorf("make cluster-status: %+v", got)
	}
}

// On Windows, git writes files with carriage returns, unless the repository says otherwise. WSL reads that configuration.
func TestACheckoutOfGitForWindowsRuns(t *testing.T) {
	if _, err := os.Stat("../.git"); err != nil {
		t.Skip("this is no clone")
	}
	clone := filepath.Join(t.TempDir(), "clone")
	command := exec.Command("git", "-c", "core.autocrlf=true", "clone", "-q", "--shared", "..", clone)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	got := run(t, nil, filepath.Join(clone, "scripts", "chapter.sh"), "9")
	if got.code != 2 || !strings.HasPrefix(got.stderr, "There is no chapter 9.") {
		t.Errorf("chapter.sh 9: %+v", got)
	}
}
