package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// check returns what is wrong with a script.
func check(t *testing.T, look func(*shell)) (complaints []string) {
	t.Helper()
	list, err := os.ReadFile("../programs.txt")
	if err != nil {
		t.Fatal(err)
	}
	look(&shell{programLists(string(list)), map[string]bool{}, func(format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf(format, args...))
	}})
	return complaints
}

// Each of these lines is wrong, and each is the only reason for a complaint.
func TestWhatIsNotTheSameEverywhere(t *testing.T) {
	for _, line := range []string{
		"curl -s http://127.0.0.1", "timeout 5 make", "setsid make", "flock f make", "ps -A", "ls | wc -l", "stat -c %s f", "tac x",
		"readlink -f x", "realpath x", "exec watch make",
		"env A=b tac f", "xargs -n 1 tac", "find . -exec stat {} +", "bash -c 'tac f'",
		"trap 'tac f' EXIT", "command -v jq", "$(tac f)", "f() { tac f; }", "while tac f; do :; done", "/usr/bin/tac f",

		"sed -i s/a/b/ f", "sed -r s/a/b/ f", "sed -n -i s/a/b/ f", "sed 's/a\\+//' f", `sed 's/\s//' f`, "sed 's/a/\\n/' f",
		"sed 0,/a/d f",
		"grep -P a f", "grep -oP a f", `grep 'a\|b' f`, "grep --include=x a f", `grep '\bx' f`,
		"date -d yesterday", "date +%N", "date -Iseconds", "cp -- a b", "cp -t a b", "cp -T a b", "mv -t a b", "ln -sr a b",
		"head -n -1 f", "head -c -1 f", "sort -V f", "sort -h f", "find . -printf x", "find -name x", "mktemp -p /tmp", "mktemp --suffix x",
		"touch -d now f", "xargs -r ls", "xargs -d ls", "sleep 1m", "sleep infinity", "stty -F x", "df --output=x", "cut --complement f",
		"awk '{ print gensub(1) }'", "cat /proc/self/status", "make -Otarget",

		"declare -A a", "local -n a=b", "declare -g a=b",
		"mapfile a", "readarray a", "coproc cat", "echo ${x,,}", "echo ${x^}", "echo ${x@Q}",
		"echo ${x: -3:-1}", "echo ${x[-1]}", "ls &>>f", "ls |& cat", "exec {fd}>f", "wait -n", "read -t 0.1 x", "read -N 1 x",
		"printf '%(%s)T'", "shopt -s globstar", "[[ -v x ]]", "echo $BASHPID $x", "echo $EPOCHSECONDS",
		"case x in x) ;& y) ;; esac", "case x in x) ls ;;& y) ;; esac", "echo $(case x in x) ls ;; esac)",
		"echo $(\n# it's one\nls)", `a=(); ls "${a[@]}"`, `a=(b); a=(); ls "${a[@]}"`, `ls "${a[*]}"`,
	} {
		if got := check(t, func(s *shell) { s.script("f", 1, line) }); len(got) != 1 {
			t.Errorf("%s: want one complaint, got %q", line, got)
		}
	}
}

func TestWhatIsTheSameEverywhere(t *testing.T) {
	for _, line := range []string{
		"scripts/kubectl get pods --watch", "git diff --stat",
		"make -s --no-print-directory help", "docker ps -q", "f() { ls; }; f",
		`sed -n -e '/^package/q' -e 's/^\([a-z-]*\):.*/\1/p' Makefile`, `grep -oE 'a|b' f`, `grep '^// .* DO' f`,
		"head -n 1 f", "tail -n +2 f",
		`ls ${a[@]+"${a[@]}"}`, `a=(b); a+=(c); ls "${a[@]}"`, "echo ${#a[@]} ${x:-y} ${x%.go}", "ls | while read -r x; do echo; done",
		"if [ -r /proc/x ]; then cat /proc/x; fi", "ls >f 2>&1 &", "for _ in {1..20}; do sleep 0.1; done", "exec 3>&-", `exec "$0" 2 tac`,
		"uname -sm", "ls --help # it's said", "xargs -n 1 dirname",
		"kube::codegen::gen_helpers --boilerplate x",
	} {
		if got := check(t, func(s *shell) { s.script("f", 1, line) }); strings.Contains(line, "--help") != (len(got) > 0) {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func TestCommandsInOtherFiles(t *testing.T) {
	const page = "```go\n$ tac 1\n```\n```console 1\n$ tac 2 \\\n  | ls\nprinted\n```\n```\n$ tac 3\n```\n"
	got := check(t, func(s *shell) { s.readme("README.md", page) })
	if want := []string{
		"README.md:5: tac: is not in scripts/programs.txt", "README.md:10: tac: is not in scripts/programs.txt",
	}; !slices.Equal(got, want) {
		t.Errorf("a README: got %q, want %q", got, want)
	}

	got = check(t, func(s *shell) {
		if err := s.predictions("predictions.yaml", []byte("- id: 1.A\n  run: |\n    ls\n    tac f\n")); err != nil {
			t.Error(err)
		}
	})
	if len(got) != 1 || !strings.Contains(got[0], "tac: is not") {
		t.Errorf("a prediction: got %q", got)
	}

	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "a.go", `package a
var _ = exec.Command("tac", "x")
var _ = exec.CommandContext(ctx, "tac", "x")
var _, _ = exec.LookPath("tac")
var _ = run(t, nil, "bash", "-c", "ls && tac f")
var _ = exec.Command("scripts/kubectl", "tac")
var _ = exec.Command(name, "tac")
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := check(t, func(s *shell) { s.goFile("a.go", files, file) }); len(got) != 4 {
		t.Errorf("Go: got %q, want four complaints", got)
	}
}
