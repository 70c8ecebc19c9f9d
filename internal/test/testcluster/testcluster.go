// Package testcluster gives tests a real API server.
//
// [Config], [Kubeconfig] and [Namespace] are for tests that share the workbook's cluster, the one that
// `make cluster` starts. [Start] makes a private cluster, for tests that stop its API server or compact its etcd: one at a time.
//
// Where there is no cluster, such tests are skipped; with REQUIRE_CLUSTER in the environment they fail instead. A benchmark
// always fails: who asks for one wants figures, and a skip would print PASS and none.
// They never use ~/.kube/config, and $KUBECONFIG only with the test flag -context NAME: a test must not write
// to a cluster that its user has not named.
package testcluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"example.com/client-go-workbook/internal/connect"
	"example.com/client-go-workbook/internal/test/testkit"
	"example.com/client-go-workbook/scripts/cluster/marker"
)

var contextFlag = flag.String("context", "", "test on this context of $KUBECONFIG instead of the workbook's cluster")

// workbookContext is the context's name in every kubeconfig that the workbook's scripts write.
const workbookContext = "workbook"

var errNoCluster = errors.New("no cluster: `make cluster` starts one")

// Config returns the configuration of the cluster that tests share, without a limit on the client's side.
// It skips the test if there is none, or none that answers within 2 seconds; with REQUIRE_CLUSTER, it fails after a minute.
// A benchmark fails in both cases.
func Config(t testing.TB) *rest.Config {
	t.Helper()
	return restConfig(t, shared(t))
}

// Kubeconfig is [Config] for tests that run a program: the path of a kubeconfig whose only context is that cluster's.
func Kubeconfig(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*shared(t), file); err != nil {
		t.Fatal(err)
	}
	return file
}

// KubeconfigOf is [Kubeconfig] for the config of [AsServiceAccount].
func KubeconfigOf(t testing.TB, config *rest.Config) string {
	t.Helper()
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[workbookContext] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos[workbookContext] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	kubeconfig.Contexts[workbookContext] = &clientcmdapi.Context{Cluster: workbookContext, AuthInfo: workbookContext}
	kubeconfig.CurrentContext = workbookContext
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// Root returns the repository's root: the nearest folder from the working folder upwards that has a go.mod.
func Root(t testing.TB) string {
	t.Helper()
	testkit.Anew()
	mod := connect.FindUpwards("go.mod")
	if mod == "" {
		t.Fatal("no go.mod here or above: run the tests inside the repository")
	}
	return filepath.Dir(mod)
}

// AsUser returns a copy of config whose requests are made, and authorized, as that user.
func AsUser(config *rest.Config, user string) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return config
}

// Namespace makes a namespace for this test alone and returns its name, which begins with the test's.
// It is deleted when the test ends, which doesn't wait until it is gone.
func Namespace(t testing.TB, config *rest.Config) string {
	t.Helper()
	client := typedcorev1.NewForConfigOrDie(config)
	namespace, err := client.Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: namePrefix(t.Name())},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	t.Cleanup(func() {
		// Not the test's context: it is over by now.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err := client.Namespaces().Delete(ctx, namespace.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting namespace %s: %v", namespace.Name, err)
		}
	})

	// A controller adds the default ServiceAccount a moment later; until then admission refuses every pod.
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := client.ServiceAccounts(namespace.Name).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		t.Fatalf("waiting for the default ServiceAccount of namespace %s: %v", namespace.Name, err)
	}
	return namespace.Name
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// namePrefix turns a test's name into the beginning of a DNS label, which leaves room for what the server appends.
func namePrefix(test string) string {
	name := notInName.ReplaceAllString(strings.ToLower(test), "-")
	return "t-" + strings.Trim(name[:min(len(name), 50)], "-") + "-"
}

// search looks for the shared cluster once a process, so that a cluster that hangs costs 2 seconds and not 2 a test.
var search = sync.OnceValues(find)

func shared(t testing.TB) *clientcmdapi.Config {
	t.Helper()
	kubeconfig, err := search()
	switch {
	case err == nil:
	case *contextFlag != "": // asked for, so not to be left out silently
		t.Fatal(err)
	default:
		unavailable(t, err)
	}
	return kubeconfig
}

// unavailable ends a test that can't have its cluster.
func unavailable(t testing.TB, err error) {
	t.Helper()
	if _, isBenchmark := t.(*testing.B); isBenchmark || os.Getenv("REQUIRE_CLUSTER") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
}

func find() (*clientcmdapi.Config, error) {
	testkit.Anew()
	var kubeconfig *clientcmdapi.Config
	var err error
	if *contextFlag != "" {
		kubeconfig, err = load(*contextFlag, filepath.SplitList(os.Getenv("KUBECONFIG"))...)
	} else {
		file := connect.Workbooks()
		if file == "" {
			return nil, errNoCluster
		}
		// go test repeats an earlier result while no file has changed that the test has looked at: also one of a cluster
		// that has been stopped since. A cluster that runs changes this one all the time.
		_, _ = os.Stat(filepath.Join(filepath.Dir(file), ".kwok", "clusters", "workbook", "etcd", "member", "snap", "db"))
		kubeconfig, err = load(workbookContext, file)
	}
	if err != nil {
		return nil, err
	}

	config, err := clientcmd.NewDefaultClientConfig(*kubeconfig, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.Timeout = 2 * time.Second
	if os.Getenv("REQUIRE_CLUSTER") != "" {
		config.Timeout = time.Minute // it is there, but the machine may be busy
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	if _, err := client.ServerVersion(); err != nil {
		return nil, fmt.Errorf("the cluster doesn't answer: `make cluster` repairs the workbook's (%w)", err)
	}
	return kubeconfig, nil
}

// load reads one context of kubeconfig files, and the certificates that they name by path.
func load(name string, files ...string) (*clientcmdapi.Config, error) {
	for _, file := range files {
		if err := marker.CheckKubeconfig(file); err != nil {
			return nil, err
		}
	}
	kubeconfig, err := (&clientcmd.ClientConfigLoadingRules{Precedence: files}).Load()
	if err != nil {
		return nil, err
	}
	if kubeconfig.Contexts[name] == nil {
		return nil, fmt.Errorf("no context %q in kubeconfig %q: set $KUBECONFIG, or name another with -context",
			name, strings.Join(files, ", "))
	}
	kubeconfig.CurrentContext = name
	if err := clientcmdapi.MinifyConfig(kubeconfig); err != nil {
		return nil, err
	}
	return kubeconfig, clientcmdapi.FlattenConfig(kubeconfig)
}

func restConfig(t testing.TB, kubeconfig *clientcmdapi.Config) *rest.Config {
	t.Helper()
	config, err := clientcmd.NewDefaultClientConfig(*kubeconfig, nil).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1 // the server's priority and fairness decides who waits
	return config
}
