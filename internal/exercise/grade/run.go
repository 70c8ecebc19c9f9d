package grade

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

// run grades an answer in a process of its own. It waits for that process.
func (e Exercise[F]) run(t *testing.T, answer F) manifest.Verdict {
	t.Helper()
	timeout := cmp.Or(e.Timeout, 30*time.Second)
	if os.Getenv(answerVar) != "" {
		e.child(t, answer, timeout)
	}
	if e.Cluster {
		// go test repeats an earlier result while no file has changed that the test has looked at. It does not see what the answer's
		// process does. A cluster has the first file, and one that runs changes the second one all the time.
		dir := cmp.Or(os.Getenv("CLUSTER_DIR"), filepath.Join("..", "..", "..", ".cluster"))
		_, _ = os.Stat(filepath.Join(dir, "kubeconfig"))
		_, _ = os.Stat(filepath.Join(dir, ".kwok", "clusters", "workbook", "etcd", "member", "snap", "db"))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	results, result, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer results.Close()
	// The process of the answer has the other end of this one. Read, it ends when this process does, however that ends.
	alive, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	var names []string
	for _, name := range strings.Split(t.Name(), "/") {
		names = append(names, "^"+regexp.QuoteMeta(name)+"$")
	}
	args := []string{"-test.run=" + strings.Join(names, "/"), "-test.timeout=0"}
	for _, arg := range os.Args[1:] {
		if !strings.HasPrefix(arg, "-test.") {
			args = append(args, arg)
		}
	}
	var stdout, stderr output
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), answerVar+"=1", "KUBE_CACHE_MUTATION_DETECTOR=true",
		"TMPDIR="+t.TempDir()) // what a process that is killed leaves there is removed, too
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.ExtraFiles = []*os.File{result, alive}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what the answer starts is killed with it
	cmd.WaitDelay = time.Second
	err = cmd.Start()
	result.Close()
	alive.Close()
	if err != nil {
		t.Fatal(err)
	}

	// The process ends by itself when the time is over, or when the machine gives it none. If it cannot, it is killed.
	late := time.AfterFunc((patience+1)*timeout, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	begin := time.Now()
	var verdict *manifest.Verdict
	var begun time.Duration
	doing := "an answer"
	for messages := json.NewDecoder(results); ; {
		var m message
		if messages.Decode(&m) != nil {
			break
		}
		if m.Begun != 0 {
			begun = m.Begun
		}
		if m.Doing != "" {
			doing = m.Doing
		}
		if m.Verdict != nil {
			verdict = m.Verdict
		}
	}
	_ = cmd.Wait()        // ProcessState has what it returns
	inTime := late.Stop() // its number may soon be another process's
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)

	if cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() - begun; verdict == nil && !inTime {
		found := tooBusy(time.Since(begin), cpu, e.Cluster)
		if cpu >= timeout {
			found = overtime(doing, timeout, "")
		}
		verdict = &found
	} else if verdict == nil || strings.Contains(stderr.String(), dataRace) {
		found := withoutVerdict(stderr.String(), cmd.ProcessState.String(), doing)
		verdict = &found
	}
	verdict.Printed = printed(&stdout, &stderr)
	if verdict.Skipped && os.Getenv(verdictVar) == "" {
		t.Skip(verdict.Seen)
	}
	return *verdict
}

// withoutVerdict says why a process has ended, or been ended, without a verdict: by what it has printed on stderr.
func withoutVerdict(stderr, ended, doing string) manifest.Verdict {
	place := place(stderr)
	switch {
	case strings.Contains(stderr, dataRace):
		return manifest.Verdict{Expected: "goroutines share variables only through a lock or a channel",
			Seen: "a data race" + places(stderr),
			Look: "a variable there that one goroutine writes, while another one reads or writes it"}
	case strings.Contains(stderr, "deadlock: main bubble goroutine has exited but blocked goroutines remain"):
		return manifest.Verdict{Expected: "every goroutine ends", Seen: "one waits for something that cannot come any more" + place,
			Look: "a goroutine, or a queue, that nothing stops"}
	case strings.Contains(stderr, "all goroutines in bubble are blocked"), strings.Contains(stderr, "all goroutines are asleep"):
		return manifest.Verdict{Expected: doing, Seen: "all goroutines wait, and nothing can wake them" + place,
			Look: "a wait that nothing ends: a channel, a lock, a queue"}
	case storeChanged.MatchString(stderr):
		return manifest.Verdict{Expected: "objects of a store stay as they are", Seen: "an object in the store was changed",
			Look: "DeepCopy before you change an object that a lister or a handler gave you"}
	case panicLine.MatchString(stderr) && place != "":
		return manifest.Verdict{Expected: "an answer without a panic", Seen: panicLine.FindStringSubmatch(stderr)[1] + place,
			Look: "the line named above"}
	case panicLine.MatchString(stderr) && inClientGo(stderr):
		return manifest.Verdict{Expected: "an answer without a panic", Seen: panicLine.FindStringSubmatch(stderr)[1] + ", in client-go",
			Look: "what the answer has given to client-go: a function, a client or an object that is nil?"}
	case panicLine.MatchString(stderr):
		return manifest.Verdict{Broken: true, Seen: panicLine.FindStringSubmatch(stderr)[1]}
	case strings.HasPrefix(ended, "signal: "): // by the kernel, for example, where memory is short
		return manifest.Verdict{Broken: true, Seen: "its process was ended by a " + ended}
	default:
		return manifest.Verdict{Expected: doing, Seen: "the program has ended by itself (" + ended + ")",
			Look: "os.Exit, log.Fatal and klog.Fatal end the whole program: return an error instead"}
	}
}

var (
	panicLine = regexp.MustCompile(`(?m)^((?:panic|fatal error): .*?)(?: \[recovered.*)?$`)
	// storeChanged is how client-go's mutation detector ends a program. Its other lines say only that it is switched on.
	storeChanged = regexp.MustCompile(`(?m)^panic: cache \S+ modified`)
	// answerFile is a place in an answer: the learner's, or one of those that a grader is tested with.
	answerFile = regexp.MustCompile(`/(?:exercises|answers)/[^/\s]+/(?:starter/)?((?:exercise|solution|others|mistakes)\.go:\d+)`)
	// graderFile is a place in a grader.
	graderFile = regexp.MustCompile(`/internal/exercises/\d[^/\s]+/\w+\.go:`)
	// runs is how a goroutine in a trace begins that does not wait.
	runs = regexp.MustCompile(`(?m)^goroutine \d+ .*\[(running|runnable)`)
	// logLine is how klog's lines begin. They are for operators, not for the learner.
	logLine = regexp.MustCompile(`^[IWEF]\d{4} `)
)

// inClientGo says whether the goroutine that has panicked, the first of a trace, was in client-go, and not called by a grader.
func inClientGo(trace string) bool {
	_, after, _ := strings.Cut(trace, "\ngoroutine ")
	goroutine, _, _ := strings.Cut(after, "\n\n")
	return strings.Contains(goroutine, "k8s.io/client-go@") && !graderFile.MatchString(goroutine)
}

// place is the line of the answer that a trace names: that of a goroutine that runs or could run, if there is one, else the
// first. A goroutine that has not begun yet is in line 1, which says nothing.
func place(trace string) string {
	goroutines := strings.Split(trace, "\n\n")
	for _, only := range []*regexp.Regexp{runs, nil} {
		for _, goroutine := range goroutines {
			if only != nil && !only.MatchString(goroutine) {
				continue
			}
			for _, place := range answerFile.FindAllStringSubmatch(goroutine, -1) {
				if !strings.HasSuffix(place[1], ".go:1") {
					return " (" + place[1] + ")"
				}
			}
		}
	}
	return ""
}

// dataRace is how the race detector's report begins.
const dataRace = "WARNING: DATA RACE"

// places are the lines of the answer at which two goroutines use the same variable. They are in the first two parts of the race
// detector's report.
func places(report string) string {
	_, report, _ = strings.Cut(report, dataRace)
	one, report, _ := strings.Cut(report, "\n\n")
	another, _, _ := strings.Cut(report, "\n\n")
	first, second := place(one), place(another)
	if first == second {
		return first
	}
	return first + second
}

// leak is the verdict for goroutines that still run.
func leak(trace string) manifest.Verdict {
	what := "a goroutine still runs"
	if function := regexp.MustCompile(`(?m)with (\S+) on top of the stack`).FindStringSubmatch(trace); function != nil {
		what += ", in " + function[1]
	}
	return manifest.Verdict{Expected: "no goroutine is left when the answer has returned and ctx has ended", Seen: what + place(trace),
		Look: "who ends it, and who waits until it has ended?"}
}

// output keeps the beginning of what a process prints, and counts the rest.
type output struct {
	bytes.Buffer
	total int
}

// kept is enough for every trace that is read here.
const kept = 1 << 18

func (o *output) Write(p []byte) (int, error) {
	o.total += len(p)
	o.Buffer.Write(p[:min(len(p), max(0, kept-o.Len()))])
	return len(p), nil
}

// printed is what the answer itself has printed: ten lines at most.
func printed(outputs ...*output) []string {
	var lines []string
	var more int
	for _, o := range outputs {
		for line := range strings.Lines(o.String()) {
			line = strings.TrimRight(line, "\r\n")
			if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "=====") || strings.HasPrefix(line, "--- FAIL: ") {
				break // a trace follows
			}
			switch {
			case logLine.MatchString(line):
			case len(lines) < 10:
				lines = append(lines, line[:min(len(line), 200)])
			default:
				more++
			}
		}
		if o.total > o.Len() {
			lines = append(lines, fmt.Sprintf("... %d bytes in all", o.total))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("... and %d more lines", more))
	}
	return lines
}
