package main

import (
	"bytes"
	"context"
	"crypto/tls"
	_ "embed" // kwokctl.yaml and audit.yaml
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/template"
	"time"

	"example.com/client-go-workbook/scripts/cluster/ports"
)

// local is the local cluster of a folder: a real etcd and Kubernetes control plane, run as plain processes, with kwok in
// the place of the kubelets: it marks pods as running, but runs no containers. kwokctl makes its keys and settings and
// starts it.
type local struct {
	*cluster
	folder string // of kwokctl's files
}

// kwokName is the cluster's name for kwokctl: in each folder the same.
const kwokName = "workbook"

func (c *cluster) local() local {
	return local{c, filepath.Join(c.folder, ".kwok", "clusters", kwokName)}
}

// nodes are how many kwok makes, each with room for 4000 pods. They share the addresses 10.244.x.x of a /18, which are enough.
const nodes = 4

var nodeParameters = []string{
	"--param=.allocatable.pods=4000",
	"--param=.allocatable.cpu=400",
	`--param=.allocatable.memory="4Ti"`,
	`--param=.podCIDRs=["10.244.0.0/18"]`,
	`--param=.nodeIPs=["192.0.2.1"]`,
}

//go:embed kwokctl.yaml
var kwokctlYAML string

//go:embed audit.yaml
var auditYAML []byte

// localUp starts a local cluster. One that is not whole is stopped and started again on its data, whatever is wrong with it: all data are
// etcd's, on the disk.
func (c *cluster) localUp(ctx context.Context) error {
	p := newPrograms(c.root, c.cache)
	if err := p.build(ctx); err != nil {
		return err
	}
	l := c.local()
	for _, folder := range []string{c.folder, filepath.Dir(filepath.Dir(l.folder)), l.folder} {
		os.Chmod(folder, 0o700) // a cluster of an earlier version was readable for more
	}
	hasObjects := l.hasData() && l.wasUp()
	before, missing := l.ports(), l.missing()
	if len(missing) == 0 && l.answers(ctx) && c.missing(ctx) == "" {
		return nil // its API server was slow
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !hasObjects:
		say("Starting a local cluster: Kubernetes %s, without containers.", p.version())
	case len(missing) > 0:
		say("The local cluster is not whole, starting it again. Not running: %s", strings.Join(missing, " "))
	default:
		say("The local cluster runs, but is not ready: starting it again.")
	}

	err := l.startAll(ctx, p)
	var damaged *damagedError
	if errors.As(err, &damaged) && l.hasData() {
		if err := l.moveDataAside(damaged); err != nil {
			return err
		}
		hasObjects = false
		err = l.startAll(ctx, p)
	}
	if err != nil {
		return err
	}

	switch {
	case !hasObjects:
		say("The cluster is up.")
	case before.APIServer != 0 && before.APIServer != l.ports().APIServer:
		say("Another program had taken a port of it. The cluster is up again at another, its objects are still there.")
	default:
		say("The cluster is up again, its objects are still there.")
	}
	return nil
}

// startAll stops what runs and starts everything, again with other ports where another program has taken one. After an error nothing runs,
// unless ctx has ended.
func (l local) startAll(ctx context.Context, p programs) error {
	for try := 0; ; try++ {
		err := l.startAndWait(ctx, p, try)
		if err == nil || ctx.Err() != nil {
			return err
		}
		var taken *portTakenError
		stopped := l.stop()
		if !errors.As(err, &taken) || try == 20 || stopped != nil {
			return errors.Join(err, stopped)
		}
	}
}

// startAndWait returns when the cluster is whole, or cannot become so.
func (l local) startAndWait(ctx context.Context, p programs, try int) error {
	if err := l.stop(); err != nil {
		return err
	}
	if err := l.linkData(); err != nil {
		return err
	}
	if err := l.create(ctx, p, try); err != nil {
		return err
	}
	if err := l.wait(ctx, nil, "the API server to be ready", nil); err != nil {
		return err
	}
	return l.finish(ctx, p)
}

// moveDataAside makes room for a cluster without objects, where etcd cannot read its data.
func (l local) moveDataAside(damaged *damagedError) error {
	aside := l.aside()
	os.Remove(l.kubectl()) // made at the end: without it, the cluster is not whole
	if err := errors.Join(l.linkData(), os.Rename(l.data(), aside)); err != nil {
		return err
	}
	say("etcd cannot go on from its data: %s", damaged.words)
	say("The data are moved to %s, and the cluster begins again without objects.", aside)
	return nil
}

// hasData reports whether etcd has ever written anything.
func (l local) hasData() bool {
	return exists(filepath.Join(l.data(), "member")) || exists(filepath.Join(l.folder, "etcd", "member"))
}

// data is where etcd's data are. They were in kwokctl's folder, where there is a link to them now: a kwokctl that fails removes its folder.
func (l local) data() string { return filepath.Join(l.cluster.folder, ".kwok", "etcd") }

// linkData makes that link. A folder in its place is of an earlier version, or was put there from a snapshot.
func (l local) linkData() error {
	link := filepath.Join(l.folder, "etcd")
	if _, err := os.Readlink(link); err != nil && exists(filepath.Join(link, "member")) {
		if exists(filepath.Join(l.data(), "member")) {
			if err := os.Rename(l.data(), l.aside()); err != nil {
				return err
			}
		}
		if err := errors.Join(os.RemoveAll(l.data()), os.Rename(link, l.data())); err != nil {
			return err
		}
	}
	return errors.Join(os.MkdirAll(l.data(), 0o700), os.MkdirAll(l.folder, 0o700), os.RemoveAll(link), os.Symlink("../../etcd", link))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// aside is where data are moved with which the cluster does not go on.
func (l local) aside() string {
	return filepath.Join(l.cluster.folder, "etcd-damaged-"+time.Now().Format("20060102-150405"))
}

// create has kwokctl write the cluster's keys and settings and start its components. The keys and etcd's data that are there stay as they
// are. Killed in the middle, it is just run again.
func (l local) create(ctx context.Context, p programs, try int) error {
	wanted := l.ports()
	if try > 0 || wanted.Etcd == 0 || !ports.AllFree(wanted.List(), 3*time.Second) {
		for wanted = ports.Of(l.realPath(), try); slices.ContainsFunc(wanted.List(), ports.Taken); try++ {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			wanted = ports.Of(l.realPath(), try+1)
		}
	}
	keys := filepath.Join(l.folder, "pki")
	if _, err := tls.LoadX509KeyPair(filepath.Join(keys, "admin.crt"), filepath.Join(keys, "admin.key")); err != nil {
		if err := os.RemoveAll(keys); err != nil { // half of them, or none: kwokctl takes the folder for all
			return err
		}
	}
	before := filepath.Join(l.folder, "logs.before") // they say what had happened
	_ = errors.Join(os.RemoveAll(before), os.Rename(filepath.Join(l.folder, "logs"), before))
	// bin has links to the programs. With a link that leads nowhere, kwokctl would fail.
	for _, name := range []string{"kwok.yaml", "pids", "bin"} {
		if err := os.RemoveAll(filepath.Join(l.folder, name)); err != nil {
			return err
		}
	}
	var config bytes.Buffer
	if err := template.Must(template.New("").Parse(kwokctlYAML)).Execute(&config, wanted); err != nil {
		return err
	}
	if err := errors.Join(l.write("kwokctl.yaml", config.Bytes()), l.write("audit.yaml", auditYAML)); err != nil {
		return err
	}

	arguments := []string{"create", "cluster", "--config=kwokctl.yaml",
		"--kubeconfig=" + filepath.Join(l.cluster.folder, ".kwok", "kubeconfig")}
	for _, name := range components {
		arguments = append(arguments, "--"+name+"-binary="+p.path(name))
	}
	kwokctl, closeLog, err := l.kwokctl(ctx, p, arguments...)
	if err != nil {
		return err
	}
	defer closeLog()
	if err := kwokctl.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- kwokctl.Wait() }()
	for !l.created() {
		select {
		case <-ctx.Done():
			kwokctl.Process.Kill()
			<-ended
			return ctx.Err()
		case err := <-ended:
			if err != nil && !l.created() {
				// On a full disk it cannot write down why.
				probe := partialPrefix + "probe"
				if full := l.write(probe, make([]byte, 64<<10)); full != nil {
					return full
				}
				os.Remove(filepath.Join(l.cluster.folder, probe))
				return fmt.Errorf("kwokctl cannot make the cluster: %w: see %s", err, kwokctl.Stderr.(*os.File).Name())
			}
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
	// All components are started. It would now wait for them, with a patience of its own.
	kwokctl.Process.Kill()
	<-ended
	return nil
}

// created reports whether kwokctl has started all components.
func (l local) created() bool {
	if _, err := l.settings(); err != nil {
		return false
	}
	return !slices.ContainsFunc(components, func(name string) bool {
		_, err := os.Stat(filepath.Join(l.folder, "pids", name+".pid"))
		return err != nil
	})
}

// kwokctl prepares a call of it. It keeps its files in ~/.kwok, hence the other HOME (a space would end KWOK_WORKDIR),
// and reads the name of its configuration as a list, hence a name without folders, which may have a comma.
func (l local) kwokctl(ctx context.Context, p programs, arguments ...string) (cmd *exec.Cmd, closeLog func() error, err error) {
	log, err := os.OpenFile(filepath.Join(l.cluster.folder, "kwokctl.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd = exec.CommandContext(ctx, p.path("kwokctl"), append([]string{"--name=" + kwokName}, arguments...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = l.cluster.folder, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // or Ctrl-C would have it remove its folder
	cmd.Env = append(os.Environ(), "HOME="+l.cluster.folder, "KWOK_WORKDIR=", "PATH="+p.folder()+":"+os.Getenv("PATH"))
	return cmd, log.Close, nil
}

// nodeLeases are the Leases of the nodes. A kwok takes a node when the Lease of the kwok before has run out, after 200 seconds, in which
// no pod would run: so they are deleted.
const nodeLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

// finish makes a cluster whose components run whole: nodes, kubectl, and at last the kubeconfig.
func (l local) finish(ctx context.Context, p programs) error {
	api, err := l.api()
	if err != nil {
		return err
	}
	if _, all, err := api.readyNodes(ctx); err != nil || all < nodes {
		kwokctl, closeLog, err := l.kwokctl(ctx, p, append([]string{"scale", "node", fmt.Sprintf("--replicas=%d", nodes)},
			nodeParameters...)...)
		if err != nil {
			return err
		}
		defer closeLog()
		if err := kwokctl.Run(); err != nil {
			return fmt.Errorf("kwokctl cannot make the nodes: %w: see %s", err, filepath.Join(l.cluster.folder, "kwokctl.log"))
		}
	} else if err := errors.Join(l.stop("kwok-controller"), api.delete(ctx, nodeLeases)); err != nil { // wait starts it again
		return err
	}
	if err := l.wait(ctx, nil, "the nodes to be ready", api.takesPods); err != nil {
		return err
	}
	kubectl := l.kubectl()
	if target, err := os.Readlink(kubectl); err != nil || target != p.path("kubectl") {
		os.Remove(kubectl)
		if err := errors.Join(os.MkdirAll(filepath.Dir(kubectl), 0o700), os.Symlink(p.path("kubectl"), kubectl)); err != nil {
			return err
		}
	}
	return l.cluster.writeKubeconfig(api)
}
