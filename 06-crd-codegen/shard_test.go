package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/shard"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// shardsShareTheNamespaces: it needs a cluster of its own, because these controllers watch all namespaces.
func shardsShareTheNamespaces(t *testing.T, cluster *testcluster.Cluster) {
	config := cluster.Config()
	testcluster.InstallDatabaseManagers(t, config)
	var names []string
	var envs []*env
	for i := range 30 {
		name := fmt.Sprintf("ns-%03d", i)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		testkit.Must(kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}))(t)
		names, envs = append(names, name), append(envs, envIn(t, config, name))
	}
	cuts := strings.Join(shard.Cuts(names, 3), ",")
	start := func(t *testing.T, config *rest.Config, number int) (*testkit.Buffer, func()) {
		return envs[0].in(t).run(config, func(o *options) {
			o.namespace = ""
			o.election.Enabled, o.election.Namespace = true, "default"
			if err := o.shard.ParseNamespaces(fmt.Sprintf("%d/3:%s", number, cuts)); err != nil {
				t.Fatal(err)
			}
		})
	}
	ignores := testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		query := request.URL.Query()
		if query.Has("watch") && !query.Has("shardSelector") {
			t.Errorf("a watch of everything: %s", request.URL)
		}
		query.Del("shardSelector")
		request = request.Clone(request.Context())
		request.URL.RawQuery = query.Encode()
		return next.RoundTrip(request)
	})
	for database, config := range map[string]*rest.Config{"filtered": config, "unfiltered": ignores} {
		t.Run(database+" by the server", func(t *testing.T) {
			for _, e := range envs {
				e.in(t).create(database, func(spec *dbv1alpha1.DatabaseManagerSpec) {
					spec.DeploymentName, spec.Replicas = database, new(int32(0))
				})
			}
			var printed []*testkit.Buffer
			for number := 1; number <= 3; number++ {
				output, _ := start(t, config, number)
				printed = append(printed, output)
			}
			for _, e := range envs {
				e.in(t).untilReady(database, rollout.ReasonScaledToZero)
			}
			for i, output := range printed {
				created, foreign := strings.Count(output.String(), "CREATED    Deployment ns-"), output.Lines("SHARD")
				if created != 10 {
					t.Errorf("shard %d has created %d Deployments, want 10:\n%s", i+1, created, output)
				}
				if isFiltered := len(foreign) == 0; isFiltered != (database == "filtered") {
					t.Errorf("shard %d: %q", i+1, foreign)
				}
			}
		})
	}
	t.Run("a second process has the shard of one that is gone", func(t *testing.T) {
		first, stop := start(t, config, 2)
		first.Await(t, "LEADER +this process")
		second, _ := start(t, config, 2)
		other, _ := start(t, config, 1)
		other.Await(t, "LEADER +this process") // the Lease of each shard has another name
		stop()
		second.Await(t, "LEADER +this process")
	})
}
