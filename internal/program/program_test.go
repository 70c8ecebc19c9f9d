package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestMainExitCodes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"gitVersion":"v1.37.1"}`)
	}))
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{"clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}],"current-context":"x"}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	greeting := fmt.Sprintf("context x, server %s, Kubernetes v1.37.1\n", server.URL)

	for name, test := range map[string]struct {
		args       []string
		run        func(context.Context, *rest.Config) error
		code       int
		stdout     string // that it begins with
		stderr     string
		noGreeting bool // it ends before it has talked to the cluster
	}{
		"all is well":            {code: 0},
		"an error of the run":    {run: func(context.Context, *rest.Config) error { return errors.New("out of\nluck") }, code: 1, stderr: "test: out of luck\n"},
		"a usage error":          {run: func(context.Context, *rest.Config) error { return Usagef("no %s", "way") }, code: 2, stderr: "test: no way (--help lists the flags)\n"},
		"an unknown flag":        {args: []string{"--frob"}, code: 2, stderr: "test: unknown flag: --frob (--help lists the flags)\n", noGreeting: true},
		"a flag without sense":   {args: []string{"--duration", "soon"}, code: 2, stderr: "test: invalid argument \"soon\" for \"--duration\" flag: time: invalid duration \"soon\" (--help lists the flags)\n", noGreeting: true},
		"an argument":            {args: []string{"pods"}, code: 2, stderr: "test: unknown argument \"pods\" (--help lists the flags)\n", noGreeting: true},
		"help":                   {args: []string{"--help"}, code: 0, stdout: "Usage of test:\n", noGreeting: true},
		"--duration ends it":     {args: []string{"--duration", "1ms"}, run: func(ctx context.Context, _ *rest.Config) error { <-ctx.Done(); return nil }, code: 0},
		"a kubeconfig not there": {args: []string{"--kubeconfig", "nowhere"}, code: 1, stderr: "test: kubeconfig nowhere: no such file or directory: start a cluster with `make cluster`, or name another file with --kubeconfig\n", noGreeting: true},
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
