package main

import (
	"context"
	"encoding/base64"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/06-crd-codegen/crd"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
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
		"a lease that is no whole number of seconds": {[]string{"--leader-elect", "--lease-duration=1900ms"}, "whole seconds, from 1s to 1h"},
		"a lease that is too short":                  {[]string{"--lease-duration=0s"}, "whole seconds, from 1s to 1h"},
		"a bad duration":                             {[]string{"--resync=1"}, "missing unit"},
	} {
		t.Run(name, func(t *testing.T) {
			code, line := runProgram(t, test.args...)
			if code != 2 || !strings.Contains(line, test.want) {
				t.Errorf("exit code %d, %q, want 2 and %q", code, line, test.want)
			}
		})
	}
}

// TestPasswordIsNotLogged runs the program with the most that client-go can log.
func TestPasswordIsNotLogged(t *testing.T) {
	for _, watchList := range []string{"true", "false"} { // without streaming lists, an answer has all Secrets
		w := newWorld(t)
		w.make("first")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		command := exec.CommandContext(ctx, os.Args[0], "--kubeconfig="+testcluster.Kubeconfig(t), "--namespace="+w.namespace, "-v=10", "--leader-elect")
		command.Env = append(os.Environ(), mainVar+"=1", "KUBE_FEATURE_WatchListClient="+watchList)
		command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
		var output buffer
		command.Stdout, command.Stderr = &output, &output
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		w.untilReady("first", reasonReplicasReady)
		got(w.databases.Patch(t.Context(), "first", types.MergePatchType, []byte(`{"spec": {"deletionPolicy": "Retain"}}`), metav1.PatchOptions{}))(w)
		until(w, "the Secret is written again", get(w.client.CoreV1().Secrets(w.namespace).Get, "db-root"), func(s *corev1.Secret) bool { return len(s.OwnerReferences) == 0 })
		if err := w.databases.Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		untilGone(w, "the DatabaseManager", w.databases.Get, "first")
		cancel()
		_ = command.Wait()
		password := w.secret("db-root").Data["password"]
		log := output.String()
		for _, secret := range []string{string(password), base64.StdEncoding.EncodeToString(password)} {
			if n := strings.Count(log, secret); n > 0 {
				t.Errorf("WatchListClient=%s: the password is in the log %d times", watchList, n)
			}
		}
		if !strings.Contains(log, "/secrets/db-root") {
			t.Errorf("WatchListClient=%s: the requests are not in the log: %d bytes", watchList, len(log))
		}
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

// TestCRDGoneAndBack deletes the CRD while the controller runs, and installs it again. A CRD is only gone when its last
// object is, so this also waits for the controller to take its finalizer off.
func TestCRDGoneAndBack(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster of its own")
	}
	config := testcluster.Start(t).Config()
	if err := crd.Install(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, config: config, namespace: testcluster.Namespace(t, config)}
	w.client = kubernetes.NewForConfigOrDie(config)
	w.databases = versioned.NewForConfigOrDie(config).CoolopsV1alpha1().DatabaseManagers(w.namespace)
	_, stop := w.run(config)

	w.make("kept", func(spec *dbv1alpha1.DatabaseManagerSpec) { spec.DeletionPolicy = dbv1alpha1.DeletionPolicyRetain })
	w.untilReady("kept", reasonReplicasReady)
	secret := w.secret("db-root").UID
	definitions := dynamic.NewForConfigOrDie(config).Resource(apiextensions)
	if err := definitions.Delete(t.Context(), "databasemanagers.coolops.cn", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(w, "the CRD is gone", func(ctx context.Context) (error, error) {
		_, err := definitions.Get(ctx, "databasemanagers.coolops.cn", metav1.GetOptions{})
		return err, nil
	}, apierrors.IsNotFound)
	if now := w.secret("db-root"); now.UID != secret || now.DeletionTimestamp != nil {
		t.Errorf("the retained Secret is another or on its way out: %+v", now.ObjectMeta)
	}

	if err := crd.Install(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	w.make("again", func(spec *dbv1alpha1.DatabaseManagerSpec) { spec.DeploymentName = "again" })
	w.untilReady("again", reasonReplicasReady)
	stop()
}

var apiextensions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
