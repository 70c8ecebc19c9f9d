package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// Process is a controller that was started, with a proxy of its own.
type Process struct {
	who       string
	arguments []string // beside --kubeconfig
	proxy     *Proxy
	cmd       *exec.Cmd
	logFile   string
	isAsked   atomic.Bool   // to end: by a signal of the suite
	ended     chan struct{} // closed when the process has ended
	stopped   chan struct{} // closed when its proxy has, too
}

// startController starts the controller, with more arguments. World.close ends it.
func (w *World) startController(arguments ...string) (*Process, error) {
	p := &Process{who: fmt.Sprint(len(w.processes) + 1), arguments: arguments, ended: make(chan struct{}), stopped: make(chan struct{})}
	p.proxy = &Proxy{who: p.who, namespace: w.namespace, resources: w.resources, tap: &w.tap, kill: p.kill}
	if err := p.proxy.start(w.config, w.gates); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(w.folder, "kubeconfig-"+p.who)
	p.logFile = filepath.Join(w.folder, "log-"+p.who)
	if err := w.writeKubeconfig(p.proxy, kubeconfig); err != nil {
		p.proxy.stop()
		return nil, err
	}
	log, err := os.Create(p.logFile)
	if err != nil {
		p.proxy.stop()
		return nil, err
	}
	defer log.Close() // the process has a copy
	command := append(slices.Concat(w.command, []string{"--kubeconfig=" + kubeconfig}), arguments...)
	for i := range command {
		command[i] = strings.ReplaceAll(command[i], "{namespace}", w.namespace)
	}
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// client-go finds out after 45 s that a connection is silent. Other clients know nothing of these.
	p.cmd.Env = append(os.Environ(), "HTTP2_READ_IDLE_TIMEOUT_SECONDS=4", "HTTP2_PING_TIMEOUT_SECONDS=2")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // signals reach a program that a script has started, too
	if err := p.cmd.Start(); err != nil {
		p.proxy.stop()
		return nil, fmt.Errorf("%w: name a program in CONTROLLER", err)
	}
	w.processes = append(w.processes, p)
	go func() { // World.close waits for it
		_ = p.cmd.Wait() // the exit code is in ProcessState
		// What it has started ends, too. Later, its number can be that of another process.
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		close(p.ended)
		p.proxy.stop()
		close(p.stopped)
	}()
	return p, nil
}

// writeKubeconfig writes a kubeconfig for the proxy, with the token of the world's ServiceAccount. It is JSON, which is YAML, too: a
// program without a library can read it.
func (w *World) writeKubeconfig(proxy *Proxy, file string) error {
	const name = "conformance"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   proxy.server.URL,
		CertificateAuthorityData: proxy.certificate(),
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: w.token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: w.namespace}
	config.CurrentContext = name
	text, err := clientcmd.Write(*config)
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// signal sends a signal to the process and those that it has started.
func (p *Process) signal(signal syscall.Signal) {
	if signal == syscall.SIGTERM || signal == syscall.SIGKILL {
		p.isAsked.Store(true)
	}
	if !p.hasEnded() {
		_ = syscall.Kill(-p.cmd.Process.Pid, signal) // fails only if it has ended
	}
}

// kill sends SIGKILL, and does not wait.
func (p *Process) kill() { p.signal(syscall.SIGKILL) }

// hasEnded reports whether the process has ended.
func (p *Process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// exit waits until the process ends, and returns its exit code, which is -1 after a signal.
func (p *Process) exit(ctx context.Context, limit time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("controller %s has not ended after %s", p.who, limit)
	}
}

// log returns what the process has printed.
func (p *Process) log() string {
	text, _ := os.ReadFile(p.logFile) // without it there is nothing to show
	return string(text)
}

// lastLines returns the end of it.
func (p *Process) lastLines(count int) string {
	lines := strings.Split(strings.TrimSpace(p.log()), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
