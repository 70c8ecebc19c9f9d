package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/clientcmd"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/cutter"
	"example.com/client-go-workbook/internal/election"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/testcluster"
)

// The tests here run the controller as a process of its own, to kill it. That process is this test's program again,
// told by its environment to be the controller.
const (
	namespaceVar  = "WORKBOOK_TEST_NAMESPACE"
	killAfterVar  = "WORKBOOK_TEST_KILL_AFTER" // that many writes
	leaderVar     = "WORKBOOK_TEST_LEADER_ELECT"
	leaseVar      = "WORKBOOK_TEST_LEASE"  // its duration
	cutVar        = "WORKBOOK_TEST_CUT"    // the connections are cut that often
	listenVar     = "WORKBOOK_TEST_LISTEN" // for /metrics
	writesVar     = "WORKBOOK_TEST_WRITES" // a file that gets a line for each write
	kubeconfigVar = "WORKBOOK_TEST_KUBECONFIG"
	mainVar       = "WORKBOOK_TEST_MAIN" // not only the controller, the whole program with its flags
)

func TestMain(m *testing.M) {
	if os.Getenv(mainVar) != "" {
		main()
	}
	if os.Getenv(namespaceVar) == "" {
		// The second handler sleeps if the last error was less than a millisecond ago. After an error in a test with
		// today's clock, that is 26 years for one in a synctest bubble, where it's the year 2000.
		utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
		os.Exit(m.Run())
	}
	if err := beController(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func beController() error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(kubeconfigVar))
	if err != nil {
		return err
	}
	config.QPS = -1
	if os.Getenv(leaderVar) != "" {
		hold := make(chan os.Signal, 1)
		signal.Notify(hold, syscall.SIGUSR1)
		var held atomic.Bool
		go func() {
			<-hold
			held.Store(true)
		}()
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(request *http.Request) (*http.Response, error) {
				lease := strings.Contains(request.URL.Path, "/leases")
				if lease && held.Load() { // from SIGUSR1 on
					<-request.Context().Done()
					return nil, request.Context().Err()
				}
				if !lease && request.Method != http.MethodGet {
					fmt.Printf("WRITE %d %s %s\n", time.Now().UnixNano(), request.Method, request.URL.Path)
				}
				return next.RoundTrip(request)
			})
		})
	}
	if killAfter, err := strconv.Atoi(os.Getenv(killAfterVar)); err == nil {
		var writes atomic.Int64
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(request *http.Request) (*http.Response, error) {
				response, err := next.RoundTrip(request)
				if request.Method != http.MethodGet && !strings.HasSuffix(request.URL.Path, "/events") && writes.Add(1) == int64(killAfter) {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
					select {}
				}
				return response, err
			})
		})
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if every, err := time.ParseDuration(os.Getenv(cutVar)); err == nil {
		cuts := cutter.Cutter{After: every, For: 500 * time.Millisecond, Times: 1 << 30}
		config.Dial = cuts.Dial
		go cuts.Run(ctx, io.Discard)
	}
	if name := os.Getenv(writesVar); name != "" {
		file, err := os.Create(name)
		if err != nil {
			return err
		}
		defer file.Close()
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return keepWrites(file, next) })
	}
	s := settings{
		namespace: os.Getenv(namespaceVar), workers: 2, drainFor: time.Second,
		election: election.Options{Enabled: os.Getenv(leaderVar) != "", LeaseDuration: 10 * time.Second}, // long enough for a busy machine
	}
	if lease, err := time.ParseDuration(os.Getenv(leaseVar)); err == nil {
		s.election.LeaseDuration = lease
	}
	if address := os.Getenv(listenVar); address != "" {
		if s.server.Listener, err = net.Listen("tcp", address); err != nil {
			return err
		}
	}
	return run(ctx, config, s, program.NewPrinter(os.Stdout))
}

// process is a controller that runs as a process.
type process struct {
	*exec.Cmd
	output buffer
	ended  chan struct{}
}

func (w *world) start(kubeconfig string, variables ...string) *process {
	w.Helper()
	p := &process{Cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	p.Env = append(os.Environ(), append(variables, namespaceVar+"="+w.namespace, kubeconfigVar+"="+kubeconfig)...)
	p.Stdout = &p.output
	p.Stderr = &p.output
	if err := p.Start(); err != nil {
		w.Error(err)
		close(p.ended)
		return p
	}
	go func() {
		_ = p.Wait()
		close(p.ended)
	}()
	w.Cleanup(func() {
		if p.Process != nil {
			_ = p.Process.Kill()
		}
		<-p.ended
		if strings.Contains(p.output.String(), "DATA RACE") {
			w.Error(p.output.String())
		}
	})
	return p
}

// TestKilledBetweenWrites kills the controller with SIGKILL after its first write, its second, and so on, starts
// another, and wants the same world in the end, whichever write it was.
func TestKilledBetweenWrites(t *testing.T) {
	kubeconfig := testcluster.Kubeconfig(t)
	for name, policy := range map[string]dbv1alpha1.DeletionPolicy{"Delete": dbv1alpha1.DeletionPolicyDelete, "Retain": dbv1alpha1.DeletionPolicyRetain} {
		t.Run(name, func(t *testing.T) {
			want, killed := newWorld(t).liveAndDie(kubeconfig, policy, 0)
			if killed {
				t.Fatal("killed without being told to")
			}
			// All positions: until one is not reached any more. Some at a time.
			var mu sync.Mutex
			positions, next := 0, 0
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					for {
						mu.Lock()
						next++
						position := next
						mu.Unlock()
						reached := true
						t.Run(fmt.Sprintf("after write %d", position), func(t *testing.T) {
							var got []string
							got, reached = newWorld(t).liveAndDie(kubeconfig, policy, position)
							if diff := cmp.Diff(want, got); diff != "" {
								t.Errorf("the world in the end (-not killed +killed):\n%s", diff)
							}
						})
						if !reached || t.Failed() {
							return
						}
						mu.Lock()
						positions++
						mu.Unlock()
					}
				})
			}
			group.Wait()
			if positions < 8 {
				t.Errorf("only %d positions", positions)
			}
			t.Logf("killed at %d positions", positions)
		})
	}
}

// liveAndDie takes a DatabaseManager through its life, with a controller that is killed after that many writes and
// then started again. It returns what there is in the end, and whether the controller got so far.
func (w *world) liveAndDie(kubeconfig string, policy dbv1alpha1.DeletionPolicy, killAfter int) (result []string, killed bool) {
	w.Helper()
	defer w.makeVolume("db-data")()
	first := w.start(kubeconfig, fmt.Sprintf("%s=%d", killAfterVar, killAfter))
	// It is started again as soon as it has died, whatever the test is waiting for at that time.
	var group sync.WaitGroup
	over, end := context.WithCancel(w.Context())
	defer group.Wait()
	defer end()
	group.Go(func() {
		select {
		case <-first.ended:
			w.start(kubeconfig)
		case <-over.Done():
		}
	})

	w.make("example", func(s *dbv1alpha1.DatabaseManagerSpec) {
		s.StorageSize = new(resource.MustParse("1Gi"))
		s.DeletionPolicy = policy
	})
	w.untilReady("example", reasonReplicasReady)
	password := string(w.secret("db-root").Data["password"])
	got(w.databases.Patch(w.Context(), "example", types.MergePatchType, []byte(`{"spec": {"version": "8.4.5"}}`), metav1.PatchOptions{}))(w)
	w.untilReady("example", reasonReplicasReady)
	if string(w.secret("db-root").Data["password"]) != password {
		w.Error("the password has changed")
	}
	if err := w.databases.Delete(w.Context(), "example", metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	untilGone(w, "the DatabaseManager", w.databases.Get, "example")
	if policy == dbv1alpha1.DeletionPolicyDelete {
		until(w, "all is gone", func(context.Context) ([]string, error) { return w.everything(), nil }, func(all []string) bool { return len(all) == 0 })
	}
	select {
	case <-first.ended:
		killed = true
	default:
	}
	return w.everything(), killed
}

// everything returns a line for each object in the namespace that a controller could have made.
func (w *world) everything() (all []string) {
	w.Helper()
	add := func(object metav1.Object, what any) {
		all = append(all, fmt.Sprintf("%T %s owners %d: %v", object, object.GetName(), len(object.GetOwnerReferences()), what))
	}
	list := metav1.ListOptions{}
	for _, o := range got(w.client.AppsV1().Deployments(w.namespace).List(w.Context(), list))(w).Items {
		add(&o, o.Spec.Template.Spec.Containers[0].Image)
	}
	for _, o := range got(w.client.CoreV1().Services(w.namespace).List(w.Context(), list))(w).Items {
		add(&o, o.Spec.Ports[0].Port)
	}
	for _, o := range got(w.client.CoreV1().Secrets(w.namespace).List(w.Context(), list))(w).Items {
		add(&o, len(o.Data["password"]))
	}
	for _, o := range got(w.client.CoreV1().PersistentVolumeClaims(w.namespace).List(w.Context(), list))(w).Items {
		add(&o, o.Spec.Resources.Requests.Storage())
	}
	for _, o := range got(w.databases.List(w.Context(), list))(w).Items {
		add(&o, o.Finalizers)
	}
	slices.Sort(all)
	return all
}

// makeVolume makes a volume for a claim, if the cluster has nothing that does, such as a default StorageClass. The
// function that it returns deletes it.
func (w *world) makeVolume(claim string) (remove func()) {
	w.Helper()
	if classes := got(w.client.StorageV1().StorageClasses().List(w.Context(), metav1.ListOptions{}))(w); len(classes.Items) > 0 {
		return func() {}
	}
	volume := got(w.client.CoreV1().PersistentVolumes().Create(w.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			ClaimRef:               &corev1.ObjectReference{Namespace: w.namespace, Name: claim},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/" + w.namespace}},
		},
	}, metav1.CreateOptions{}))(w)
	return func() {
		if err := w.client.CoreV1().PersistentVolumes().Delete(context.Background(), volume.Name, metav1.DeleteOptions{}); err != nil {
			w.Error(err)
		}
	}
}

// TestLeaderKilled runs two replicas and kills the leader, then ends the other one in peace.
func TestLeaderKilled(t *testing.T) {
	w := newWorld(t)
	kubeconfig := testcluster.Kubeconfig(t)
	leads := func(p *process) bool { return strings.Contains(p.output.String(), "this process") }
	wait := func(what string, met func() bool) time.Duration {
		t.Helper()
		start := time.Now()
		until(w, what, func(context.Context) (bool, error) { return met(), nil }, func(ok bool) bool { return ok })
		return time.Since(start)
	}

	first := w.start(kubeconfig, leaderVar+"=1")
	wait("the first leads", func() bool { return leads(first) })
	second := w.start(kubeconfig, leaderVar+"=1")
	w.make("example")
	w.untilReady("example", reasonReplicasReady)
	if leads(second) || second.output.lines("CREATED") > 0 {
		t.Errorf("the second works, too:\n%s", second.output.String())
	}

	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.ended
	got(w.databases.Patch(t.Context(), "example", types.MergePatchType, []byte(`{"spec": {"replicas": 2}}`), metav1.PatchOptions{}))(w)
	wait("the second leads", func() bool { return leads(second) })
	w.untilReady("example", reasonReplicasReady)
	if n := second.output.lines("CREATED"); n > 0 {
		t.Errorf("the second has made %d children anew", n)
	}

	// At SIGTERM the lease is given back: the third need not wait until it has run out.
	if err := second.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-second.ended
	if code := second.ProcessState.ExitCode(); code != 0 || second.output.lines("DRAINED") != 1 {
		t.Errorf("at SIGTERM: exit code %d, output\n%s", code, second.output.String())
	}
	third := w.start(kubeconfig, leaderVar+"=1")
	if took := wait("the third leads", func() bool { return leads(third) }); took > 8*time.Second {
		t.Errorf("the third has waited %s for a lease that was given back", took)
	}
}
