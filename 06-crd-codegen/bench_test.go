package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/children"
	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbv1alpha1ac "example.com/client-go-workbook/06-crd-codegen/pkg/generated/applyconfiguration/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/controller/ssa"
	"example.com/client-go-workbook/internal/shard"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// benchWorkers is how many work at once, in the controller and in the program that it's compared with.
const benchWorkers = 10

// bench is a cluster to measure on. Its databases have no replicas: pods would measure the scheduler.
type bench struct {
	*testing.B
	counted   requests
	config    *rest.Config
	client    kubernetes.Interface // counts its requests
	databases versioned.Interface  // does, too
}

func newBench(b *testing.B) *bench {
	config := testcluster.Config(b)
	testcluster.InstallDatabaseManagers(b, config)
	e := &bench{B: b, config: config}
	config = e.counted.wrap(config)
	e.client, e.databases = kubernetes.NewForConfigOrDie(config), versioned.NewForConfigOrDie(config)
	return e
}

// each calls do with the numbers below n, benchWorkers at once.
func (b *bench) each(n int, do func(i int) error) {
	b.Helper()
	numbers := make(chan int)
	var group sync.WaitGroup
	for range benchWorkers {
		group.Go(func() {
			for i := range numbers {
				if err := do(i); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	group.Wait()
}

// make makes n DatabaseManagers in each of the namespaces, which it makes, too.
func (b *bench) create(namespaces, n int, change ...func(*dbv1alpha1.DatabaseManagerSpec)) (made []*dbv1alpha1.DatabaseManager) {
	b.Helper()
	var names []string
	for range namespaces {
		names = append(names, testcluster.Namespace(b, testcluster.Config(b)))
	}
	made = make([]*dbv1alpha1.DatabaseManager, namespaces*n)
	b.each(len(made), func(i int) (err error) {
		d := &dbv1alpha1.DatabaseManager{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("example-%d", i)},
			Spec: dbv1alpha1.DatabaseManagerSpec{
				Dbtype: dbv1alpha1.MySQL, DeploymentName: fmt.Sprintf("db-%d", i), Replicas: new(int32(0)),
			},
		}
		for _, change := range change {
			change(&d.Spec)
		}
		made[i], err = b.databases.CoolopsV1alpha1().DatabaseManagers(names[i%namespaces]).Create(b.Context(), d, metav1.CreateOptions{})
		return err
	})
	return made
}

// blind writes what the controller writes: the children and a status, without looking at anything.
func (b *bench) blind(made []*dbv1alpha1.DatabaseManager) time.Duration {
	b.Helper()
	start := time.Now()
	options := metav1.ApplyOptions{FieldManager: database.FieldManager, Force: true}
	b.each(len(made), func(i int) error {
		d := made[i]
		core, namespace, owners := b.client.CoreV1(), d.Namespace, database.OwnerReferences(d)
		if _, err := core.Secrets(namespace).Apply(b.Context(), ssa.WithOwners(database.Secret(d, nil), owners), options); err != nil {
			return err
		}
		deployment := ssa.WithOwners(database.Deployment(d, nil), owners)
		if _, err := b.client.AppsV1().Deployments(namespace).Apply(b.Context(), deployment, options); err != nil {
			return err
		}
		if _, err := core.Services(namespace).Apply(b.Context(), ssa.WithOwners(database.Service(d, nil), owners), options); err != nil {
			return err
		}
		status := database.Status(d, database.StatusOf(d, &appsv1.Deployment{}, rollout.Cause{}, true, nil))
		_, err := b.databases.CoolopsV1alpha1().DatabaseManagers(namespace).ApplyStatus(b.Context(), status, options)
		return err
	})
	return time.Since(start)
}

// settled waits until Kubernetes has looked at all Deployments of a namespace, so that it doesn't go on with that
// while something else is measured.
func (b *bench) settled(namespace string) {
	b.Helper()
	err := wait.PollUntilContextTimeout(b.Context(), time.Second, 10*time.Minute, true, func(ctx context.Context) (bool, error) {
		deployments, err := b.client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, err
		}
		for _, deployment := range deployments.Items {
			if deployment.Status.ObservedGeneration == 0 {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// alone waits until there are no DatabaseManagers, as when the namespaces of an earlier benchmark are gone.
func (b *bench) alone() {
	b.Helper()
	var left int
	err := wait.PollUntilContextTimeout(b.Context(), time.Second, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		databases, err := b.databases.CoolopsV1alpha1().DatabaseManagers(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		left = len(databases.Items)
		return left == 0, nil
	})
	if err != nil {
		b.Fatalf("%d DatabaseManagers of others are on the cluster: run this on one of its own, with `make bench`: %v", left, err)
	}
}

// controlled lets the controller do the work for the DatabaseManagers of a namespace. It returns the time until all
// children are made and all objects have a status, and the memory for each object; then how long a resync takes with nothing to do, and
// the requests of ten.
func (b *bench) controlled(namespace string, n int) (took time.Duration, bytes float64, resync time.Duration, requests int) {
	b.Helper()
	before := testcluster.LiveHeap()
	b.counted.take()
	start := time.Now()
	output := &counter{words: map[string]int{}}
	c, stop := startController(b, b.client, b.databases, namespace, benchWorkers, output)
	defer stop()
	err := wait.PollUntilContextTimeout(b.Context(), 2*time.Millisecond, 20*time.Minute, true, func(context.Context) (bool, error) {
		return output.count("CREATED") == 3*n && output.count("STATUS") >= n, nil
	})
	took = time.Since(start)
	b.Logf("after %s, %d syncs: %v", took, c.syncs.Load(), b.counted.take())
	if err != nil {
		b.Fatalf("%d children, %d statuses, want %d of each: %v", output.count("CREATED"), output.count("STATUS"), n, b.counted.take())
	}

	b.settled(namespace)
	for c.resync(b); !c.idle() || !c.settled(); { // until the last status is written, and seen
		c.resync(b)
	}
	b.counted.take()
	resync = time.Hour
	for range 10 {
		start := time.Now()
		c.resync(b)
		resync = min(resync, time.Since(start))
	}
	for kind, count := range b.counted.take() {
		if kind != "WATCH" {
			requests += count
			b.Logf("ten resyncs: %d %s", count, kind)
		}
	}
	return took, (testcluster.LiveHeap() - before) / float64(n), resync, requests
}

// settled reports whether every object's status is about what there is.
func (c *Controller) settled() bool {
	return c.consistency.Len() == 0
}

// counter counts lines by their first word.
type counter struct {
	mu    sync.Mutex
	words map[string]int
}

func (c *counter) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, letter := range line {
		if letter == ' ' {
			c.words[string(line[:i])]++
			break
		}
	}
	return len(line), nil
}

func (c *counter) count(word string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.words[word]
}

// BenchmarkLatency comes first: what the others leave behind, the server is deleting long after they have ended.
//
// It applies 200 DatabaseManagers, one after the other, with a controller and a server that have nothing
// else to do. It reports how long it takes from the server's answer to that until its answer to the controller about
// the Deployment, and for comparison how long a bare Create of a Deployment takes until the answer, in turns.
func BenchmarkLatency(b *testing.B) {
	e := newBench(b)
	namespace := testcluster.Namespace(b, testcluster.Config(b))
	deployments, databases := e.client.AppsV1().Deployments(namespace), e.databases.CoolopsV1alpha1().DatabaseManagers(namespace)
	answered := make(chan struct{}, 1)
	config := rest.CopyConfig(testcluster.Config(b))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return testkit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if verbAndResource(request) == "PATCH deployments" {
				answered <- struct{}{}
			}
			return response, err
		})
	})
	client, coolops := kubernetes.NewForConfigOrDie(config), versioned.NewForConfigOrDie(config)
	c, _ := startController(b, client, coolops, namespace, benchWorkers, io.Discard)
	var ours, whole, bare []time.Duration
	for b.Loop() {
		for range 200 {
			name := fmt.Sprintf("db-%d", len(ours))
			d := &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: "none"},
				Spec: dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: name, Replicas: new(int32(0))}}
			start := time.Now()
			applying := dbv1alpha1ac.DatabaseManager(name, namespace).WithSpec(
				dbv1alpha1ac.DatabaseManagerSpec().WithDbtype(dbv1alpha1.MySQL).WithDeploymentName(name).WithReplicas(0))
			testkit.Must(databases.Apply(b.Context(), applying, metav1.ApplyOptions{FieldManager: "bench"}))(b)
			applied := time.Now()
			<-answered
			ours, whole = append(ours, time.Since(applied)), append(whole, time.Since(start))
			e.quiet(c, namespace, name)

			object := deploymentOf(database.Deployment(d, nil), name+"-bare")
			start = time.Now()
			if _, err := deployments.Create(b.Context(), object, metav1.CreateOptions{}); err != nil {
				b.Fatal(err)
			}
			bare = append(bare, time.Since(start))
			e.quiet(c, namespace, object.Name)
		}
	}
	b.ReportMetric(0, "ns/op") // the sum of different things
	for name, times := range map[string][]time.Duration{"": ours, "-with-apply": whole, "-bare-create": bare} {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-p50"+name)
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "ms-p99"+name)
	}
	b.ReportMetric(float64(ours[len(ours)/2])/float64(bare[len(bare)/2]), "p50/p50-bare")
}

// BenchmarkAgainstBlind has the controller work for 1,000 DatabaseManagers, and a program send the same writes blindly:
// 200 each in turns, so that what else the machine does slows both.
func BenchmarkAgainstBlind(b *testing.B) {
	e := newBench(b)
	var ours, blind time.Duration
	for b.Loop() {
		for range 5 {
			made := e.create(1, 200)
			blind += e.blind(made)
			e.settled(made[0].Namespace)
			made = e.create(1, 200)
			took, _, _, _ := e.controlled(made[0].Namespace, 200)
			ours += took
		}
	}
	b.ReportMetric(0, "ns/op") // would count making the DatabaseManagers, too
	b.ReportMetric(ours.Seconds()/float64(b.N), "s/1000-objects")
	b.ReportMetric(blind.Seconds()/float64(b.N), "s/1000-objects-blind")
	b.ReportMetric(ours.Seconds()/blind.Seconds(), "ours/blind")
}

// BenchmarkObjects has the controller work for 1,000 DatabaseManagers and for 10,000, then look at all of them ten times
// with nothing to do. The growth is what 10,000 take against 1,000. They are 100 to a namespace: for each Deployment,
// Kubernetes' own controller looks at all ReplicaSets of its namespace, which would be most of what is measured.
func BenchmarkObjects(b *testing.B) {
	var took, memory, resync [2]float64
	for i, n := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			e := newBench(b)
			var requests int
			for b.Loop() {
				e.alone()
				e.create(n/100, 100)
				time, bytes, again, sent := e.controlled(metav1.NamespaceAll, n)
				took[i], memory[i], resync[i], requests = time.Seconds(), bytes, again.Seconds(), sent
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(took[i], "s")
			b.ReportMetric(memory[i], "B/object")
			b.ReportMetric(resync[i]*1e3, "fastest-ms/resync")
			b.ReportMetric(float64(requests), "requests-of-10-resyncs")
			if i == 1 && took[0] > 0 {
				b.ReportMetric(took[1]/took[0], "growth-of-time")
				b.ReportMetric(memory[1]*10/memory[0], "growth-of-memory")
				b.ReportMetric(resync[1]/resync[0], "growth-of-resync")
			}
		})
	}
}

// BenchmarkShards has 1, 2, 4 and 8 replicas share the 100 namespaces of 10,000 DatabaseManagers. A replica costs what it takes until it
// has looked at all of its objects.
func BenchmarkShards(b *testing.B) {
	const number, namespaces = 10_000, 100
	e := newBench(b)
	e.alone()
	var names []string
	for _, d := range e.create(namespaces, number/namespaces) {
		names = append(names, d.Namespace)
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	e.controlled(metav1.NamespaceAll, number)
	meter, filtered := testcluster.NewMeter(b, e.config)
	configs := map[bool]*rest.Config{true: filtered, false: testkit.IgnoreShards(b, filtered)}
	testcluster.Replicas(b, func(b *testing.B, number, count int, byServer bool) testcluster.Costs {
		var s shard.Shard
		if err := s.ParseNamespaces(fmt.Sprintf("%d/%d:%s", number, count, strings.Join(shard.Cuts(names, count), ","))); err != nil {
			b.Fatal(err)
		}
		end := meter.Start(b)
		client, databases := kubernetes.NewForConfigOrDie(configs[byServer]), versioned.NewForConfigOrDie(configs[byServer])
		part := func(all *selection) { all.shard = s }
		c, stop := startController(b, client, databases, metav1.NamespaceAll, benchWorkers, io.Discard, part)
		defer stop()
		testkit.Await(b, "the first sync of each", func() bool {
			isLate := slices.ContainsFunc(c.informers, func(informer cache.SharedInformer) bool { return !informer.HasSynced() })
			return !isLate && c.idle() && c.syncs.Load() >= int64(len(c.databaseIndexer.ListKeys()))
		})
		costs := end()
		for _, informer := range c.informers {
			costs.Objects += len(informer.GetStore().ListKeys())
		}
		return costs
	})
}

// quiet waits until Kubernetes is through with a Deployment, and the controller with what came of it.
func (b *bench) quiet(c *Controller, namespace, deployment string) {
	b.Helper()
	err := wait.PollUntilContextTimeout(b.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		have, err := b.client.AppsV1().Deployments(namespace).Get(ctx, deployment, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		complete := slices.ContainsFunc(have.Status.Conditions, func(condition appsv1.DeploymentCondition) bool {
			return condition.Reason == "NewReplicaSetAvailable"
		})
		return complete && c.idle() && c.settled(), nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// deploymentOf is the object that an apply configuration makes, under another name.
func deploymentOf(want *appsv1ac.DeploymentApplyConfiguration, name string) *appsv1.Deployment {
	want.Name = &name
	fields, err := json.Marshal(want)
	if err != nil {
		panic(err)
	}
	deployment := &appsv1.Deployment{}
	if err := json.Unmarshal(fields, deployment); err != nil {
		panic(err)
	}
	return deployment
}

// BenchmarkPodMemory is the memory of a pod in a store: whole, and with only the fields that the status needs.
func BenchmarkPodMemory(b *testing.B) {
	e := newBench(b)
	namespace := testcluster.Namespace(b, testcluster.Config(b))
	d := &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "example", UID: "a"},
		Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "example"},
	}
	desired := database.Deployment(d, nil)
	testkit.Must(e.client.AppsV1().Deployments(namespace).Apply(b.Context(), desired, children.ApplyOptions))(b)
	var text []byte
	err := wait.PollUntilContextTimeout(b.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		pods, err := e.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil || len(pods.Items) == 0 || len(pods.Items[0].Status.ContainerStatuses) == 0 {
			return false, err
		}
		text, err = pods.Items[0].Marshal() // as it comes from the server
		return true, err
	})
	if err != nil {
		b.Fatal(err)
	}
	const n = 5000
	memory := func(transform func(any) (any, error)) float64 {
		pods := make([]any, n)
		before := testcluster.LiveHeap()
		for i := range pods {
			pod := &corev1.Pod{}
			if err := pod.Unmarshal(text); err != nil {
				b.Fatal(err)
			}
			if pods[i], err = transform(pod); err != nil {
				b.Fatal(err)
			}
		}
		bytes := (testcluster.LiveHeap() - before) / n
		runtime.KeepAlive(pods)
		return bytes
	}
	for b.Loop() {
		b.ReportMetric(memory(func(pod any) (any, error) { return pod, nil }), "B/pod-whole")
		b.ReportMetric(memory(rollout.StripPod), "B/pod-kept")
	}
	b.ReportMetric(0, "ns/op")
}

func TestBenchmarksWithoutACluster(t *testing.T) { testcluster.CheckBenchmarks(t) }
