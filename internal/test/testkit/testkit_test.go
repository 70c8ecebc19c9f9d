package testkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestMain(m *testing.M) {
	Main(program)
	m.Run()
}

// program prints its arguments, waits for SIGTERM, and exits with code 3.
func program() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	fmt.Printf("ARGS       %q\n", os.Args[1:])
	fmt.Fprintf(os.Stderr, "KUBECONFIG is %q\n", os.Getenv("KUBECONFIG"))
	if len(os.Args) == 1 {
		return
	}
	<-signals
	fmt.Println("DRAINED")
	os.Exit(3)
}

// failing is a test that a function under test ends.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	panic(f)
}

func (f *failing) Fatal(args ...any) {
	f.message = fmt.Sprint(args...)
	panic(f)
}

// fatal returns the message with which f ends its test.
func fatal(f func(t testing.TB)) string {
	t := &failing{}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(t) {
				panic(r)
			}
		}()
		f(t)
	}()
	return t.message
}

func TestAwait(t *testing.T) {
	calls := 0
	Await(t, "the third call", func() bool {
		calls++
		return calls == 3
	})
	var names []string
	var out Buffer
	got := fatal(func(t testing.TB) {
		await(t, 30*time.Millisecond, "three names", func() bool {
			names = []string{"a", "b"}
			fmt.Fprintln(&out, "ADDED a")
			return false
		}, &names, calls)
	})
	if want := "waited 30ms for three names; the last state:\n[a b]\n3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	err := errors.New("too slow")
	pod := &corev1.Pod{Spec: corev1.PodSpec{Priority: new(int32(7))}}
	var none *corev1.Pod
	got = fatal(func(t testing.TB) { await(t, 0, "a pod", func() bool { return false }, &err, &pod, pod, &none) })
	if strings.Count(got, "  priority: 7\n") != 2 || !strings.Contains(got, "\ntoo slow\n") || strings.Contains(got, "0x") {
		t.Errorf("got %q, want the error, the pod's priority twice, and no address", got)
	}
	got = fatal(func(t testing.TB) { await(t, 0, "nothing", func() bool { return false }, &out) })
	if !strings.Contains(got, "\nADDED a") {
		t.Errorf("got %q, want the buffer's text in it", got)
	}
}

func TestRepeat(t *testing.T) {
	var sum, calls atomic.Int64
	Repeat(t, "adding", 100, func(_ context.Context, number int) error {
		sum.Add(int64(number))
		return nil
	})
	if sum.Load() != 99*100/2 {
		t.Errorf("the numbers add up to %d, want each from 0 to 99 once", sum.Load())
	}
	got := fatal(func(failing testing.TB) {
		Repeat(withContext{failing, t.Context()}, "failing", 10_000, func(context.Context, int) error {
			calls.Add(1)
			return errors.New("full")
		})
	})
	if got != "failing: full" || calls.Load() > 100 {
		t.Errorf("ended with %q after %d calls, want the first error and few calls", got, calls.Load())
	}
}

// withContext is a test with a context.
type withContext struct {
	testing.TB
	ctx context.Context
}

func (w withContext) Context() context.Context { return w.ctx }

func TestMust(t *testing.T) {
	if got := Must(3, nil)(t); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
	if got := fatal(func(t testing.TB) { Must(os.Stat("/nowhere"))(t) }); got != "stat /nowhere: no such file or directory" {
		t.Errorf("got %q", got)
	}
}

func TestBuffer(t *testing.T) {
	var b Buffer
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			fmt.Fprint(&b, "ADDED      a\nADDEDx     b\n")
			_ = b.String()
		})
	}
	fmt.Fprint(&b, "DELETED    nginx/a\n")
	if got := b.Await(t, `^DELETED +(\S+)/a$`); got != "DELETED    nginx/a" {
		t.Errorf("Await returned %q", got)
	}
	group.Wait()
	if got := len(b.Lines()); got != 21 {
		t.Errorf("%d lines, want 21", got)
	}
	if got, want := b.Lines("DELETED", "UPDATED"), []string{"DELETED    nginx/a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := len(b.Lines("ADDED")); got != 10 {
		t.Errorf("%d lines that begin with ADDED, want 10", got)
	}
}

func TestProcess(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere")
	t.Run("a signal", func(t *testing.T) {
		p := Start(t, Program(t, "--one", "two"))
		if got, want := p.Await(t, "^ARGS .*$"), `ARGS       ["--one" "two"]`; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		p.Signal(t, syscall.SIGTERM)
		if code := p.Exit(t); code != 3 {
			t.Errorf("exit code %d, want 3", code)
		}
		p.Await(t, "^DRAINED$")
		if got := fatal(func(t testing.TB) { p.Await(t, "^LEFT") }); !strings.Contains(got, "ended without") {
			t.Errorf("got %q, want that it has ended", got)
		}
	})
	t.Run("a sudden end", func(t *testing.T) {
		p := Start(t, Program(t, "--one"))
		p.Await(t, "^ARGS")
		p.Kill()
		if code := p.Exit(t); code != -1 {
			t.Errorf("exit code %d, want -1", code)
		}
	})
	t.Run("the end of the test", func(t *testing.T) {
		var p *Process
		t.Run("", func(t *testing.T) { p = Start(t, Program(t, "--one")) })
		if !closed(p.Ended()) {
			t.Error("the process has survived its test")
		}
	})
	t.Run("to its end", func(t *testing.T) {
		stdout, stderr, code := Run(t, Program(t))
		if stdout != "ARGS       []\n" || stderr != "KUBECONFIG is \"\"\n" || code != 0 {
			t.Errorf("got %q, %q, %d", stdout, stderr, code)
		}
	})
}

func TestIntercept(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header.Get("X")) }))
	t.Cleanup(server.Close)
	config := Must(clientcmd.BuildConfigFromFlags("", Kubeconfig(t, server.URL)))(t)
	changed := Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		request.Header.Set("X", "intercepted")
		return next.RoundTrip(request)
	})
	for config, want := range map[*rest.Config]string{config: "", changed: "intercepted"} {
		response := Must(Must(rest.HTTPClientFor(config))(t).Get(server.URL))(t)
		if got := string(Must(io.ReadAll(response.Body))(t)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		response.Body.Close()
	}
}

func TestWrites(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	config, writes := Writes(Must(clientcmd.BuildConfigFromFlags("", Kubeconfig(t, server.URL)))(t))
	client := Must(rest.HTTPClientFor(config))(t)
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		request := Must(http.NewRequest(method, server.URL+"/api/v1/namespaces/default/pods/a", nil))(t)
		Must(client.Do(request))(t).Body.Close()
	}
	if got, want := writes(), []string{"PUT pods/a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := writes(); len(got) > 0 {
		t.Errorf("got %q a second time", got)
	}
}
