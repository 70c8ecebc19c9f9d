package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/process"
	"go.yaml.in/yaml/v3"

	"example.com/client-go-workbook/scripts/cluster/ports"
)

// components are the local cluster's processes, in the order in which they need each other.
var components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller"}

// settings is what kwokctl has written down about the cluster that it made: how each component is started.
type settings struct {
	Options struct {
		Etcd              int `yaml:"etcdPort"`
		EtcdPeer          int `yaml:"etcdPeerPort"`
		APIServer         int `yaml:"kubeApiserverPort"`
		ControllerManager int `yaml:"kubeControllerManagerPort"`
		Scheduler         int `yaml:"kubeSchedulerPort"`
		Kwok              int `yaml:"kwokControllerPort"`
	}
	Components []component
}

type component struct {
	Name, Binary string
	WorkDir      string `yaml:"workDir"`
	Args         []string
	Envs         []struct{ Name, Value string }
}

func (s settings) ports() ports.Ports { return ports.Ports(s.Options) }

// ports returns the ports that kwokctl was last told; none if it never was.
func (l local) ports() ports.Ports {
	var s settings
	data, err := os.ReadFile(filepath.Join(l.cluster.folder, "kwokctl.yaml"))
	if err == nil {
		_ = yaml.Unmarshal(data, &s) // it is written whole
	}
	return s.ports()
}

// settings reads what kwokctl has written down. It fails where kwokctl has not ended its work.
func (l local) settings() (settings, error) {
	var s settings
	data, err := os.ReadFile(filepath.Join(l.folder, "kwok.yaml"))
	if err != nil {
		return s, err
	}
	if err := yaml.Unmarshal(data, &s); err != nil { // the first of several documents
		return s, err
	}
	for _, name := range components {
		if !slices.ContainsFunc(s.Components, func(c component) bool { return c.Name == name }) {
			return s, fmt.Errorf("kwok.yaml has no component %s", name)
		}
	}
	return s, nil
}

// running returns the process ids of the cluster's processes by name. They are found by their arguments, which all
// name the cluster's folder: a pid file is worth nothing after a reboot, when the number is another program's.
func (l local) running() map[string]int {
	pids := map[string]int{}
	all, err := process.Pids()
	if err != nil {
		return pids
	}
	for _, pid := range all {
		arguments, err := (&process.Process{Pid: pid}).CmdlineSlice() // empty for one that has ended
		if err != nil || len(arguments) == 0 {
			continue
		}
		name := filepath.Base(arguments[0])
		if !slices.Contains(components, name) && name != "kwokctl" {
			continue
		}
		inFolder := func(argument string) bool { return strings.Contains(argument, "="+l.cluster.folder+"/.kwok/") }
		if slices.ContainsFunc(arguments[1:], inFolder) {
			pids[name] = int(pid)
		}
	}
	return pids
}

// cpu returns the CPU seconds of the cluster's processes, each since it was started.
func (l local) cpu() (seconds float64) {
	for _, pid := range l.running() {
		if times, err := (&process.Process{Pid: int32(pid)}).Times(); err == nil {
			seconds += times.User + times.System
		}
	}
	return seconds
}

// count adds the CPU seconds to the file that $WORKBOOK_CLUSTERS names, in which make test counts the clusters that tests make.
func (l local) count() error {
	name := os.Getenv("WORKBOOK_CLUSTERS")
	if name == "" || len(l.running()) == 0 {
		return nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%.0f\n", l.cpu())
	return errors.Join(err, file.Close())
}

// missing returns the names of those components that do not run.
func (l local) missing() []string {
	running := l.running()
	return slices.DeleteFunc(slices.Clone(components), func(name string) bool { return running[name] != 0 })
}

// start starts a component as kwokctl did. It goes on when this program ends.
func (l local) start(s settings, name string) error {
	for _, c := range s.Components {
		if c.Name != name {
			continue
		}
		log, err := os.OpenFile(l.log(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer log.Close()
		cmd := exec.Command(c.Binary, c.Args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = c.WorkDir, log, log
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // or Ctrl-C would end it, too
		cmd.Env = os.Environ()
		for _, env := range c.Envs {
			cmd.Env = append(cmd.Env, env.Name+"="+env.Value)
		}
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("%s cannot be started: %w", name, err)
		}
		return cmd.Process.Release()
	}
	return fmt.Errorf("kwok.yaml has no component %s", name)
}

// stop ends components, all if none is named, and returns when they are gone and their ports are free. It kills them,
// as kwokctl does: etcd's data survive that, and no other component writes any.
func (l local) stop(names ...string) error {
	var used []int
	if s, err := l.settings(); err == nil {
		switch {
		case len(names) == 0:
			used = s.ports().List()
		case slices.Contains(names, "kube-apiserver"):
			used = []int{s.ports().APIServer}
		}
	}
	killed := false
	for deadline := time.Now().Add(time.Minute); ; {
		alive := false
		for name, pid := range l.running() {
			if len(names) == 0 || slices.Contains(names, name) {
				alive, killed = true, true
				err := syscall.Kill(pid, syscall.SIGKILL)
				if time.Now().After(deadline) {
					err = errors.New("it was killed, and does not end")
				}
				if err != nil && !errors.Is(err, syscall.ESRCH) {
					return fmt.Errorf("%s (process %d) cannot be stopped: %w", name, pid, err)
				}
			}
		}
		if !alive {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if killed {
		// The system closes the sockets of a killed process a little later than it forgets its arguments.
		ports.AllFree(used, 10*time.Second)
	}
	return nil
}

func (l local) log(name string) string { return filepath.Join(l.folder, "logs", name+".log") }

// logs returns the length of each component's log.
func (l local) logs() map[string]int64 {
	sizes := map[string]int64{}
	for _, name := range components {
		if info, err := os.Stat(l.log(name)); err == nil {
			sizes[name] = info.Size()
		}
	}
	return sizes
}

var errorLine = regexp.MustCompile(`"level":"(?i:fatal|panic|error)"|^[EF]\d{4} |^(panic|fatal error|Error|error):|runtime: `)

// lastWords returns what a component has logged behind this position, as far as it counts, and the last error in it, on
// one line.
func (l local) lastWords(name string, after int64) (log, last string) {
	data, err := os.ReadFile(l.log(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err.Error()
	}
	data = data[min(after, int64(len(data))):]
	for line := range strings.Lines(string(data[max(0, len(data)-64<<10):])) {
		if strings.Contains(line, "fsnotify") {
			continue // too many open files, it says, but of inotify's: the component runs on without
		}
		log += line
		line = strings.TrimSpace(line)
		if errorLine.MatchString(line) {
			last = line
		}
	}
	var entry struct{ Msg, Error, Err string } // etcd's and kwok's way
	if json.Unmarshal([]byte(last), &entry) == nil {
		last = strings.TrimSuffix(entry.Msg+": "+entry.Error+entry.Err, ": ")
	}
	return log, last[:min(len(last), 400)]
}
