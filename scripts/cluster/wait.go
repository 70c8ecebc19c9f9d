package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// portTakenError is a component's that another program's port has ended.
type portTakenError struct{ words string }

func (e *portTakenError) Error() string { return e.words }

// damagedError is etcd's when it cannot start from its data, or cannot go on from them.
type damagedError struct{ words string }

func (e *damagedError) Error() string { return "etcd does not start: " + e.words }

// At its start, etcd logs the last write that its database has, and the last one in its write-ahead log.
var startLines = regexp.MustCompile(`^"restore consistentIndex","index":(\d+)[^\x00]*?"newRaft .* lastindex: (\d+),`)

// lostWrites returns an error if etcd's write-ahead log has lost writes that its database has. Such an etcd runs, but takes
// each new write for one of those: it does nothing, and whoever has asked for it gets no answer. It looks at the last start
// that etcd has logged behind this position.
func (l local) lostWrites(after int64) error {
	data, _ := os.ReadFile(l.log("etcd"))
	data = data[min(after, int64(len(data))):]
	start := bytes.LastIndex(data, []byte(`"restore consistentIndex"`))
	if start < 0 {
		return nil // not logged yet
	}
	var inDatabase, inLog int
	if found := startLines.FindSubmatch(data[start:]); found != nil {
		inDatabase, _ = strconv.Atoi(string(found[1]))
		inLog, _ = strconv.Atoi(string(found[2]))
	}
	if inDatabase <= inLog {
		return nil
	}
	return &damagedError{fmt.Sprintf("its database has %d writes, but its write-ahead log ends with number %d", inDatabase, inLog)}
}

// A component that ends this often, each time so soon after its start, will not run at all.
const (
	maxQuickEnds = 5
	quickly      = 10 * time.Second
)

// silence is how long a busy machine's API server may run without being ready before the cluster is started again.
const silence = 15 * time.Second

// answers reports whether the API server is ready, soon if not now. One that was stopped, or that runs in another network, a
// container's, say, never is.
func (l local) answers(ctx context.Context) bool {
	api, err := l.api()
	if err != nil {
		return false
	}
	progress := newWaiting()
	defer progress.done()
	for deadline := time.Now().Add(silence); ctx.Err() == nil && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if api.ready(ctx) {
			return true
		}
		progress.show("the API server to be ready")
	}
	return false
}

// attempt is one start of a component.
type attempt struct {
	at        time.Time
	log       int64 // the log's length at the start
	quickEnds int   // of this one and of earlier ones in a row
}

// wait returns when all components run, the API server is ready and the condition holds, and starts those again that
// have ended. It has no fixed patience, since a busy machine takes as long as it takes: the controller manager, say,
// ends when the API server is not ready within 20 seconds. It fails when a component can't run. What the logs have up to these lengths
// is about an earlier start.
func (l local) wait(ctx context.Context, logs map[string]int64, what string, holds func(context.Context) bool) error {
	s, err := l.settings()
	if err != nil {
		return err
	}
	api, err := l.api()
	if err != nil {
		return err
	}
	attempts := map[string]*attempt{}
	for _, name := range components {
		attempts[name] = &attempt{at: time.Now(), log: logs[name]}
	}
	progress := newWaiting()
	defer progress.done()
	for {
		running := l.running()
		ready := running["kube-apiserver"] != 0 && api.ready(ctx)
		var missing []string
		for i, name := range components {
			if running[name] != 0 {
				continue
			}
			missing = append(missing, name)
			// Each needs another: the API server needs etcd, all others need the API server.
			if i == 1 && running["etcd"] == 0 || i > 1 && !ready {
				continue
			}
			if err := l.startAgain(s, name, attempts[name]); err != nil {
				return err
			}
		}
		if running["etcd"] != 0 && !ready {
			if err := l.lostWrites(attempts["etcd"].log); err != nil {
				return err
			}
		}
		if len(missing) == 0 && ready && (holds == nil || holds(ctx)) {
			return nil
		}
		if len(missing) == 0 {
			missing = []string{what}
		}
		progress.show(strings.Join(missing, ", "))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// startAgain starts a component that has ended, unless its last words say that this is of no use.
func (l local) startAgain(s settings, name string, last *attempt) error {
	log, words := l.lastWords(name, last.log)
	switch {
	case strings.Contains(log, "no space left on device"), strings.Contains(log, "disk quota exceeded"):
		return messagef("%s has ended: the disk of %s is full: free some, then run make cluster.", name, l.cluster.folder)
	case strings.Contains(log, "too many open files"), strings.Contains(log, "file descriptor limit"):
		return messagef("%s has ended: the hard limit of open files is too low (ulimit -Hn): raise it, then run make cluster.", name)
	case strings.Contains(log, "address already in use"):
		return &portTakenError{name + ": " + words}
	}
	if time.Since(last.at) < quickly {
		last.quickEnds++
	} else {
		last.quickEnds = 0
	}
	if last.quickEnds >= maxQuickEnds {
		if words == "" { // ended from outside, for want of memory, say: its data are as they were
			return messagef("%s does not start, and has logged no error: see %s.", name, l.log(name))
		}
		if name == "etcd" {
			return &damagedError{words}
		}
		return messagef("%s does not start: %s: see %s.", name, words, l.log(name))
	}
	last.at, last.log = time.Now(), l.logs()[name]
	return l.start(s, name)
}

// waiting shows what a call waits for: on a terminal one line that counts the seconds, elsewhere a line now and then.
type waiting struct {
	since, next time.Time
	spinner     *progressbar.ProgressBar
}

func newWaiting() *waiting {
	w := &waiting{since: time.Now()}
	w.next = w.since.Add(time.Minute)
	if term.IsTerminal(int(os.Stderr.Fd())) {
		w.spinner = progressbar.NewOptions(-1, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetElapsedTime(true), progressbar.OptionSpinnerType(14), progressbar.OptionThrottle(100*time.Millisecond))
	}
	return w
}

func (w *waiting) show(what string) {
	if w.spinner != nil {
		w.spinner.Describe("Waiting for " + what)
		w.spinner.Add(1)
		return
	}
	if now := time.Now(); now.After(w.next) {
		say("Waiting for %s, %d seconds so far.", what, int(now.Sub(w.since).Seconds()))
		w.next = now.Add(now.Sub(w.since))
	}
}

func (w *waiting) done() {
	if w.spinner != nil {
		w.spinner.Finish()
	}
}
