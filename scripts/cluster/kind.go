package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kind "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cmd"
)

// choose returns kind where a container runtime can run it, else local, and says why.
func choose(ctx context.Context, root string) (string, error) {
	name, why := containerRuntime(ctx)
	if ctx.Err() != nil { // or Ctrl-C would choose
		return "", ctx.Err()
	}
	if name == "" {
		say("Choosing the local cluster: %s (CLUSTER=kind|local decides).", cmp.Or(why, "neither Docker nor Podman answers"))
		return "local", nil
	}
	why = unfit(ctx, name)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if why != "" {
		say("Choosing the local cluster: %s (CLUSTER=kind|local decides).", why)
		return "local", nil
	}
	image, err := nodeImage(root)
	if err != nil {
		return "", err
	}
	if exec.CommandContext(ctx, name, "image", "inspect", image).Run() != nil {
		say("Pulling kind's node image with %s, for 5 minutes at most: %s", name, image)
		pulling, cancel := context.WithTimeout(ctx, 5*time.Minute)
		defer cancel()
		err := quick(pulling, name, "pull", "-q", image)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			say("Choosing the local cluster: %s answers, but the node image cannot be pulled (CLUSTER=kind|local decides).", name)
			return "local", nil
		}
	}
	say("Choosing a kind cluster: %s answers and has the node image (CLUSTER=kind|local decides).", name)
	return "kind", nil
}

// containerRuntime returns docker or podman, the first whose daemon answers within 3 seconds; or why none does, if one says it.
func containerRuntime(ctx context.Context) (name, why string) {
	for _, name := range []string{"docker", "podman"} {
		asking, cancel := context.WithTimeout(ctx, 3*time.Second)
		err := quick(asking, name, "ps", "-q")
		cancel()
		if failed := new(exec.ExitError); why == "" && errors.As(err, &failed) && failed.Exited() {
			asking, cancel := context.WithTimeout(ctx, 3*time.Second)
			again := exec.CommandContext(asking, name, "ps", "-q")
			again.WaitDelay = time.Second
			said, _ := again.CombinedOutput()
			cancel()
			words := strings.Split(strings.TrimSpace(string(said)), "\n")
			if last := words[len(words)-1]; last != "" {
				why = fmt.Sprintf("%s ps fails: %s", name, last)
			}
		}
		if err != nil || name == "docker" && strings.HasPrefix(answer(ctx, name, "-v"), "podman") {
			continue // kind's part for Docker fails where Podman calls itself docker
		}
		return name, ""
	}
	return "", why
}

// unfit says why a container runtime that answers cannot run a kind cluster; nothing if it can.
func unfit(ctx context.Context, name string) string {
	return cmp.Or(remote(ctx, name), lacksCgroups(ctx, name))
}

// remote says so if the daemon is on another machine: a kind cluster listens on 127.0.0.1 of that one, and its nodes mount files of
// that one. On this machine it has a socket, or a loopback address, as that of Podman's virtual machine on macOS.
func remote(ctx context.Context, name string) string {
	address := os.Getenv("CONTAINER_HOST") // Podman's
	if name == "docker" {
		address = answer(ctx, name, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}") // it knows DOCKER_HOST, too
	}
	daemon, err := url.Parse(strings.TrimSpace(address))
	if err != nil || daemon.Hostname() == "" || daemon.Hostname() == "localhost" || net.ParseIP(daemon.Hostname()).IsLoopback() {
		return ""
	}
	return fmt.Sprintf("%s's daemon is on another machine, %s", name, daemon.Redacted())
}

// lacksCgroups says what the daemon's control groups lack. Of a rootless one that is what kind refuses (validateProvider in its
// pkg/cluster/internal/create). At version 1 it only warns, but then a kubelet ends, unless kind-config.yaml sets failCgroupV1: so
// CLUSTER=kind may try it.
func lacksCgroups(ctx context.Context, name string) string {
	var info struct { // Docker's, and in Host Podman's
		CgroupVersion, CgroupDriver       string
		MemoryLimit, PidsLimit, CPUShares bool
		SecurityOptions                   []string
		Host                              struct {
			CgroupVersion     string
			CgroupControllers []string
			Security          struct{ Rootless bool }
		}
	}
	if json.Unmarshal([]byte(answer(ctx, name, "info", "--format", "{{json .}}")), &info) != nil {
		return "" // kind asks again, and says what is wrong
	}
	version1 := info.CgroupVersion == "1"
	rootless := slices.Contains(info.SecurityOptions, "name=rootless")
	limits := info.CgroupDriver != "none" && info.MemoryLimit && info.PidsLimit && info.CPUShares
	if name == "podman" {
		has := func(controller string) bool { return slices.Contains(info.Host.CgroupControllers, controller) }
		version1, rootless = info.Host.CgroupVersion == "v1", info.Host.Security.Rootless
		limits = info.Host.CgroupControllers == nil || has("memory") && has("pids") && has("cpu") // before version 4 it names none
	}
	switch {
	case version1:
		return name + " has control groups of version 1, with which no kubelet starts since Kubernetes 1.35"
	case rootless && !limits:
		return name + " is rootless and may not limit memory, processes and CPU, see https://kind.sigs.k8s.io/docs/user/rootless"
	}
	return ""
}

// answer returns what a program prints within 3 seconds; nothing if it fails.
func answer(ctx context.Context, name string, arguments ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.WaitDelay = time.Second
	output, err := cmd.Output()
	if err != nil {
		return ""
	}
	return string(output)
}

// quick runs a command, and does not wait for what it has started once the context has ended.
func quick(ctx context.Context, name string, arguments ...string) error {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.WaitDelay = time.Second
	return cmd.Run()
}

// wantedNodes is $NODES, how many nodes a kind cluster shall have; 0 where the reader leaves that to kind-config.yaml.
func wantedNodes() (int, error) {
	value := os.Getenv("NODES")
	if value == "" {
		return 0, nil
	}
	nodes, err := strconv.Atoi(value)
	if err != nil || nodes < 1 || nodes > 9 {
		return 0, usageError(fmt.Sprintf("NODES=%s is not a number from 1 to 9: unset it, or try NODES=3 CLUSTER=kind make cluster.",
			value))
	}
	return nodes, nil
}

// nodeImage is the image that kind-config.yaml pins; KIND_NODE_IMAGE takes another.
func nodeImage(root string) (string, error) {
	if image := os.Getenv("KIND_NODE_IMAGE"); image != "" {
		return image, nil
	}
	config, err := kindConfig(root, 1)
	if err != nil {
		return "", err
	}
	return config.Nodes[0].Image, nil
}

// kindConfig is kind-config.yaml, with workers added until it has this number of nodes.
func kindConfig(root string, nodes int) (*v1alpha4.Cluster, error) {
	data, err := os.ReadFile(filepath.Join(root, "kind-config.yaml"))
	if err != nil {
		return nil, err
	}
	var config v1alpha4.Cluster
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&config); err != nil {
		return nil, fmt.Errorf("kind-config.yaml: %w: correct the file", err)
	}
	if len(config.Nodes) == 0 {
		return nil, errors.New("kind-config.yaml has no nodes: add one with the role control-plane")
	}
	for len(config.Nodes) < nodes {
		first := config.Nodes[0]
		worker := v1alpha4.Node{Role: v1alpha4.WorkerRole, Image: first.Image, ExtraMounts: first.ExtraMounts}
		config.Nodes = append(config.Nodes, worker)
	}
	return &config, nil
}

// kindName is the cluster's name. All of kind's clusters share one list, so each checkout has a name of its own there.
func (c *cluster) kindName() string {
	if _, isCopy := c.origin(); !isCopy && c.clusterType() == "kind" && c.marker().Name != "" {
		return c.marker().Name
	}
	return fmt.Sprintf("workbook-%08x", c.number())
}

// wasUp reports whether the cluster was ever whole: then readers may have objects in it.
func (c *cluster) wasUp() bool {
	for _, path := range []string{filepath.Join(c.folder, "kubeconfig"), c.kubectl()} { // made at the end: see finish, kindFinish
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// kindKubeconfig is where kind writes its own kubeconfig, which nobody reads.
func (c *cluster) kindKubeconfig() string {
	path := filepath.Join(c.folder, "bin", "kubeconfig-of-kind")
	os.Remove(path + ".lock") // left by a killed call; no other call is running, as this one holds the cluster's lock
	return path
}

// kindProvider returns kind, with the container runtime that answers.
func kindProvider(ctx context.Context) (*kind.Provider, string, error) {
	name, why := containerRuntime(ctx)
	switch name {
	case "docker":
		return kind.NewProvider(kind.ProviderWithLogger(cmd.NewLogger()), kind.ProviderWithDocker()), name, nil
	case "podman":
		return kind.NewProvider(kind.ProviderWithLogger(cmd.NewLogger()), kind.ProviderWithPodman()), name, nil
	}
	return nil, "", messagef("The kind cluster needs Docker or Podman, and %s.", cmp.Or(why, "neither answers: start one"))
}

// kindUp starts a kind cluster: Kubernetes in containers, with a kubelet that runs containers.
func (c *cluster) kindUp(ctx context.Context, nodes int) error {
	provider, docker, err := kindProvider(ctx)
	if why := remote(ctx, docker); err == nil && why != "" {
		err = messagef("The kind cluster must be on this machine, and %s: "+
			"unset DOCKER_HOST or CONTAINER_HOST, or run docker context use default.", why)
	}
	if err != nil && !c.wasUp() {
		return messagef("%v Or take CLUSTER=local make cluster.", err)
	}
	if err != nil {
		return err
	}
	name := c.kindName()
	list, err := exec.CommandContext(ctx, docker, "ps", "-aq", "--filter", "label=io.x-k8s.kind.cluster="+name).Output()
	if err != nil {
		return fmt.Errorf("%s cannot list its containers: %w: run make doctor", docker, err)
	}
	containers := strings.Fields(string(list))
	switch {
	case len(containers) > 0 && c.wasUp():
		say("The kind cluster does not answer: starting its containers again.")
		if output, err := exec.CommandContext(ctx, docker, append([]string{"start"}, containers...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s cannot start the kind cluster's containers: %s: run make cluster-down to give it up",
				docker, strings.TrimSpace(string(output)))
		}
		if err := c.kindFinish(ctx, provider, docker, name); err != nil {
			return err
		}
		say("The cluster is up again, its objects are still there.")
		_, err := c.isUp(ctx, "kind", nodes) // its number of nodes may be another one
		return err
	case len(containers) > 0: // an interrupted first start
		say("The kind cluster was never whole: making it again.")
		if err := provider.Delete(name, c.kindKubeconfig()); err != nil {
			return err
		}
	case c.wasUp():
		say("The kind cluster's containers are gone: making a new one.")
		// The new one may be interrupted. Without these, it does not look like one that was whole.
		if err := errors.Join(os.RemoveAll(filepath.Join(c.folder, "kubeconfig")), os.RemoveAll(c.kubectl())); err != nil {
			return err
		}
	}
	config, err := kindConfig(c.root, nodes)
	if err != nil {
		return err
	}
	image, err := nodeImage(c.root)
	if err != nil {
		return err
	}
	options := []kind.CreateOption{
		kind.CreateWithV1Alpha4Config(config),
		kind.CreateWithNodeImage(image),
		kind.CreateWithKubeconfigPath(c.kindKubeconfig()),
		kind.CreateWithWaitForReady(3 * time.Minute),
		kind.CreateWithDisplayUsage(false),
	}
	if err := os.MkdirAll(filepath.Join(c.folder, "bin"), 0o700); err != nil {
		return err
	}
	defer os.Remove(c.kindKubeconfig()) // kindFinish writes the workbook's own
	err = provider.Create(name, options...)
	if err != nil && strings.Contains(err.Error(), "could not find a log line") {
		// kind reads in the containers' log that the nodes have begun, for 30 seconds. A busy machine needs longer, and in some
		// versions of Docker the log stands still (github.com/kubernetes-sigs/kind/issues/3758).
		say("kind has not seen a node begin: trying once more.")
		first := err
		if err = provider.Create(name, options...); err != nil {
			err = errors.Join(first, err)
		}
	}
	if err != nil {
		return messagef("%v\nkind could not make the cluster: see above, run make doctor, or take CLUSTER=local make cluster.", err)
	}
	if err := c.kindFinish(ctx, provider, docker, name); err != nil {
		return err
	}
	say("The cluster is up.")
	return nil
}

// kindFinish waits until the cluster answers and takes pods, and writes the kubeconfig at last.
func (c *cluster) kindFinish(ctx context.Context, provider *kind.Provider, docker, name string) error {
	if err := c.kindKubectl(ctx, provider, docker, name); err != nil {
		return err
	}
	text, err := provider.KubeConfig(name, false)
	if err != nil {
		return err
	}
	api, err := parseKubeconfig([]byte(text))
	if err != nil {
		return err
	}
	if err := until(ctx, "the API server to be ready", api.ready); err != nil {
		return err
	}
	if err := until(ctx, "the nodes to be ready", api.takesPods); err != nil {
		return err
	}
	return c.writeKubeconfig(api)
}

// kindKubectl takes the node's kubectl, where it runs on this machine, too; else it downloads one, or builds one, which takes minutes.
func (c *cluster) kindKubectl(ctx context.Context, provider *kind.Provider, docker, name string) error {
	if _, err := os.Stat(c.kubectl()); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.kubectl()), 0o700); err != nil {
		return err
	}
	nodes, err := provider.ListNodes(name)
	if err != nil || len(nodes) == 0 {
		return fmt.Errorf("the kind cluster %s has no nodes: run make cluster-down, then make cluster", name)
	}
	partial := c.kubectl() + ".partial"
	defer os.Remove(partial)
	var path bytes.Buffer
	err = nodes[0].CommandContext(ctx, "which", "kubectl").SetStdout(&path).Run()
	if err == nil {
		err = exec.CommandContext(ctx, docker, "cp", nodes[0].String()+":"+strings.TrimSpace(path.String()), partial).Run()
	}
	if err == nil && runsHere(partial) {
		return os.Rename(partial, c.kubectl())
	}
	p := newPrograms(c.root, c.cache)
	if err := p.build(ctx, kubectlPackage); err != nil {
		return err
	}
	os.Remove(c.kubectl()) // a link to a program that is gone
	return os.Symlink(filepath.Join(p.folder(kubectlPackage), "kubectl"), c.kubectl())
}

// runsHere reports whether a program is one for this machine.
func runsHere(path string) bool {
	machine, known := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	file, err := elf.Open(path)
	if err != nil || !known || runtime.GOOS != "linux" {
		return false
	}
	defer file.Close()
	return file.Machine == machine
}

func (c *cluster) kindDown(ctx context.Context) error {
	provider, _, err := kindProvider(ctx)
	if err != nil && ctx.Err() == nil && !c.wasUp() {
		return nil // CLUSTER=kind, and there was never a Docker: what must be removed is the folder
	}
	if err != nil {
		return messagef("%v Or remove the folder %s: the containers then stay.", err, c.path)
	}
	return provider.Delete(c.kindName(), c.kindKubeconfig())
}
