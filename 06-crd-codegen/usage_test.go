package main

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/testcluster"
)

// runProgram runs the chapter's program as a process, and returns its exit code and the last line of its output.
func runProgram(t *testing.T, args ...string) (int, string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env = append(os.Environ(), mainVar+"=1")
	output, _ := command.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return command.ProcessState.ExitCode(), lines[len(lines)-1]
}

func TestBadUsage(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no workers":      {[]string{"--workers=0"}, "1 or more"},
		"workers as text": {[]string{"--workers=two"}, "1 or more"},
		"port in use":     {[]string{"--listen=" + listener.Addr().String()}, "address already in use"},
		"an argument":     {[]string{"example-mysql"}, `unknown argument "example-mysql"`},
		"a bad duration":  {[]string{"--resync=1"}, "missing unit"},
	} {
		t.Run(name, func(t *testing.T) {
			code, line := runProgram(t, test.args...)
			if code != 2 || !strings.Contains(line, test.want) {
				t.Errorf("exit code %d, %q, want 2 and %q", code, line, test.want)
			}
		})
	}
}

func TestUnknownNamespace(t *testing.T) {
	code, line := runProgram(t, "--kubeconfig="+testcluster.Kubeconfig(t), "--namespace=no-such")
	if code != 2 || !strings.Contains(line, `there is no namespace "no-such"`) {
		t.Errorf("exit code %d, %q", code, line)
	}
}

func TestMissingCRD(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster of its own")
	}
	code, line := runProgram(t, "--kubeconfig="+testcluster.Start(t).Kubeconfig())
	if code != 2 || !strings.Contains(line, "install the CRD with `scripts/kubectl apply -f 06-crd-codegen/crd`") {
		t.Errorf("exit code %d, %q", code, line)
	}
}
