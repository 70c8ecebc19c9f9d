package main

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/election"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/shard"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// shardsShareTheNamespaces: it needs a cluster of its own, because these controllers watch all namespaces.
func shardsShareTheNamespaces(t *testing.T, cluster *testcluster.Cluster) {
	config := cluster.Config()
	testcluster.InstallDatabaseManagers(t, config)
	client := kubernetes.NewForConfigOrDie(config)
	namespaces := client.CoreV1().Namespaces()
	newEnv := func(name string) *env {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		testkit.Must(namespaces.Create(t.Context(), namespace, metav1.CreateOptions{}))(t)
		return envIn(t, config, name)
	}
	var names []string
	var envs []*env
	for i := range 30 {
		names = append(names, fmt.Sprintf("ns-%03d", i))
		envs = append(envs, newEnv(names[i]))
	}
	start := func(t *testing.T, number, count int, change ...func(*options)) (*testkit.Buffer, func()) {
		return envs[0].in(t).run(config, append(change, func(o *options) {
			o.namespace = ""
			o.election = election.Options{Enabled: true, Namespace: "default", LeaseDuration: 2 * time.Minute} // longer than a restart
			value := fmt.Sprintf("%d/%d:%s", number, count, strings.Join(shard.Cuts(names, count), ","))
			if err := o.shard.ParseNamespaces(value); err != nil {
				t.Fatal(err)
			}
		})...)
	}
	t.Run("the API server is restarted without the feature gate, and with it", func(t *testing.T) {
		const gate = "ShardedListAndWatch"
		var printed []*testkit.Buffer
		for number := 1; number <= 3; number++ {
			output, _ := start(t, number, 3)
			printed = append(printed, output)
		}
		for round, isOn := range []bool{true, false, true} {
			if round > 0 {
				cluster.StopAPIServer(t)
				cluster.SetFeatureGate(t, gate, isOn)
				cluster.StartAPIServer(t)
				metrics := testkit.Must(client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context()))(t)
				want := fmt.Sprintf("kubernetes_feature_enabled{name=%q,stage=\"ALPHA\"} %d", gate, map[bool]int{true: 1}[isOn])
				if !strings.Contains(string(metrics), want) {
					t.Fatalf("the API server has not the metric %s", want)
				}
			}
			database := fmt.Sprint("round", round)
			everywhere := append(slices.Clone(envs), newEnv(database)) // the cuts were made without this one
			for _, e := range everywhere {
				e.in(t).create(database, func(spec *dbv1alpha1.DatabaseManagerSpec) {
					spec.DeploymentName, spec.Replicas = database, new(int32(0))
				})
			}
			for _, e := range everywhere {
				e.in(t).untilReady(database, rollout.ReasonScaledToZero)
			}
			if err := namespaces.Delete(t.Context(), database, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			later := 0
			for i, output := range printed {
				later += strings.Count(output.String(), "CREATED    Deployment "+database+"/")
				if created := strings.Count(output.String(), "CREATED    Deployment ns-"); created != 10*(round+1) {
					t.Errorf("%s: shard %d has created %d Deployments, want 10 in each round:\n%s", database, i+1, created, output)
				}
				// It says so once.
				if foreign := output.Lines("SHARD"); len(foreign) != min(round, 1) {
					t.Errorf("%s: shard %d: %q", database, i+1, foreign)
				}
			}
			if later != 1 {
				t.Errorf("%s: the Deployment in the new namespace was created %d times", database, later)
			}
		}
		testkit.Await(t, "the namespaces of the rounds are gone", func() bool {
			list := testkit.Must(namespaces.List(t.Context(), metav1.ListOptions{}))(t)
			return !slices.ContainsFunc(list.Items, func(n corev1.Namespace) bool { return strings.HasPrefix(n.Name, "round") })
		})
	})
	t.Run("a second process has the shard of one that is gone", func(t *testing.T) {
		first, stop := start(t, 2, 3)
		first.Await(t, "LEADER +this process")
		second, _ := start(t, 2, 3)
		listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
		other, _ := start(t, 1, 3, func(o *options) { o.server.Listener = listener })
		other.Await(t, "LEADER +this process") // the Lease of each shard has another name
		if shard := testkit.Metric(t, "http://"+listener.Addr().String(), `workbook_shard{shard="1/3"}`); shard != 1 {
			t.Errorf("the metric of the shard is %d, want 1", shard)
		}
		stop()
		second.Await(t, "LEADER +this process")
	})

	// Three are replaced by four while DatabaseManagers are created. If all old ones have ended before a new one starts, no object is in
	// two shards. If they overlap, some are: then the server refuses the later of two writes.
	for order, overlap := range map[string]bool{"stopped": false, "overlapping": true} {
		t.Run("from 3 to 4 shards, "+order, func(t *testing.T) {
			var outputs []*testkit.Buffer
			startAll := func(count int) (stopAll func()) {
				var stops []func()
				for number := 1; number <= count; number++ {
					output, stop := start(t, number, count)
					outputs, stops = append(outputs, output), append(stops, stop)
				}
				return func() {
					var group sync.WaitGroup
					for _, stop := range stops {
						group.Go(stop)
					}
					group.Wait()
				}
			}
			stopOld := startAll(3)
			for _, output := range outputs {
				output.Await(t, "LEADER +this process")
			}
			const rounds = 4
			create := func(round int) {
				for _, e := range envs {
					e.in(t).create(fmt.Sprint(order, round), func(spec *dbv1alpha1.DatabaseManagerSpec) {
						spec.DeploymentName, spec.Replicas = fmt.Sprint(order, round), new(int32(0))
					})
				}
			}
			create(0)
			var group sync.WaitGroup
			if !overlap {
				group.Go(stopOld)
			}
			create(1)
			group.Wait()
			stopNew := startAll(4)
			create(2)
			create(3)
			for _, e := range envs {
				for round := range rounds {
					name := fmt.Sprint(order, round)
					d := e.in(t).untilReady(name, rollout.ReasonScaledToZero)
					if took := e.in(t).deployment(name).CreationTimestamp.Sub(d.CreationTimestamp.Time); took > 15*time.Second {
						t.Errorf("%s/%s was without a writer for %s", e.namespace, name, took)
					}
				}
			}
			stopOld()
			stopNew()
			count := map[string]int{} // of creations, by kind and name
			for _, output := range outputs {
				for _, line := range output.Lines("CREATED") {
					count[line]++
				}
			}
			if want := 3 * rounds * len(envs); len(count) != want || slices.Max(slices.Collect(maps.Values(count))) > 1 {
				t.Errorf("%d children were created, want %d, each once: %v", len(count), want, count)
			}
		})
	}
}
