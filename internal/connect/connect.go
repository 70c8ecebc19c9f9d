// Package connect finds the cluster that a program talks to, and turns every failure to reach it
// into one line that says what to do.
//
// [Options.Load] finds the cluster, [Cluster.Greet] says which one it is, [Explain] words an error.
// It makes no clients: chapters do that themselves, from [Cluster.Config].
package connect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// errNoCluster means that nothing names a cluster: no flag, no variable, no .cluster folder, no pod around us.
var errNoCluster = errors.New("no cluster: start one with `make cluster`, or name a kubeconfig with --kubeconfig")

// Options say which cluster to talk to.
type Options struct {
	Kubeconfig string // path of a kubeconfig file
	Context    string // context in it; empty for the current one
	Writes     bool   // the program changes the cluster: $KUBECONFIG alone must not be enough
}

// Cluster is a cluster that was found. Nothing has been sent to it yet.
type Cluster struct {
	Config  *rest.Config
	Context string // name of the kubeconfig's context, or "in-cluster"
}

// AddFlags adds --kubeconfig and --context.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig file (default: $KUBECONFIG, then the workbook's .cluster/kubeconfig)")
	flags.StringVar(&o.Context, "context", "", "context in the kubeconfig (default: its current one)")
}

// Load looks for a cluster: --kubeconfig, $KUBECONFIG, the workbook's, and last the pod that the program runs in.
// It never looks into ~/.kube/config, because a learner's current context there can be production.
func (o *Options) Load() (*Cluster, error) {
	var files []string
	switch env := os.Getenv("KUBECONFIG"); {
	case o.Kubeconfig != "":
		files = []string{o.Kubeconfig}
	case env != "":
		if o.Writes && o.Context == "" {
			return nil, errors.New("this program changes the cluster it talks to: " +
				"confirm the one in $KUBECONFIG with --context NAME, or unset KUBECONFIG")
		}
		var err error
		if files, err = existing(env); err != nil {
			return nil, err
		}
	default:
		if file := Workbooks(); file != "" {
			files = []string{file}
			break
		}
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errNoCluster
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("in-cluster: %s: give the pod a token, without automountServiceAccountToken: false", oneLine(err))
		}
		if err != nil {
			return nil, fmt.Errorf("in-cluster: %s", oneLine(err))
		}
		return newCluster(config, "in-cluster"), nil
	}

	for _, file := range files {
		if err := check(file); err != nil {
			return nil, err
		}
	}
	source := "kubeconfig " + strings.Join(files, ", ")
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: files}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, malformed(source, files, err)
	}
	name := o.Context
	if name == "" {
		name = raw.CurrentContext
	}
	if err := checkContext(source, name, raw); err != nil {
		return nil, err
	}
	if err := checkFiles(source, name, raw); err != nil {
		return nil, err
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%s: %s", source, oneLine(err))
	}
	return newCluster(config, name), nil
}

func newCluster(config *rest.Config, context string) *Cluster {
	// No limit on the client's side: the server's priority and fairness decides who waits.
	// client-go's own default is 5 requests a second, which chapter 5 shows.
	config.QPS = -1
	return &Cluster{Config: config, Context: context}
}

// Workbooks returns the kubeconfig of the workbook's cluster, or "" without one: in $CLUSTER_DIR, where the scripts make the
// cluster if that is set, else in .cluster in the working folder or the nearest folder above.
func Workbooks() string {
	folder := os.Getenv("CLUSTER_DIR")
	if folder == "" {
		return FindUpwards(filepath.Join(".cluster", "kubeconfig"))
	}
	for _, name := range []string{"type", "kubeconfig"} { // without the first, the folder is another program's
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return ""
		}
	}
	return filepath.Join(folder, "kubeconfig")
}

// FindUpwards returns the path of name in the working folder or the nearest folder above that has it, or "".
func FindUpwards(name string) string {
	folder, err := os.Getwd()
	for err == nil {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			break
		}
		folder = parent
	}
	return ""
}

// Greet asks the server for its version and returns the line that every program starts with:
// which cluster this is. It gives up after 30 seconds: on a busy machine the answer takes some.
func (c *Cluster) Greet(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		return "", err
	}
	version, err := client.ServerVersionWithContext(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("context %s, server %s, Kubernetes %s", c.Context, c.Config.Host, version.GitVersion), nil
}
