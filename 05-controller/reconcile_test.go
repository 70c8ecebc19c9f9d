package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/controller/election"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// awaitLine waits for a line that has all these parts, in this order.
func awaitLine(t *testing.T, out *testkit.Buffer, parts ...string) {
	t.Helper()
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	out.Await(t, strings.Join(parts, ".*"))
}

// running is a controller that runs inside the test.
type running struct {
	out *testkit.Buffer
	// stop ends it as a signal does, and returns when it has ended; wait only returns.
	stop, wait func() error
}

// start starts a controller on a namespace. It is stopped when the test ends, if not earlier.
func start(t *testing.T, config *rest.Config, namespace string, change func(*options)) running {
	t.Helper()
	o := options{namespace: namespace, workers: 2, slowRetry: time.Second, drainFor: 20 * time.Second}
	if change != nil {
		change(&o)
	}
	out := &testkit.Buffer{}
	ctx, cancel := context.WithCancel(testkit.Context(context.Background(), t))
	ended := make(chan struct{})
	var err error
	go func() {
		defer close(ended)
		err = run(ctx, config, o, program.NewPrinter(out))
	}()
	wait := func() error {
		<-ended
		return err
	}
	r := running{out: out, wait: wait, stop: func() error {
		cancel()
		return wait()
	}}
	t.Cleanup(func() {
		// The context's error is that of a test which ends before the controller's first request.
		if err := r.stop(); err != nil && !errors.Is(err, election.ErrLost) && !errors.Is(err, context.Canceled) {
			t.Errorf("the controller ends with: %v", err)
		}
		if t.Failed() {
			t.Logf("printed:\n%s", out)
		}
	})
	return r
}

// env is a namespace of the server, and what a test does in it.
type env struct {
	*testing.T
	client    *kubernetes.Clientset
	namespace string
}

func newEnv(t *testing.T, config *rest.Config) env {
	return env{T: t, client: kubernetes.NewForConfigOrDie(config), namespace: testcluster.Namespace(t, config)}
}

// createConfigMap creates a ConfigMap that describes a database; data are keys and values.
func (e env) createConfigMap(name string, data ...string) *corev1.ConfigMap {
	e.Helper()
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"workbook/database": "true"}},
		Data:       map[string]string{"dbtype": "mysql"},
	}
	for pair := range slices.Chunk(data, 2) {
		configMap.Data[pair[0]] = pair[1]
	}
	return testkit.Must(e.client.CoreV1().ConfigMaps(e.namespace).Create(e.Context(), configMap, metav1.CreateOptions{}))(e.T)
}

// setData sets one key of a ConfigMap.
func (e env) setData(name, key, value string) {
	e.Helper()
	e.patchConfigMap(name, fmt.Sprintf(`{"data":{%q:%q}}`, key, value))
}

func (e env) patchConfigMap(name, patch string) {
	e.Helper()
	testkit.Must(e.client.CoreV1().ConfigMaps(e.namespace).Patch(e.Context(),
		name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(e.T)
}

func (e env) patchDeployment(name, patch string) {
	e.Helper()
	testkit.Must(e.client.AppsV1().Deployments(e.namespace).Patch(e.Context(),
		name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"}))(e.T)
}

// deployment returns a Deployment, or nil.
func (e env) deployment(name string) *appsv1.Deployment {
	e.Helper()
	deployment, err := e.client.AppsV1().Deployments(e.namespace).Get(e.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return testkit.Must(deployment, err)(e.T)
}

// awaitDeployments waits until these are all the Deployments there are: names with their replicas, as in orders=1.
func (e env) awaitDeployments(want ...string) {
	e.Helper()
	var got []string
	defer func() {
		if e.Failed() {
			e.Errorf("Deployments: want %q, got %q", want, got)
		}
	}()
	testkit.Await(e.T, "the Deployments", func() bool {
		got = nil
		list := testkit.Must(e.client.AppsV1().Deployments(e.namespace).List(e.Context(), metav1.ListOptions{}))(e.T)
		for _, deployment := range list.Items {
			got = append(got, fmt.Sprintf("%s=%d", deployment.Name, *deployment.Spec.Replicas))
		}
		slices.Sort(got)
		return slices.Equal(want, got)
	})
}

// createOthersDeployment creates a Deployment that has nothing to do with the controller.
func (e env) createOthersDeployment(name string) *appsv1.Deployment {
	e.Helper()
	labels := map[string]string{"app": name}
	return testkit.Must(e.client.AppsV1().Deployments(e.namespace).Create(e.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx:1.28.0"}}},
			},
		},
	}, metav1.CreateOptions{}))(e.T)
}

// events returns the events of a ConfigMap, as reason and message.
func (e env) events(name string) []string {
	e.Helper()
	events := testkit.Must(e.client.CoreV1().Events(e.namespace).List(e.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.kind=ConfigMap,involvedObject.name=" + name,
	}))(e.T).Items
	slices.SortFunc(events, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	var texts []string
	for _, event := range events {
		for range event.Count {
			texts = append(texts, event.Reason+": "+event.Message)
		}
	}
	return texts
}

// awaitEvents waits until exactly these events are there, in any order.
func (e env) awaitEvents(name string, want ...string) {
	e.Helper()
	slices.Sort(want)
	var diff string
	defer func() {
		if e.Failed() {
			e.Errorf("events of %s (-want +got):\n%s", name, diff)
		}
	}()
	testkit.Await(e.T, "events", func() bool {
		got := e.events(name)
		slices.Sort(got)
		diff = cmp.Diff(want, got)
		return diff == ""
	})
}

func TestLife(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	r := start(t, config, e.namespace, nil)

	e.createConfigMap("orders", "deploymentName", "orders-db")
	e.awaitDeployments("orders-db=1")
	e.setData("orders", "replicas", "3")
	e.awaitDeployments("orders-db=3")
	e.setData("orders", "replicas", "0")
	e.awaitDeployments("orders-db=0")
	e.setData("orders", "deploymentName", "other-db")
	e.awaitDeployments("other-db=0")
	e.awaitEvents("orders",
		"Created: Deployment orders-db: mysql, 1 replica(s)",
		"Updated: Deployment orders-db: mysql, 3 replica(s)",
		"Updated: Deployment orders-db: mysql, 0 replica(s)",
		"Created: Deployment other-db: mysql, 0 replica(s)",
		"Deleted: Deployment orders-db: no longer asked for",
	)

	t.Run("without its label it is no longer asked for", func(t *testing.T) {
		e.patchConfigMap("orders", `{"metadata":{"labels":{"workbook/database":null}}}`)
		e.awaitDeployments()
		e.patchConfigMap("orders", `{"metadata":{"labels":{"workbook/database":"true"}}}`)
		e.awaitDeployments("other-db=0")
	})
	t.Run("deleted and created again under the same name", func(t *testing.T) {
		old := e.deployment("other-db").UID
		if err := e.client.CoreV1().ConfigMaps(e.namespace).Delete(t.Context(), "orders", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		again := e.createConfigMap("orders", "deploymentName", "other-db", "dbtype", "mariadb")
		testkit.Await(t, "the new one's Deployment", func() bool {
			deployment := e.deployment("other-db")
			return deployment != nil && deployment.UID != old && metav1.IsControlledBy(deployment, again)
		})
		if len(r.out.Lines("STUCK")) > 0 {
			t.Error("it reports a problem, which passes by itself when the garbage collector has deleted the old Deployment")
		}
	})
	t.Run("the garbage collector deletes, even with no controller there", func(t *testing.T) {
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		if err := e.client.CoreV1().ConfigMaps(e.namespace).Delete(t.Context(), "orders", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		e.awaitDeployments()
	})
}

func TestDriftIsRepairedAndForeignFieldsStay(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	start(t, config, e.namespace, nil)
	e.createConfigMap("orders", "deploymentName", "orders-db")
	e.awaitDeployments("orders-db=1")
	before := e.deployment("orders-db")

	for name, patch := range map[string]string{
		"replicas":      `{"spec":{"replicas":4}}`,
		"image":         `{"spec":{"template":{"spec":{"containers":[{"name":"database","image":"mysql:latest"}]}}}}`,
		"label removed": `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`,
		"variable changed": `{"spec":{"template":{"spec":{"containers":[{"name":"database",` +
			`"env":[{"name":"MYSQL_RANDOM_ROOT_PASSWORD","value":"no"}]}]}}}}`,
		"container removed": `{"spec":{"template":{"spec":{"containers":[{"name":"x","image":"nginx:1.28.0"},` +
			`{"$patch":"delete","name":"database"}]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			e := env{T: t, client: e.client, namespace: e.namespace}
			e.patchDeployment("orders-db", patch)
			testkit.Await(t, "the repair", func() bool {
				after := e.deployment("orders-db")
				pod := &after.Spec.Template.Spec
				pod.Containers = slices.DeleteFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == "x" })
				return cmp.Equal(before.Spec, after.Spec) && cmp.Equal(before.Labels, after.Labels)
			})
		})
	}
	t.Run("deleted", func(t *testing.T) {
		if err := e.client.AppsV1().Deployments(e.namespace).Delete(t.Context(), "orders-db", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		testkit.Await(t, "a new one", func() bool {
			after := e.deployment("orders-db")
			return after != nil && after.UID != before.UID
		})
	})
	t.Run("foreign fields stay", func(t *testing.T) {
		e.patchDeployment("orders-db", `{
			"metadata":{"labels":{"team":"shop"},"annotations":{"note":"hands off"}},
			"spec":{"minReadySeconds":7,"template":{"spec":{"containers":[{"name":"sidecar","image":"nginx:1.28.0"}]}}}}`)
		e.setData("orders", "replicas", "2")
		e.awaitDeployments("orders-db=2")
		got := e.deployment("orders-db")
		if got.Labels["team"] != "shop" || got.Annotations["note"] != "hands off" ||
			got.Spec.MinReadySeconds != 7 || len(got.Spec.Template.Spec.Containers) != 2 {
			t.Errorf("somebody else's fields are gone: %v %v %v", got.Labels, got.Annotations, got.Spec)
		}
	})
}

func TestDeploymentOfSomebodyElseIsLeftAlone(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	before := e.createOthersDeployment("taken")
	r := start(t, config, e.namespace, func(o *options) { o.slowRetry = 100 * time.Millisecond })
	e.createConfigMap("orders", "deploymentName", "taken")
	const problem = `NameConflict: Deployment "taken" exists and is not this ConfigMap's: delete it, or ask for another deploymentName`
	e.awaitEvents("orders", problem)
	awaitLine(t, r.out, "STUCK", e.namespace+"/orders", problem)

	// It is retried ten times a second now, and must report nothing more.
	e.createConfigMap("witness", "deploymentName", "witness")
	e.awaitDeployments("taken=0", "witness=1")
	e.awaitEvents("orders", problem)
	// Not the whole object: Kubernetes' Deployment controller writes an annotation and the status when it gets to it.
	after := e.deployment("taken")
	ours := slices.ContainsFunc(after.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == fieldManager })
	if after.UID != before.UID || after.Generation != before.Generation || after.Labels != nil || after.OwnerReferences != nil || ours {
		t.Errorf("somebody else's Deployment was changed: it is %+v, and was %+v", after, before)
	}

	// Each of the two repairs helps.
	e.setData("orders", "deploymentName", "free")
	e.awaitDeployments("free=1", "taken=0", "witness=1")
	e.setData("orders", "deploymentName", "taken")
	e.awaitEvents("orders", problem, problem,
		"Created: Deployment free: mysql, 1 replica(s)")
	if e.deployment("free") == nil {
		t.Error("the old Deployment is gone although the new one cannot be created")
	}
	if err := e.client.AppsV1().Deployments(e.namespace).Delete(t.Context(), "taken", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.awaitDeployments("taken=1", "witness=1")
}

// Other controllers may let ConfigMaps own Deployments, too, even a ConfigMap that asks us for a database.
func TestDeploymentThatAnotherControllerMadeForAConfigMap(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	r := start(t, config, e.namespace, nil)
	asking := e.createConfigMap("asking", "deploymentName", "asked")
	unlabelled := testkit.Must(e.client.CoreV1().ConfigMaps(e.namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{}))(t)
	uids := map[string]types.UID{}
	for name, owner := range map[string]*corev1.ConfigMap{"of-asking": asking, "of-other": unlabelled} {
		uids[name] = e.createOthersDeployment(name).UID
		e.patchDeployment(name, fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1",`+
			`"kind":"ConfigMap","name":%q,"uid":%q,"controller":true}]}}`,
			owner.Name, owner.UID))
	}
	e.awaitDeployments("asked=1", "of-asking=0", "of-other=0")
	e.setData("asking", "deploymentName", "of-asking")
	awaitLine(t, r.out, "STUCK", e.namespace+"/asking", "NameConflict")
	e.setData("asking", "deploymentName", "asked-again")
	awaitLine(t, r.out, "DELETED")
	e.awaitDeployments("asked-again=1", "of-asking=0", "of-other=0")
	for name, uid := range uids {
		if e.deployment(name).UID != uid {
			t.Errorf("it has deleted another controller's Deployment %s", name)
		}
	}
}

func TestTwoConfigMapsForOneDeployment(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	first := e.createConfigMap("first", "deploymentName", "db")
	start(t, config, e.namespace, nil)
	e.awaitDeployments("db=1")
	e.createConfigMap("second", "deploymentName", "db", "replicas", "3")
	e.awaitEvents("second", `NameConflict: Deployment "db" exists and is not this ConfigMap's: `+
		`delete it, or ask for another deploymentName`)
	if db := e.deployment("db"); !metav1.IsControlledBy(db, first) || *db.Spec.Replicas != 1 {
		t.Errorf("it belongs to the second now: %v", db)
	}
}

func TestMistakesInAConfigMap(t *testing.T) {
	for name, test := range map[string]struct{ key, value, want string }{
		"no number":          {"replicas", "two", `replicas "two" is not a number from 0 to 5`},
		"negative":           {"replicas", "-1", `replicas "-1" is not a number from 0 to 5`},
		"too many":           {"replicas", "6", `replicas "6" is not a number from 0 to 5`},
		"huge":               {"replicas", "99999999999999999999", `replicas "99999999999999999999" is not a number from 0 to 5`},
		"empty":              {"replicas", "", `replicas "" is not a number from 0 to 5`},
		"unknown type":       {"dbtype", "oracle", `dbtype "oracle" is not one of: mariadb, mysql`},
		"no type":            {"dbtype", "", `dbtype "" is not one of: mariadb, mysql`},
		"no name":            {"deploymentName", "", `deploymentName "": a lowercase RFC 1123 label`},
		"a name that isn't":  {"deploymentName", "My_DB", `deploymentName "My_DB": a lowercase RFC 1123 label`},
		"a name with a path": {"deploymentName", "../pods", `deploymentName "../pods": a lowercase RFC 1123 label`},
	} {
		t.Run(name, func(t *testing.T) {
			data := map[string]string{"dbtype": "mysql", "deploymentName": "db", "replicas": "5"}
			if db, err := parse(&corev1.ConfigMap{Data: data}); err != nil || db != (database{"mysql", "db", 5}) {
				t.Errorf("without the mistake: %v, %v", db, err)
			}
			data[test.key] = test.value
			if _, err := parse(&corev1.ConfigMap{Data: data}); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestBadInputWritesNothing(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	r := start(t, config, e.namespace, nil)
	e.createConfigMap("good", "deploymentName", "good-db")
	e.awaitDeployments("good-db=1")

	const problem = `Invalid: replicas "two" is not a number from 0 to 5`
	e.setData("good", "replicas", "two")
	awaitLine(t, r.out, "STUCK", e.namespace+"/good", problem)
	e.createConfigMap("bad", "deploymentName", "bad-db", "replicas", "two")
	awaitLine(t, r.out, "STUCK", e.namespace+"/bad", problem)
	e.awaitDeployments("good-db=1") // as it was, and none for bad
	if len(r.out.Lines("STUCK")) != 2 || len(r.out.Lines("RETRY")) != 0 {
		t.Errorf("want one line for each:\n%q", r.out.Lines())
	}

	e.setData("bad", "replicas", "2")
	e.awaitDeployments("bad-db=2", "good-db=1")
	testkit.Await(t, "the events", func() bool { return len(e.events("bad")) == 2 })
}

// interceptor answers requests in place of the server, where it returns an error or an answer.
type interceptor func(*http.Request) (*http.Response, error)

func (f interceptor) wrap(config *rest.Config) *rest.Config {
	return testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if response, err := f(request); response != nil || err != nil {
			return response, err
		}
		return next.RoundTrip(request)
	})
}

// isWrite reports whether a request changes a Deployment.
func isWrite(request *http.Request) bool {
	return strings.Contains(request.URL.Path, "/deployments") && (request.Method == http.MethodPatch || request.Method == http.MethodDelete)
}

// A process that is killed between two writes leaves nothing behind but the first of them. The next process starts from
// that state.
func TestKilledBetweenTwoWrites(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	for writes := range 3 { // a change of the name makes two: the new Deployment, then the old one's end
		t.Run(fmt.Sprintf("after %d", writes), func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, config)
			orders := e.createConfigMap("orders", "deploymentName", "old-db")
			first := start(t, config, e.namespace, nil)
			e.awaitDeployments("old-db=1")
			if err := first.stop(); err != nil {
				t.Fatal(err)
			}
			e.setData("orders", "deploymentName", "new-db")

			killed := errors.New("killed")
			var mu sync.Mutex
			count := 0
			dead := make(chan struct{})
			dying := start(t, interceptor(func(request *http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				if isWrite(request) {
					count++
				}
				if count > writes || count == writes && request.Method == http.MethodPost {
					if count > writes {
						select {
						case <-dead:
						default:
							close(dead)
						}
					}
					return nil, killed
				}
				return nil, nil
			}).wrap(config), e.namespace, func(o *options) { o.drainFor = 0 })
			if writes < 2 {
				<-dead
			} else {
				awaitLine(t, dying.out, "DELETED")
			}
			if err := dying.stop(); err != nil {
				t.Fatal(err)
			}

			start(t, config, e.namespace, nil)
			e.awaitDeployments("new-db=1")
			if !metav1.IsControlledBy(e.deployment("new-db"), orders) {
				t.Error("the Deployment has another owner")
			}
		})
	}
}

// In this test the store is stale: it does not have the Deployment yet that the controller has created itself.
func TestStaleStoreMakesNoSecondChild(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	e.createConfigMap("orders", "deploymentName", "orders-db")
	r, answer := io.Pipe()
	go io.WriteString(answer, `{"type":"BOOKMARK","object":{"kind":"Deployment","apiVersion":"apps/v1",`+
		`"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
	var mu sync.Mutex
	writes, watches := 0, 0
	blind := interceptor(func(request *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if isWrite(request) {
			writes++
		}
		if !strings.HasSuffix(request.URL.Path, "/deployments") || request.URL.Query().Get("watch") == "" {
			return nil, nil
		}
		if watches++; watches > 1 {
			return nil, nil // the server answers
		}
		return &http.Response{
			StatusCode: http.StatusOK,
			Header:     http.Header{"Content-Type": {"application/json"}},
			Body:       r,
			Request:    request,
		}, nil
	}).wrap(config)
	listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	url := "http://" + listener.Addr().String()
	controller := start(t, blind, e.namespace, func(o *options) { o.server.Listener = listener })
	awaitLine(t, controller.out, "CREATED")
	retries := metric(t, url, "workqueue_retries_total")
	e.setData("orders", "replicas", "2")
	testkit.Await(t, "three syncs with a stale store", func() bool { return metric(t, url, "workqueue_retries_total") >= retries+3 })
	e.awaitDeployments("orders-db=1")
	mu.Lock()
	if writes != 1 {
		t.Error("it wrote again, although its store did not have its own write")
	}
	mu.Unlock()

	answer.Close() // the watch ends, and the next one is the server's
	e.awaitDeployments("orders-db=2")
	if got := len(controller.out.Lines("CREATED")); got != 1 {
		t.Errorf("created %d times", got)
	}
}

// Somebody replaces the Deployment, as `kubectl replace --force` does, while the controller sends its apply. The apply is
// for the Deployment that was deleted: it must not be taken for an invalid one of the new.
func TestReplacedBeforeApply(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	deployments := e.client.AppsV1().Deployments(e.namespace)
	armed := make(chan *appsv1.Deployment, 1)
	r := start(t, interceptor(func(request *http.Request) (*http.Response, error) {
		if !isWrite(request) {
			return nil, nil
		}
		select {
		case old := <-armed:
			replacement := &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Name: old.Name, Labels: old.Labels, OwnerReferences: old.OwnerReferences},
				Spec:       old.Spec,
			}
			if err := deployments.Delete(request.Context(), old.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
				return nil, err
			}
			if _, err := deployments.Create(request.Context(), replacement, metav1.CreateOptions{FieldManager: "somebody"}); err != nil {
				return nil, err
			}
		default:
		}
		return nil, nil
	}).wrap(config), e.namespace, nil)
	e.createConfigMap("orders", "deploymentName", "orders-db")
	e.awaitDeployments("orders-db=1")
	old := e.deployment("orders-db")
	armed <- old
	e.setData("orders", "replicas", "2")
	awaitLine(t, r.out, "AGAIN", e.namespace+"/orders")
	e.awaitDeployments("orders-db=2")
	awaitLine(t, r.out, "UPDATED")
	if e.deployment("orders-db").UID == old.UID {
		t.Error("the Deployment was not replaced")
	}
	if lines := r.out.Lines("STUCK", "RETRY"); len(lines) > 0 {
		t.Errorf("a conflict is reported as a problem: %q", lines)
	}
}

// Somebody deletes the Deployment while the controller sends its apply.
func TestDeletedBeforeApply(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	first := true
	r := start(t, interceptor(func(request *http.Request) (*http.Response, error) {
		if isWrite(request) && e.deployment("orders-db") != nil && first {
			first = false
			deployments := e.client.AppsV1().Deployments(e.namespace)
			if err := deployments.Delete(request.Context(), "orders-db", metav1.DeleteOptions{}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}).wrap(config), e.namespace, nil)
	e.createConfigMap("orders", "deploymentName", "orders-db")
	e.awaitDeployments("orders-db=1")
	old := e.deployment("orders-db").UID
	e.setData("orders", "replicas", "2")
	awaitLine(t, r.out, "AGAIN", e.namespace+"/orders", "uid mismatch")
	e.awaitDeployments("orders-db=2")
	if e.deployment("orders-db").UID == old {
		t.Error("the Deployment was not deleted")
	}
	if len(r.out.Lines("RETRY")) > 0 {
		t.Error("a conflict is reported as a failure")
	}
}

// While the controller sends an apply, the ConfigMap is deleted with --cascade=orphan, and the garbage collector removes the
// owner reference from the Deployment. The apply must not bring it back: then the Deployment would be deleted, too.
func TestOrphanStaysOrphan(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	configMaps := e.client.CoreV1().ConfigMaps(e.namespace)
	armed := make(chan bool, 1)
	r := start(t, interceptor(func(request *http.Request) (*http.Response, error) {
		if !isWrite(request) {
			return nil, nil
		}
		select {
		case <-armed:
		default:
			return nil, nil
		}
		orphan := metav1.DeletePropagationOrphan
		if err := configMaps.Delete(context.Background(), "orders", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
			t.Error(err)
		}
		testkit.Await(t, "the ConfigMap to be gone", func() bool {
			_, err := configMaps.Get(context.Background(), "orders", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
		return nil, nil
	}).wrap(config), e.namespace, nil)
	orders := e.createConfigMap("orders", "deploymentName", "orders-db")
	e.awaitDeployments("orders-db=1")
	old := e.deployment("orders-db").UID
	// The garbage collector must have seen the owner reference, or it deletes the Deployment with its owner
	// (https://github.com/kubernetes/kubernetes/issues/26120). It has when it has deleted a later Deployment, without an owner.
	none := database{dbtype: "mysql", deploymentName: "none"}.deployment(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: e.namespace, UID: "none"}})
	deployments := e.client.AppsV1().Deployments(e.namespace)
	testkit.Must(deployments.Apply(t.Context(), none, metav1.ApplyOptions{FieldManager: "test"}))(t)
	testkit.Await(t, "the garbage collector", func() bool { return e.deployment("none") == nil })
	armed <- true
	e.setData("orders", "replicas", "2")
	r.out.Await(t, "AGAIN|UPDATED") // refused, or not

	// Another child of the ConfigMap shows when the garbage collector has looked at them.
	testkit.Must(configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "child",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(orders, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
	}}, metav1.CreateOptions{}))(t)
	testkit.Await(t, "the garbage collector", func() bool {
		_, err := configMaps.Get(t.Context(), "child", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if got := e.deployment("orders-db"); got == nil || got.UID != old || len(got.OwnerReferences) > 0 || got.DeletionTimestamp != nil {
		t.Error("the Deployment did not stay, without an owner")
	}
	if len(r.out.Lines("AGAIN")) == 0 {
		t.Error("the write was not refused")
	}
}

func TestNamespaceDeleted(t *testing.T) {
	testkit.All(t, "waits for the end of a namespace")
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	r := start(t, config, e.namespace, nil)
	for i := range 10 {
		e.createConfigMap(fmt.Sprintf("c%d", i), "deploymentName", fmt.Sprintf("d%d", i))
	}
	testkit.Await(t, "all Deployments", func() bool { return len(r.out.Lines("CREATED")) == 10 })
	if err := e.client.CoreV1().Namespaces().Delete(t.Context(), e.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the namespace's end", func() bool {
		_, err := e.client.CoreV1().Namespaces().Get(t.Context(), e.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	// When the namespace is gone, the store may still have a ConfigMap for a moment. A sync then fails in another way.
	for _, line := range r.out.Lines("RETRY") {
		if !strings.Contains(line, fmt.Sprintf("namespaces %q not found", e.namespace)) {
			t.Errorf("it retried to create Deployments in a namespace that is being deleted: %s", line)
		}
	}
}
