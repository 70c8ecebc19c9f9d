package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// soakVar is how long TestSoak goes on, such as 1h.
const soakVar = "WORKBOOK_SOAK"

// TestSoak is what `make soak` runs, on a cluster of its own. For an hour 2,000 DatabaseManagers are created, changed
// and deleted at random, while a second writer changes their children. All connections of the controllers are cut every
// 20 s; once a minute the API server is restarted, and once a minute the leader is killed. One more controller, for 200
// of the objects in a namespace of its own, is never killed: it shows whether a process grows. Of three writes of a
// controller, the answer to one is lost.
func TestSoak(t *testing.T) {
	duration, err := time.ParseDuration(os.Getenv(soakVar))
	if err != nil {
		t.Skip("takes an hour: run `make soak`")
	}
	cluster := testcluster.Start(t)
	testcluster.InstallDatabaseManagers(t, cluster.Config())
	s := &soak{T: t, dir: t.TempDir(), cluster: cluster, passwords: map[types.UID]string{}, claims: map[types.UID]types.UID{}}
	killed, steady := s.env("soak"), s.env("steady")
	const objects, steadyObjects = 1800, 200

	working, stop := context.WithCancel(t.Context())
	var writers, others sync.WaitGroup
	defer others.Wait()
	defer writers.Wait()
	defer stop()
	for writer := range uint64(8) {
		random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), writer))
		writers.Go(func() {
			// Each of the names is one writer's. The first writes create all of them.
			for i := 0; working.Err() == nil; i++ {
				e, n := killed, int(writer)+8*i
				if n >= objects+steadyObjects {
					n = int(writer) + 8*random.IntN((objects+steadyObjects)/8)
					sleep(working, 100*time.Millisecond)
				}
				if n >= objects {
					e = steady
				}
				s.write(working, e, fmt.Sprintf("db-%d", n), random, i < (objects+steadyObjects)/8)
				s.drift(working, e, fmt.Sprintf("db-%d", random.IntN(n+1)), random)
			}
		})
	}
	others.Go(func() { s.watchLosses(working, killed, steady) })
	sampled := make(chan []sample, 1)
	steadyProcess := s.controller(steady, "steady.writes")
	others.Go(func() { sampled <- s.sample(working, steadyProcess) })

	// Two controllers, each started again when it has ended.
	var leaders [2]atomic.Pointer[testkit.Process]
	for i := range leaders {
		others.Go(func() {
			for working.Err() == nil {
				p := s.controller(killed, fmt.Sprintf("%d.writes", s.processes.Add(1)), leaderVar+"=1", leaseVar+"=15s")
				leaders[i].Store(p)
				select {
				case <-p.Ended():
				case <-working.Done():
				}
			}
		})
	}
	kills, restarts := 0, 0
	for end := time.Now().Add(duration); time.Now().Before(end); {
		sleep(t.Context(), 30*time.Second)
		s.apiServer("stop")
		s.apiServer("start")
		restarts++
		sleep(t.Context(), 30*time.Second)
		for i := range leaders {
			if p := leaders[i].Load(); p != nil && leads(p) && p.Process.Kill() == nil {
				kills++
			}
		}
	}
	stop()
	writers.Wait()
	others.Wait()

	// The last two controllers live on, and do what is left. Children whose owner is gone are the garbage collector's. It
	// rests on watches of its own, which the restarts of the API server have broken.
	quietSince := time.Now()
	var found findings
	var converged time.Duration
	for ; ; sleep(t.Context(), time.Second) {
		found = killed.compareAll()
		more := steady.compareAll()
		found.wrong, found.notCollected = append(found.wrong, more.wrong...), append(found.notCollected, more.notCollected...)
		found.waiting = append(found.waiting, more.waiting...)
		if converged = time.Since(quietSince); converged > 10*time.Minute || len(found.wrong)+len(found.notCollected) == 0 ||
			len(found.wrong) == 0 && converged > 5*time.Minute {
			break
		}
	}
	if n := len(found.wrong); n > 0 {
		t.Errorf("wrong in the end: %d, such as %s", n, found.wrong[:min(10, n)])
	}
	if n := len(found.notCollected); n > 0 {
		t.Logf("not collected by the garbage collector: %d, such as %s", n, found.notCollected[:min(10, n)])
	}
	s.checkLosses(t.Context(), killed, steady)
	if n := len(s.lost); n > 0 {
		t.Errorf("lost: %d: %v", n, s.lost)
	}
	writes, late := s.writesOfTwo()
	if late > 0 {
		t.Errorf("%d writes of a controller after another one had begun to write", late)
	}
	samples := <-sampled
	var table strings.Builder
	out := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	row := func(what string, value any) { fmt.Fprintf(out, "%s\t%v\n", what, value) }
	row("duration", duration)
	row("DatabaseManagers created, changed, deleted", fmt.Sprint(s.created.Load(), ", ", s.changed.Load(), ", ", s.deleted.Load()))
	row("changes of children by the second writer", s.drifts.Load())
	row("API server restarted, leader killed", fmt.Sprint(restarts, ", ", kills))
	row("controllers started for it", s.processes.Load())
	row("writes by them, by one after another had begun", fmt.Sprint(writes, ", ", late))
	row("desired state reached after the last change", converged.Round(time.Second))
	row("children that the garbage collector has not deleted", len(found.notCollected))
	row("DatabaseManagers that wait for that, and say so", len(found.waiting))
	row("passwords and claims watched, changed", fmt.Sprint(len(s.passwords), " and ", len(s.claims), ", ", len(s.lost)))
	for i, part := range []string{"first", "second", "third", "last"} {
		quarter := samples[len(samples)*i/4 : len(samples)*(i+1)/4]
		row("the steady controller, "+part+" quarter", medianOf(quarter))
	}
	_ = out.Flush()
	fmt.Print(table.String())
	// The first quarter has the growing stores in it.
	before, after := medianOf(samples[len(samples)/4:len(samples)/2]), medianOf(samples[len(samples)*3/4:])
	if after.goroutines > before.goroutines+20 || after.heap > before.heap*3/2 {
		t.Errorf("the steady controller has grown: from %v to %v", before, after)
	}
}

type soak struct {
	*testing.T
	dir                                          string
	cluster                                      *testcluster.Cluster
	created, changed, deleted, drifts, processes atomic.Int64

	passwords map[types.UID]string // by DatabaseManager, the first one
	claims    map[types.UID]types.UID
	lost      map[string]bool
}

// apiServer stops or starts the API server. On a busy machine it can take longer than the script waits, so there are
// several attempts, each with a time limit.
func (s *soak) apiServer(verb string) {
	var output []byte
	var err error
	for range 5 {
		ctx, cancel := context.WithTimeout(s.Context(), 2*time.Minute)
		command := exec.CommandContext(ctx, filepath.Join(testcluster.Root(s), "scripts", "apiserver.sh"), verb)
		command.Env = append(os.Environ(), "CLUSTER=local", "CLUSTER_DIR="+filepath.Dir(s.cluster.Kubeconfig()))
		command.WaitDelay = 10 * time.Second // for what the script has started, and still holds its output
		output, err = command.CombinedOutput()
		cancel()
		if err == nil {
			return
		}
	}
	s.Fatalf("apiserver.sh %s: %v: %s", verb, err, output)
}

func (s *soak) env(namespace string) *env {
	config := s.cluster.Config()
	config.Timeout = 2 * time.Minute // a busy machine needs more than 10 s for a list of thousands
	e := envIn(s.T, config, namespace)
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	testkit.Must(e.client.CoreV1().Namespaces().Create(s.Context(), object, metav1.CreateOptions{}))(e)
	return e
}

// controller starts a process whose connections are cut every 20 s, and whose writes are kept in a file.
func (s *soak) controller(e *env, file string, variables ...string) *testkit.Process {
	variables = append(variables, cutVar+"=20s", lostVar+"=0.3", writesVar+"="+filepath.Join(s.dir, file), listenVar+"=127.0.0.1:0")
	return e.startProcess(s.cluster.Kubeconfig(), variables...)
}

// write creates, changes or deletes a DatabaseManager. With the API server away it does nothing.
func (s *soak) write(ctx context.Context, e *env, name string, random *rand.Rand, first bool) {
	var err error
	counter := &s.changed
	patch := func(format string, args ...any) {
		_, err = e.databases.Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, format, args...), metav1.PatchOptions{})
	}
	switch op := random.IntN(10); {
	case first || op < 2:
		counter = &s.created
		d := &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: dbv1alpha1.DatabaseManagerSpec{
			Dbtype:         []dbv1alpha1.DatabaseType{dbv1alpha1.MySQL, dbv1alpha1.MariaDB}[random.IntN(2)],
			DeploymentName: name,
			Replicas:       new(int32(0)),
		}}
		if random.IntN(4) == 0 {
			d.Spec.StorageSize = new(resource.MustParse("1Gi"))
		}
		_, err = e.databases.Create(ctx, d, metav1.CreateOptions{})
	case op < 6:
		patch(`{"spec": {"version": "8.4.%d"}}`, random.IntN(6))
	case op < 8:
		patch(`{"spec": {"replicas": %d}}`, max(0, random.IntN(40)-38))
	default:
		counter = &s.deleted
		err = e.databases.Delete(ctx, name, metav1.DeleteOptions{})
	}
	if err == nil {
		counter.Add(1)
	}
}

// drift changes a child of a DatabaseManager behind the controller's back.
func (s *soak) drift(ctx context.Context, e *env, name string, random *rand.Rand) {
	var err error
	deployments, services := e.deployments, e.services
	options := metav1.PatchOptions{FieldManager: "second writer"}
	switch random.IntN(8) {
	case 0:
		_, err = deployments.Patch(ctx, name, types.MergePatchType, []byte(`{"spec": {"replicas": 0, "minReadySeconds": 3}}`), options)
	case 1:
		_, err = deployments.Patch(ctx, name, types.JSONPatchType, []byte(
			`[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "mysql:0.0.1"}]`), options)
	case 2:
		_, err = services.Patch(ctx, name, types.MergePatchType, []byte(
			`{"spec": {"selector": {"a": "b"}}, "metadata": {"labels": {"`+database.ManagedByLabel+`": null}}}`), options)
	case 3:
		_, err = e.secrets.Patch(ctx, name+database.SecretSuffix, types.MergePatchType, []byte(`{"metadata": {"labels": null}}`), options)
	case 4:
		err = services.Delete(ctx, name, metav1.DeleteOptions{})
	case 5:
		err = deployments.Delete(ctx, name, metav1.DeleteOptions{})
	default:
		return
	}
	if err == nil {
		s.drifts.Add(1)
	}
}

// watchLosses checks all passwords and claims every 10 s.
func (s *soak) watchLosses(ctx context.Context, envs ...*env) {
	for ctx.Err() == nil {
		sleep(ctx, 10*time.Second)
		s.checkLosses(ctx, envs...)
	}
}

// checkLosses compares each password, and each claim's UID, with the first one of the same DatabaseManager.
func (s *soak) checkLosses(ctx context.Context, envs ...*env) {
	for _, e := range envs {
		secrets, err := e.secrets.List(ctx, metav1.ListOptions{})
		claims, claimsErr := e.claims.List(ctx, metav1.ListOptions{})
		databases, databasesErr := e.databases.List(ctx, metav1.ListOptions{})
		if errors.Join(err, claimsErr, databasesErr) != nil {
			continue // the API server is away
		}
		// Not those that were being deleted: the controller replaces their children until it knows.
		lives := map[types.UID]bool{}
		for _, d := range databases.Items {
			lives[d.UID] = d.DeletionTimestamp == nil
		}
		for _, o := range secrets.Items {
			if owner := metav1.GetControllerOfNoCopy(&o); owner != nil && lives[owner.UID] {
				compare(s, s.passwords, owner.UID, string(o.Data["password"]), e.namespace+"/"+o.Name)
			}
		}
		for _, o := range claims.Items {
			if owner := metav1.GetControllerOfNoCopy(&o); owner != nil && lives[owner.UID] {
				compare(s, s.claims, owner.UID, o.UID, e.namespace+"/"+o.Name)
			}
		}
	}
}

func compare[V comparable](s *soak, first map[types.UID]V, owner types.UID, now V, name string) {
	switch before, ok := first[owner]; {
	case !ok:
		first[owner] = now
	case before != now:
		if s.lost == nil {
			s.lost = map[string]bool{}
		}
		s.lost[name] = true
	}
}

// sample is the state of a process.
type sample struct {
	goroutines int
	heap, rss  float64 // bytes
}

func (s sample) String() string {
	return fmt.Sprintf("%d goroutines, heap %.0f MB, resident %.0f MB", s.goroutines, s.heap/1e6, s.rss/1e6)
}

// sample asks a process for its metrics every 5 s.
func (s *soak) sample(ctx context.Context, p *testkit.Process) (samples []sample) {
	for ; ctx.Err() == nil; sleep(ctx, 5*time.Second) {
		_, after, found := strings.Cut(p.Out.String(), "LISTENING ")
		if !found {
			continue
		}
		response, err := http.Get(strings.Fields(after)[0] + "/metrics")
		if err != nil {
			s.Errorf("the steady controller: %v", err)
			return samples
		}
		values := map[string]float64{}
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if name, value, ok := strings.Cut(lines.Text(), " "); ok {
				values[name], _ = strconv.ParseFloat(value, 64)
			}
		}
		response.Body.Close()
		samples = append(samples, sample{
			int(values["go_goroutines"]), values["go_memstats_heap_alloc_bytes"], values["process_resident_memory_bytes"],
		})
	}
	return samples
}

func medianOf(samples []sample) (m sample) {
	if len(samples) == 0 {
		return m
	}
	median := func(less func(a, b sample) int) sample {
		return slices.SortedFunc(slices.Values(samples), less)[len(samples)/2]
	}
	m.goroutines = median(func(a, b sample) int { return a.goroutines - b.goroutines }).goroutines
	m.heap = median(func(a, b sample) int { return int(a.heap - b.heap) }).heap
	m.rss = median(func(a, b sample) int { return int(a.rss - b.rss) }).rss
	return m
}

// writesOfTwo counts the writes of the controllers that elect a leader, and those that one has begun after another,
// which leads later, had begun its first.
func (s *soak) writesOfTwo() (writes, late int) {
	times := map[int64][]int64{} // by the first write of a process
	for i := range s.processes.Load() {
		text, err := os.ReadFile(filepath.Join(s.dir, fmt.Sprintf("%d.writes", i+1)))
		if err != nil {
			continue // it has never led
		}
		var own []int64
		for line := range strings.Lines(string(text)) {
			if at, err := strconv.ParseInt(strings.Fields(line)[0], 10, 64); err == nil {
				own = append(own, at)
			}
		}
		if len(own) > 0 {
			times[slices.Min(own)] = own
			writes += len(own)
		}
	}
	starts := slices.Sorted(maps.Keys(times))
	for i, start := range starts[:max(0, len(starts)-1)] {
		for _, at := range times[start] {
			if at >= starts[i+1] {
				late++
			}
		}
	}
	return writes, late
}

// keepWrites returns a configuration whose writes are kept in the file, a line each: the time at which it began, and what it
// is. Leases and events are left out: more processes than the leader write them.
func keepWrites(file io.Writer, config *rest.Config) *rest.Config {
	var mu sync.Mutex
	return testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		what := verbAndResource(request)
		if request.Method != http.MethodGet && !strings.HasSuffix(what, " leases") && !strings.HasSuffix(what, " events") {
			mu.Lock()
			fmt.Fprintln(file, time.Now().UnixNano(), what)
			mu.Unlock()
		}
		return next.RoundTrip(request)
	})
}

// sleep waits, but not longer than ctx.
func sleep(ctx context.Context, duration time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(duration):
	}
}

// findings is what compareAll returns.
type findings struct {
	objects      int
	wrong        []string // not as it should be
	notCollected []string // children with a correct reference to an owner that is gone, which the garbage collector has to delete
	waiting      []string // DatabaseManagers that wait for such a child of the same name, and whose status says so
}

// compareAll compares all objects in the namespace with their desired state. Each child is named after its owner.
func (e *env) compareAll() (found findings) {
	e.Helper()
	wrong := func(format string, args ...any) { found.wrong = append(found.wrong, fmt.Sprintf(format, args...)) }
	list := metav1.ListOptions{}
	databases := testkit.Must(e.databases.List(e.Context(), list))(e).Items
	found.objects = len(databases)
	owners := map[types.UID]*dbv1alpha1.DatabaseManager{}
	for i := range databases {
		owners[databases[i].UID] = &databases[i]
	}
	children, notCollected := map[types.UID]int{}, map[string]bool{}
	// ownerOf compares a child's metadata and returns its owner, or nil.
	ownerOf := func(child metav1.Object) *dbv1alpha1.DatabaseManager {
		reference := metav1.GetControllerOfNoCopy(child)
		switch {
		case reference == nil || reference.Kind != "DatabaseManager" || reference.APIVersion != dbv1alpha1.GroupVersion.String() ||
			!strings.HasPrefix(child.GetName(), reference.Name):
			wrong("%T %s has owner references %v", child, child.GetName(), child.GetOwnerReferences())
			return nil
		case owners[reference.UID] == nil:
			notCollected[child.GetName()] = true
			found.notCollected = append(found.notCollected, fmt.Sprintf("%T %s of %s", child, child.GetName(), reference.UID))
			return nil
		}
		labels := child.GetLabels()
		if labels[database.ManagedByLabel] != database.FieldManager || labels[database.FirstOwnerLabel] != string(reference.UID) {
			wrong("%T %s has labels %v", child, child.GetName(), child.GetLabels())
		}
		children[reference.UID]++
		return owners[reference.UID]
	}
	for _, o := range testkit.Must(e.deployments.List(e.Context(), list))(e).Items {
		d := ownerOf(&o)
		if d == nil {
			continue
		}
		desired := database.Deployment(d, nil).Spec
		var container corev1.Container
		for _, c := range o.Spec.Template.Spec.Containers {
			if c.Name == string(d.Spec.Dbtype) {
				container = c
			}
		}
		if *o.Spec.Replicas != *desired.Replicas || container.Image != *desired.Template.Spec.Containers[0].Image ||
			o.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
			wrong("Deployment %s: %d replicas of %s", o.Name, *o.Spec.Replicas, container.Image)
		}
	}
	for _, o := range testkit.Must(e.services.List(e.Context(), list))(e).Items {
		if d := ownerOf(&o); d != nil && o.Spec.Selector[database.FirstOwnerLabel] != string(d.UID) {
			wrong("Service %s selects %v", o.Name, o.Spec.Selector)
		}
	}
	for _, o := range testkit.Must(e.secrets.List(e.Context(), list))(e).Items {
		if d := ownerOf(&o); d != nil && len(o.Data["password"]) == 0 {
			wrong("Secret %s has no password", o.Name)
		}
	}
	for _, o := range testkit.Must(e.claims.List(e.Context(), list))(e).Items {
		ownerOf(&o)
	}
	for _, d := range databases {
		ready := readyOf(&d)
		if ready != nil && ready.Reason == database.ReasonWaitingForDeletion && ready.ObservedGeneration == d.Generation &&
			slices.ContainsFunc(strings.Fields(ready.Message), func(word string) bool { return notCollected[word] }) {
			found.waiting = append(found.waiting, d.Name)
			continue
		}
		desired := 3
		if d.Spec.StorageSize != nil {
			desired++
		}
		if children[d.UID] != desired {
			wrong("%s has %d children", d.Name, children[d.UID])
		}
		if ready == nil || ready.ObservedGeneration != d.Generation ||
			(*d.Spec.Replicas == 0 || ready.Reason == database.ReasonNameConflict) && ready.Status != metav1.ConditionTrue {
			wrong("%s has generation %d and condition %+v", d.Name, d.Generation, ready)
		}
	}
	return found
}
