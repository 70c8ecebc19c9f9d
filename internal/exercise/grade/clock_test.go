package grade

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestShareIsWhatTheMachineHasGiven(t *testing.T) {
	for name, test := range map[string]struct {
		passed, cpu time.Duration
		waits       bool
		want        time.Duration
	}{
		"all goroutines wait":                    {tick, 0, true, tick},
		"one computes":                           {tick, tick, false, tick},
		"two compute":                            {tick, 2 * tick, false, tick},
		"one computes, and gets little CPU":      {tick, tick / 10, false, tick / 10},
		"all wait, but the clock itself is late": {20 * tick, 0, true, tick},
		"all wait now, and have computed before": {20 * tick, 15 * tick, true, 15 * tick},
	} {
		if got := share(test.passed, test.cpu, test.waits); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// pause stops this process, as a machine does that has no CPU for it. A process beside it runs a command.
func pause(command string) {
	beside := exec.Command("sh", "-c", command)
	_ = beside.Start()
	stop()
	_ = beside.Wait()
}

// stop stops this process. The signal may reach other threads first, so it returns at once, or never.
func stop() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) }

// compute computes for ever.
func compute() {
	for i := 0; i >= 0; i &= 1 {
		i++
	}
}

// request sends a request that is answered a second later.
func request() {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	_, _ = server.Client().Get(server.URL)
}

// An answer is rejected for what it does, not for what the machine does.
func TestTheTimeOfABusyMachineIsNotTheAnswers(t *testing.T) {
	const rejected, passed = "nothing within 500ms; the answer still runs", "passed"
	for name, test := range map[string]struct {
		answer  func()
		outside bool
		want    string
	}{
		"is stopped for a second":       {func() { pause("sleep 1; kill -CONT $PPID") }, false, passed},
		"is stopped for ever":           {func() { stop(); compute() }, false, "not graded: the machine was too busy: in 3s the answer "},
		"waits for a command":           {func() { _ = exec.Command("sleep", "1").Run() }, true, passed},
		"waits for the server's answer": {request, true, passed},
		"waits for ever":                {func() { <-make(chan int) }, true, rejected},
		"sleeps":                        {func() { time.Sleep(time.Hour) }, false, rejected},
		"waits for a lock":              {func() { lock := make(chan int, 1); lock <- 1; lock <- 1 }, false, rejected},
		"computes for ever":             {compute, false, rejected},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Getenv(answerVar) == "" {
				t.Parallel()
			}
			timeout := 500 * time.Millisecond // of which a very busy machine gives something in 20 times as long
			if strings.HasPrefix(test.want, "not graded") {
				timeout = 150 * time.Millisecond // 20 times as long passes
			}
			e := Exercise[func()]{Timeout: timeout, Cluster: test.outside, Grade: func(t *T, answer func()) {
				t.Doing("the answer returns")
				answer()
				if t.Context().Err() == context.Canceled {
					t.Reject("the answer returns", "its time was over", "")
				}
			}}
			if verdict := e.run(t, test.answer); !strings.Contains(verdict.String(), test.want) {
				t.Errorf("the verdict is\n%s\nwant %q", verdict, test.want)
			}
		})
	}
}
