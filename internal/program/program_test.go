package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/test/testkit"
)

// slowRequest asks for something that the server answers only when the client has gone away.
func slowRequest(ctx context.Context, config *rest.Config) error {
	return CheckNamespace(ctx, kubernetes.NewForConfigOrDie(config), "slow")
}

func TestMainExitCodes(t *testing.T) {
	kubeconfig, greeting := newServer(t)

	for name, test := range map[string]struct {
		args       []string
		run        func(context.Context, *rest.Config) error
		code       int
		stdout     string // that it begins with
		stderr     string
		noGreeting bool // it ends before it has talked to the cluster
	}{
		"all is well": {code: 0},
		"an error of the run": {run: func(context.Context, *rest.Config) error { return errors.New("out of\nluck") },
			code: 1, stderr: "test: out of luck\n"},
		"a usage error": {run: func(context.Context, *rest.Config) error { return Usagef("no %s", "way") },
			code: 2, stderr: "test: no way (--help lists the flags)\n"},
		"an unknown flag": {args: []string{"--frob"},
			code: 2, stderr: "test: unknown flag: --frob (--help lists the flags)\n", noGreeting: true},
		"a flag without sense": {args: []string{"--duration", "soon"},
			code: 2, stderr: "test: invalid argument \"soon\" for \"--duration\" flag: " +
				"time: invalid duration \"soon\" (--help lists the flags)\n", noGreeting: true},
		"an argument": {args: []string{"pods"},
			code: 2, stderr: "test: unknown argument \"pods\" (--help lists the flags)\n", noGreeting: true},
		"help": {args: []string{"--help"}, code: 0, stdout: "Usage of test:\n", noGreeting: true},
		"a negative duration": {args: []string{"--duration=-1s"},
			code: 2, stderr: "test: --duration cannot be negative (--help lists the flags)\n", noGreeting: true},
		"a negative cut": {args: []string{"--cut-after", "-1s"},
			code: 2, stderr: "test: --cut-after cannot be negative (--help lists the flags)\n", noGreeting: true},
		"fewer cuts than none": {args: []string{"--cut-times=-1"},
			code: 2, stderr: "test: invalid argument \"-1\" for \"--cut-times\" flag: " +
				"strconv.ParseUint: parsing \"-1\": invalid syntax (--help lists the flags)\n", noGreeting: true},
		"--duration in a request": {args: []string{"--duration", "1ms"}, run: slowRequest, code: 0},
		"an error after the end": {args: []string{"--duration", "1ms"},
			run:  func(ctx context.Context, _ *rest.Config) error { <-ctx.Done(); return errors.New("work is left") },
			code: 1, stderr: "test: work is left\n"},
		"--duration ends it": {args: []string{"--duration", "1ms"},
			run:  func(ctx context.Context, _ *rest.Config) error { <-ctx.Done(); return nil },
			code: 0},
		"a kubeconfig not there": {args: []string{"--kubeconfig", "nowhere"},
			code: 1, stderr: "test: kubeconfig nowhere: no such file or directory: " +
				"name another with --kubeconfig; the workbook's is .cluster/kubeconfig, which `make cluster` writes\n", noGreeting: true},
	} {
		t.Run(name, func(t *testing.T) {
			run := test.run
			if run == nil {
				run = func(context.Context, *rest.Config) error { return nil }
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var stdout, stderr bytes.Buffer
			code := New("test").Main(ctx, append([]string{"--kubeconfig", kubeconfig}, test.args...), &stdout, &stderr, run)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if !strings.HasPrefix(stdout.String(), test.stdout) || test.stdout == "" && stdout.Len() > 0 {
				t.Errorf("stdout %q, want %q", stdout.String(), test.stdout)
			}
			want := greeting + test.stderr
			if test.noGreeting {
				want = test.stderr
			}
			if got := stderr.String(); got != want {
				t.Errorf("stderr %q, want %q", got, want)
			}
		})
	}
}

// newServer starts a server that has its version only, and returns its kubeconfig and what the program prints first.
func newServer(t *testing.T) (kubeconfig, greeting string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/slow") {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"gitVersion":"v1.37.1"}`)
	}))
	t.Cleanup(server.Close)
	return testkit.Kubeconfig(t, server.URL), fmt.Sprintf("context test, server %s, Kubernetes v1.37.1\n", server.URL)
}

// TestSignalInTheGreeting ends the program before the server has answered at all.
func TestSignalInTheGreeting(t *testing.T) {
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	kubeconfig := testkit.Kubeconfig(t, server.URL)
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGUSR1)
	defer stop()
	go func() {
		<-asked
		_ = syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	}()
	var stdout, stderr bytes.Buffer
	code := New("test").Main(ctx, []string{"--kubeconfig", kubeconfig}, &stdout, &stderr, nil)
	if code != 0 || stdout.Len() > 0 || stderr.Len() > 0 {
		t.Errorf("exit code %d, stdout %q, stderr %q, want 0 and nothing", code, &stdout, &stderr)
	}
}

func TestStdoutThatFails(t *testing.T) {
	kubeconfig, greeting := newServer(t)
	full := &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
	for name, test := range map[string]struct {
		args   []string
		err    error
		code   int
		stderr string
	}{
		"a full disk": {err: full, code: 1, stderr: greeting + "test: write /dev/stdout: no space left on device: " +
			"part of the output is lost; make room, or send the output elsewhere\n"},
		"a full disk, --wire": {args: []string{"--wire"}, err: full,
			code: 1, stderr: greeting + "test: write /dev/stdout: no space left on device: " +
				"part of the output is lost; make room, or send the output elsewhere\n"},
		"a full disk, --help": {args: []string{"--help"}, err: full, code: 1, stderr: "test: write /dev/stdout: no space left on device: " +
			"part of the output is lost; make room, or send the output elsewhere\n"},
		"a closed pipe": {err: &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}, stderr: greeting},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			stdout := &failing{err: test.err}
			var stderr bytes.Buffer
			p := New("test")
			code := p.Main(ctx, append([]string{"--kubeconfig", kubeconfig}, test.args...),
				stdout, &stderr, func(ctx context.Context, config *rest.Config) error {
					if p.wire {
						_ = CheckNamespace(ctx, kubernetes.NewForConfigOrDie(config), "any")
					} else {
						fmt.Fprintln(&p.Stdout, "first")
						fmt.Fprintln(&p.Stdout, "second")
					}
					<-ctx.Done()
					return ctx.Err() // only follows from it
				})
			if ctx.Err() != nil {
				t.Error("the failure has not ended the run")
			}
			if code != test.code || stderr.String() != test.stderr {
				t.Errorf("exit code %d, want %d; stderr %q, want %q", code, test.code, &stderr, test.stderr)
			}
			if stdout.writes != 1 {
				t.Errorf("%d writes, want none after the one that failed", stdout.writes)
			}
		})
	}
}

// failing is a stdout that takes nothing.
type failing struct {
	err    error
	writes int
}

func (f *failing) Write([]byte) (int, error) {
	f.writes++
	return 0, f.err
}
