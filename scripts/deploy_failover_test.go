package scripts_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	dbinformers "example.com/client-go-workbook/06-crd-codegen/pkg/generated/informers/externalversions"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

var failovers = flag.Int("failovers", 1, "how many times TestKindFailover lets the leader fail in each way")

// lease is the lease duration that deployment.yaml relies on.
const lease = 15 * time.Second

// TestKindFailover ends the leader in several ways, each time while 200 DatabaseManagers are created. For a table of times:
//
//	make test-kind ARGS="./scripts -run TestKindFailover -failovers 5 -v"
func TestKindFailover(t *testing.T) {
	c := newKindCluster(t, "NODES=3")
	c.run(t, "./cluster-up.sh")
	t.Run("the cluster has three nodes", func(t *testing.T) { hasThreeNodes(t, c) })
	c.run(t, "./deploy.sh")

	// On the leader's node, no packet goes to or comes from the API server, and nothing closes a connection. That is what
	// happens when a cable is pulled.
	const network = `server=$(getent ahostsv4 "$(hostname | sed 's/-worker.*//')-control-plane" | head -n 1 | cut -d ' ' -f 1)
		for chain in INPUT FORWARD; do iptables -w $0 $chain -s "$server" -j DROP; done
		for chain in OUTPUT FORWARD; do iptables -w $0 $chain -d "$server" -j DROP; done`
	client := kubernetes.NewForConfigOrDie(c.config(t))
	pods := client.CoreV1().Pods(system)
	for i := range *failovers {
		for _, failure := range []struct {
			name  string
			begin func(t *testing.T, pod, node string)
			end   func(t *testing.T, node string) result
		}{
			{
				name: "pod deleted by force",
				begin: func(t *testing.T, pod, _ string) {
					if err := pods.Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
						t.Fatal(err)
					}
				},
			},
			{
				name: "node paused",
				begin: func(t *testing.T, _, node string) {
					// On a busy machine, Docker gives up before all processes are frozen, and lets them run again.
					testkit.Await(t, "the node to be paused", func() bool { return c.container(t, "pause", node).code == 0 })
				},
				end: func(t *testing.T, node string) result { return c.container(t, "unpause", node) },
			},
			{
				name: "network of the node cut",
				begin: func(t *testing.T, _, node string) {
					if got := c.container(t, "exec", node, "bash", "-c", network, "-I"); got.code != 0 {
						t.Fatalf("%+v", got)
					}
				},
				end: func(t *testing.T, node string) result {
					return c.container(t, "exec", node, "bash", "-c", network, "-D")
				},
			},
		} {
			t.Run(fmt.Sprintf("%s %d", failure.name, i+1), func(t *testing.T) {
				leader := c.readyLeader(t)
				node := testkit.Must(pods.Get(t.Context(), leader, metav1.GetOptions{}))(t).Spec.NodeName
				l := newLoad(t, c, 200, 100*time.Millisecond)
				testkit.Await(t, "100 DatabaseManagers", func() bool { return l.created() >= 100 })
				failure.begin(t, leader, node)
				start := time.Now()
				if failure.end != nil {
					t.Cleanup(func() {
						if got := failure.end(t, node); got.code != 0 {
							t.Errorf("%+v", got)
						}
					})
				}
				next := ""
				testkit.Await(t, "another leader", func() bool { next = holder(t, client); return next != "" && next != leader }, &next)
				took := time.Since(start)
				t.Logf("%.1f s after it, another pod leads", took.Seconds())
				if took > lease+5*time.Second {
					t.Errorf("another pod leads after %s, want %s at most", took, lease+5*time.Second)
				}
				l.untilReady()
			})
		}
		t.Run(fmt.Sprintf("rolling update %d", i+1), func(t *testing.T) {
			c.readyLeader(t)
			longestVacancy := observeLease(t, client)
			l := newLoad(t, c, 200, 100*time.Millisecond)
			testkit.Await(t, "20 DatabaseManagers", func() bool { return l.created() >= 20 })
			c.run(t, "./kubectl", "rollout", "restart", "deployment/databasemanager-controller", "-n", system)
			c.readyLeader(t)
			l.untilReady()
			pause, vacancy := l.longestPause(), longestVacancy()
			t.Logf("a DatabaseManager has no status for %.1f s at most; none gets one for %.1f s, nobody holds the Lease for %.1f s",
				l.longestUnattended().Seconds(), pause.Seconds(), vacancy.Seconds())
			if vacancy == 0 || vacancy > lease/3 {
				t.Errorf("nobody held the Lease for %s, want more than none, and %s at most", vacancy, lease/3)
			}
			// A pause is a drain of 5 s, and what the next leader takes to begin. For how long one DatabaseManager waits is the machine's
			// matter, too: it starts pods meanwhile, and the leader gets less of it.
			if pause > lease {
				t.Errorf("no DatabaseManager got a status for %s, want %s at most", pause, lease)
			}
		})
	}
	c.hasOneWriterAtATime(t)
}

func hasThreeNodes(t *testing.T, c *cluster) {
	if got := strings.Count(c.run(t, "./kubectl", "get", "nodes", "-o", "name"), "\n"); got != 3 {
		t.Errorf("%d nodes, want 3", got)
	}
	want := result{
		"", "There is a cluster of 3 node(s) already: unset NODES, or run make cluster-down, then NODES=1 CLUSTER=kind make cluster.\n", 1,
	}
	if got := run(t, append(c.env, "NODES=1"), "./cluster-up.sh"); got != want {
		t.Errorf("with NODES=1: %+v, want %+v", got, want)
	}
}

// container runs docker or podman.
func (c *cluster) container(t *testing.T, arguments ...string) result {
	t.Helper()
	script := []string{"-p", "-c", `. ./lib.sh; "$(container_runtime)" "$@"`, "./failover_test.go"}
	return run(t, c.env, "bash", append(script, arguments...)...)
}

func (c *cluster) config(t testing.TB) *rest.Config {
	t.Helper()
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", filepath.Join(c.folder, "kubeconfig")))(t)
	config.QPS = -1 // no limit
	return config
}

// readyLeader waits until both pods are ready and no third one is left, and returns the name of the one that leads.
func (c *cluster) readyLeader(t testing.TB) (leader string) {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(c.config(t))
	testkit.Await(t, "two ready pods, of which one leads", func() bool {
		deployment, err := client.AppsV1().Deployments(system).Get(t.Context(), "databasemanager-controller", metav1.GetOptions{})
		if err != nil || deployment.Status.ObservedGeneration < deployment.Generation || deployment.Status.UpdatedReplicas != 2 ||
			deployment.Status.Replicas != 2 || deployment.Status.AvailableReplicas != 2 {
			return false
		}
		leader = holder(t, client)
		pod, err := client.CoreV1().Pods(system).Get(t.Context(), leader, metav1.GetOptions{})
		return err == nil && pod.DeletionTimestamp == nil
	}, &leader)
	return leader
}

// holder returns the name of the pod that holds the Lease, or nothing.
func holder(t testing.TB, client kubernetes.Interface) string {
	t.Helper()
	lease, err := client.CoordinationV1().Leases(system).Get(t.Context(), "workbook-06-crd-codegen", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return pod
}

// observeLease observes the Lease until the test ends. The test fails if somebody gets it that its holder has not released. The function
// returns for how long nobody held it at most.
func observeLease(t testing.TB, client kubernetes.Interface) (longestVacancy func() time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var longest time.Duration
	var released time.Time
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(system))
	informer := factory.Coordination().V1().Leases().TypedInformer()
	_, err := informer.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*coordinationv1.Lease]{
		UpdateFunc: func(before, now *coordinationv1.Lease) {
			mu.Lock()
			defer mu.Unlock()
			switch from, to := ptr.Deref(before.Spec.HolderIdentity, ""), ptr.Deref(now.Spec.HolderIdentity, ""); {
			case from == to:
			case to == "":
				released = time.Now()
			case from == "":
				longest = max(longest, time.Since(released))
			default:
				t.Errorf("%s got the Lease of %s when it had run out: it was not released", to, from)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	factory.WaitForCacheSyncWithContext(t.Context())
	t.Cleanup(factory.Shutdown) // t.Context() has ended
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return longest
	}
}

// load is many DatabaseManagers, which are created in a namespace of their own, one after the other.
type load struct {
	t         testing.TB
	size      int
	client    kubernetes.Interface
	databases versioned.Interface
	namespace string
	mu        sync.Mutex
	createdAt map[string]time.Time
	attended  map[string]time.Duration // from its creation to its first status
	moments   []time.Time              // of the first statuses
	ready     map[string]bool
	passwords map[string]string // by the name of the Secret
	lost      []string          // Secrets that were deleted, or have another password
}

// newLoad begins to create size DatabaseManagers, and observes what becomes of them and of their Secrets.
func newLoad(t testing.TB, c *cluster, size int, pause time.Duration) *load {
	t.Helper()
	config := c.config(t)
	l := &load{
		t: t, size: size, client: kubernetes.NewForConfigOrDie(config), databases: versioned.NewForConfigOrDie(config),
		createdAt: map[string]time.Time{}, attended: map[string]time.Duration{}, ready: map[string]bool{}, passwords: map[string]string{},
	}
	l.namespace = testcluster.Namespace(t, config)

	databases := dbinformers.NewSharedInformerFactoryWithOptions(l.databases, 0, dbinformers.WithNamespace(l.namespace))
	secrets := informers.NewSharedInformerFactoryWithOptions(l.client, 0, informers.WithNamespace(l.namespace))
	_, err := databases.Coolops().V1alpha1().DatabaseManagers().TypedInformer().AddTypedEventHandler(
		cache.TypedResourceEventHandlerFuncs[*dbv1alpha1.DatabaseManager]{
			AddFunc:    l.observe,
			UpdateFunc: func(_, d *dbv1alpha1.DatabaseManager) { l.observe(d) },
		})
	if err != nil {
		t.Fatal(err)
	}
	_, err = secrets.Core().V1().Secrets().TypedInformer().AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Secret]{
		AddFunc:    l.observeSecret,
		UpdateFunc: func(_, secret *corev1.Secret) { l.observeSecret(secret) },
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Secret]) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.lost = append(l.lost, deleted.GetObjectName().Name)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	databases.StartWithContext(t.Context())
	secrets.StartWithContext(t.Context())

	var group sync.WaitGroup
	group.Go(func() {
		pace := time.NewTicker(pause)
		defer pace.Stop()
		for i := range size {
			d := &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("db-%03d", i)}}
			d.Spec = dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MariaDB, DeploymentName: d.Name, Replicas: new(int32)}
			l.mu.Lock()
			l.createdAt[d.Name] = time.Now()
			l.mu.Unlock()
			_, err := l.databases.CoolopsV1alpha1().DatabaseManagers(l.namespace).Create(t.Context(), d, metav1.CreateOptions{})
			if err != nil {
				t.Errorf("creating %s: %v", d.Name, err)
				return
			}
			<-pace.C
		}
	})
	t.Cleanup(func() {
		group.Wait()
		databases.Shutdown() // t.Context() has ended
		secrets.Shutdown()
	})
	return l
}

func (l *load) observe(d *dbv1alpha1.DatabaseManager) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.attended[d.Name]; !known && d.Status.ObservedGeneration > 0 {
		l.attended[d.Name] = time.Since(l.createdAt[d.Name])
		l.moments = append(l.moments, time.Now())
	}
	if apimeta.IsStatusConditionTrue(d.Status.Conditions, dbv1alpha1.ConditionReady) {
		l.ready[d.Name] = true
	}
}

func (l *load) observeSecret(secret *corev1.Secret) {
	l.mu.Lock()
	defer l.mu.Unlock()
	password := string(secret.UID) + string(secret.Data["password"])
	if earlier, known := l.passwords[secret.Name]; known && earlier != password {
		l.lost = append(l.lost, secret.Name)
	}
	l.passwords[secret.Name] = password
}

func (l *load) created() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.createdAt)
}

// longestUnattended is for how long a DatabaseManager had no status at most.
func (l *load) longestUnattended() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Max(slices.Collect(maps.Values(l.attended)))
}

// longestPause is for how long no DatabaseManager got its first status, although they were being created.
func (l *load) longestPause() (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range len(l.moments) - 1 {
		longest = max(longest, l.moments[i+1].Sub(l.moments[i]))
	}
	return longest
}

// untilReady waits until each DatabaseManager is ready, and checks that each child is there, once, and is its own.
func (l *load) untilReady() {
	l.t.Helper()
	ready := 0
	testkit.Await(l.t, "all DatabaseManagers to be ready", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		ready = len(l.ready)
		return ready == l.size
	}, &ready)
	owners := map[string]string{}
	for _, d := range testkit.Must(l.databases.CoolopsV1alpha1().DatabaseManagers(l.namespace).
		List(l.t.Context(), metav1.ListOptions{}))(l.t).Items {
		owners[string(d.UID)] = d.Name
	}
	deployments := testkit.Must(l.client.AppsV1().Deployments(l.namespace).List(l.t.Context(), metav1.ListOptions{}))(l.t)
	services := testkit.Must(l.client.CoreV1().Services(l.namespace).List(l.t.Context(), metav1.ListOptions{}))(l.t)
	secrets := testkit.Must(l.client.CoreV1().Secrets(l.namespace).List(l.t.Context(), metav1.ListOptions{}))(l.t)
	var children []metav1.Object
	for i := range deployments.Items {
		children = append(children, &deployments.Items[i])
	}
	for i := range services.Items {
		children = append(children, &services.Items[i])
	}
	for i := range secrets.Items {
		children = append(children, &secrets.Items[i])
	}
	if len(owners) != l.size || len(children) != 3*l.size {
		l.t.Errorf("%d DatabaseManagers, %d children, want %d and %d", len(owners), len(children), l.size, 3*l.size)
	}
	for _, child := range children {
		owner := metav1.GetControllerOfNoCopy(child)
		if owner == nil || owners[string(owner.UID)] != strings.TrimSuffix(child.GetName(), "-root") {
			l.t.Errorf("%T %s has the owner %v", child, child.GetName(), owner)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lost) > 0 {
		l.t.Errorf("deleted, or with another password: Secrets %q", l.lost)
	}
}

// request is a line of the audit log: an Event of audit.k8s.io/v1.
type request struct {
	Verb string
	User struct {
		Username string
		Extra    map[string][]string
	}
	ObjectRef                *struct{ Resource, Name string }
	ResponseStatus           struct{ Code int }
	RequestReceivedTimestamp metav1.MicroTime
}

// hasOneWriterAtATime checks by the audit log that each write came from the pod that held the Lease: the last one whose
// write of the Lease the API server had accepted.
func (c *cluster) hasOneWriterAtATime(t *testing.T) {
	t.Helper()
	var requests []request
	for line := range bytes.Lines([]byte(c.run(t, "./cluster.sh", "audit"))) {
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if r.User.Username == "system:serviceaccount:"+system+":databasemanager-controller" && r.ObjectRef != nil &&
			r.ResponseStatus.Code < 300 && slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) {
			requests = append(requests, r)
		}
	}
	slices.SortStableFunc(requests, func(a, b request) int { return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp.Time) })
	holder, leaders, writes := "", 0, 0
	for _, r := range requests {
		pod := strings.Join(r.User.Extra["authentication.kubernetes.io/pod-name"], "")
		switch {
		case pod == "":
			t.Fatalf("%+v has no name of a pod", r)
		case r.ObjectRef.Resource == "leases" && pod != holder:
			holder = pod
			leaders++
		case r.ObjectRef.Resource == "leases":
		case pod != holder:
			t.Errorf("%s: %s wrote %s %s while %s led", r.RequestReceivedTimestamp, pod, r.ObjectRef.Resource, r.ObjectRef.Name, holder)
		default:
			writes++
		}
	}
	t.Logf("%d writes by %d leaders, each by the pod that led", writes, leaders)
	if leaders < 2 || writes < 4*200 {
		t.Errorf("the audit log has %d writes by %d leaders", writes, leaders)
	}
}
