package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/testcluster"
)

// output is what a controller has printed so far.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

// lines returns what was printed, with single spaces.
func (o *output) lines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var lines []string
	for line := range strings.Lines(o.buffer.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

// count returns how many lines begin with a word.
func (o *output) count(word string) (count int) {
	for _, line := range o.lines() {
		if strings.HasPrefix(line, word+" ") {
			count++
		}
	}
	return count
}

// await waits for a line that has all the words given, in that order.
func (o *output) await(t *testing.T, words ...string) {
	t.Helper()
	await(t, fmt.Sprintf("a line with %q", words), func() bool {
		return slices.ContainsFunc(o.lines(), func(line string) bool {
			for _, word := range words {
				_, rest, found := strings.Cut(line, word)
				if !found {
					return false
				}
				line = rest
			}
			return true
		})
	})
}

// await fails the test if the condition does not come about.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// running is a controller that runs inside the test.
type running struct {
	out *output
	// stop ends it as a signal does, and returns when it has ended; wait only returns.
	stop, wait func() error
}

// start starts a controller on a namespace. It is stopped when the test ends, if not earlier.
func start(t *testing.T, config *rest.Config, namespace string, change func(*settings)) running {
	t.Helper()
	s := settings{namespace: namespace, workers: 2, slowRetry: time.Second, drainFor: 20 * time.Second, leaseDuration: 15 * time.Second}
	if change != nil {
		change(&s)
	}
	out := &output{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var err error
	go func() {
		defer close(ended)
		err = run(ctx, config, s, program.NewPrinter(out))
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
		if err := r.stop(); err != nil && !errors.Is(err, errLostLease) {
			t.Errorf("the controller ends with: %v", err)
		}
		if t.Failed() {
			t.Logf("printed:\n%s", strings.Join(out.lines(), "\n"))
		}
	})
	return r
}

// world is a namespace of the server, as a test sees and changes it.
type world struct {
	*testing.T
	client    *kubernetes.Clientset
	namespace string
}

func newWorld(t *testing.T, config *rest.Config) world {
	return world{T: t, client: kubernetes.NewForConfigOrDie(config), namespace: testcluster.Namespace(t, config)}
}

// ask creates a ConfigMap that asks for a database; data are keys and values.
func (w world) ask(name string, data ...string) *corev1.ConfigMap {
	w.Helper()
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"workbook/database": "true"}},
		Data:       map[string]string{"dbtype": "mysql"},
	}
	for pair := range slices.Chunk(data, 2) {
		configMap.Data[pair[0]] = pair[1]
	}
	return must(w.client.CoreV1().ConfigMaps(w.namespace).Create(w.Context(), configMap, metav1.CreateOptions{}))(w.T)
}

// change sets one key of a ConfigMap.
func (w world) change(name, key, value string) {
	w.Helper()
	w.patchConfigMap(name, fmt.Sprintf(`{"data":{%q:%q}}`, key, value))
}

func (w world) patchConfigMap(name, patch string) {
	w.Helper()
	must(w.client.CoreV1().ConfigMaps(w.namespace).Patch(w.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(w.T)
}

func (w world) patchDeployment(name, patch string) {
	w.Helper()
	must(w.client.AppsV1().Deployments(w.namespace).Patch(w.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"}))(w.T)
}

// deployment returns a Deployment, or nil.
func (w world) deployment(name string) *appsv1.Deployment {
	w.Helper()
	deployment, err := w.client.AppsV1().Deployments(w.namespace).Get(w.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return must(deployment, err)(w.T)
}

// awaitDeployments waits until these are all the Deployments there are: names with their replicas, as in orders=1.
func (w world) awaitDeployments(want ...string) {
	w.Helper()
	var got []string
	defer func() {
		if w.Failed() {
			w.Errorf("Deployments: want %q, got %q", want, got)
		}
	}()
	await(w.T, "the Deployments", func() bool {
		got = nil
		for _, deployment := range must(w.client.AppsV1().Deployments(w.namespace).List(w.Context(), metav1.ListOptions{}))(w.T).Items {
			got = append(got, fmt.Sprintf("%s=%d", deployment.Name, *deployment.Spec.Replicas))
		}
		slices.Sort(got)
		return slices.Equal(want, got)
	})
}

// foreign creates a Deployment that has nothing to do with the controller.
func (w world) foreign(name string) *appsv1.Deployment {
	w.Helper()
	labels := map[string]string{"app": name}
	return must(w.client.AppsV1().Deployments(w.namespace).Create(w.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx:1.28.0"}}},
			},
		},
	}, metav1.CreateOptions{}))(w.T)
}

// events returns what was told about a ConfigMap, as reason and message.
func (w world) events(name string) []string {
	w.Helper()
	events := must(w.client.CoreV1().Events(w.namespace).List(w.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.kind=ConfigMap,involvedObject.name=" + name,
	}))(w.T).Items
	slices.SortFunc(events, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	var told []string
	for _, event := range events {
		for range event.Count {
			told = append(told, event.Reason+": "+event.Message)
		}
	}
	return told
}

// awaitEvents waits until exactly these events are there, in any order.
func (w world) awaitEvents(name string, want ...string) {
	w.Helper()
	slices.Sort(want)
	var diff string
	defer func() {
		if w.Failed() {
			w.Errorf("events of %s (-want +got):\n%s", name, diff)
		}
	}()
	await(w.T, "events", func() bool {
		got := w.events(name)
		slices.Sort(got)
		diff = cmp.Diff(want, got)
		return diff == ""
	})
}

// must fails the test on an error: must(f())(t).
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestLife(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	r := start(t, config, w.namespace, nil)

	w.ask("orders", "deploymentName", "orders-db")
	w.awaitDeployments("orders-db=1")
	w.change("orders", "replicas", "3")
	w.awaitDeployments("orders-db=3")
	w.change("orders", "replicas", "0")
	w.awaitDeployments("orders-db=0")
	w.change("orders", "deploymentName", "other-db")
	w.awaitDeployments("other-db=0")
	w.awaitEvents("orders",
		"Created: Deployment orders-db: mysql, 1 replica(s)",
		"Updated: Deployment orders-db: mysql, 3 replica(s)",
		"Updated: Deployment orders-db: mysql, 0 replica(s)",
		"Created: Deployment other-db: mysql, 0 replica(s)",
		"Deleted: Deployment orders-db: no longer asked for",
	)

	t.Run("without its label it is no longer asked for", func(t *testing.T) {
		w.patchConfigMap("orders", `{"metadata":{"labels":{"workbook/database":null}}}`)
		w.awaitDeployments()
		w.patchConfigMap("orders", `{"metadata":{"labels":{"workbook/database":"true"}}}`)
		w.awaitDeployments("other-db=0")
	})
	t.Run("made anew under the same name", func(t *testing.T) {
		old := w.deployment("other-db").UID
		if err := w.client.CoreV1().ConfigMaps(w.namespace).Delete(t.Context(), "orders", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		again := w.ask("orders", "deploymentName", "other-db", "dbtype", "mariadb")
		await(t, "the new one's Deployment", func() bool {
			deployment := w.deployment("other-db")
			return deployment != nil && deployment.UID != old && metav1.IsControlledBy(deployment, again)
		})
		if r.out.count("STUCK") > 0 {
			t.Error("it was told that it is stuck, which it is only until the garbage collector has come")
		}
	})
	t.Run("the garbage collector deletes, even with no controller there", func(t *testing.T) {
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		if err := w.client.CoreV1().ConfigMaps(w.namespace).Delete(t.Context(), "orders", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.awaitDeployments()
	})
}

func TestDriftIsRepairedAndForeignFieldsStay(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	start(t, config, w.namespace, nil)
	w.ask("orders", "deploymentName", "orders-db")
	w.awaitDeployments("orders-db=1")
	made := w.deployment("orders-db")

	for name, patch := range map[string]string{
		"replicas":          `{"spec":{"replicas":4}}`,
		"image":             `{"spec":{"template":{"spec":{"containers":[{"name":"database","image":"mysql:latest"}]}}}}`,
		"label removed":     `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`,
		"variable changed":  `{"spec":{"template":{"spec":{"containers":[{"name":"database","env":[{"name":"MYSQL_RANDOM_ROOT_PASSWORD","value":"no"}]}]}}}}`,
		"container removed": `{"spec":{"template":{"spec":{"containers":[{"name":"x","image":"nginx:1.28.0"},{"$patch":"delete","name":"database"}]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := world{T: t, client: w.client, namespace: w.namespace}
			w.patchDeployment("orders-db", patch)
			await(t, "the repair", func() bool {
				is := w.deployment("orders-db")
				is.Spec.Template.Spec.Containers = slices.DeleteFunc(is.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == "x" })
				return cmp.Equal(made.Spec, is.Spec) && cmp.Equal(made.Labels, is.Labels)
			})
		})
	}
	t.Run("deleted", func(t *testing.T) {
		if err := w.client.AppsV1().Deployments(w.namespace).Delete(t.Context(), "orders-db", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		await(t, "a new one", func() bool {
			is := w.deployment("orders-db")
			return is != nil && is.UID != made.UID
		})
	})
	t.Run("foreign fields stay", func(t *testing.T) {
		w.patchDeployment("orders-db", `{
			"metadata":{"labels":{"team":"shop"},"annotations":{"note":"hands off"}},
			"spec":{"minReadySeconds":7,"template":{"spec":{"containers":[{"name":"sidecar","image":"nginx:1.28.0"}]}}}}`)
		w.change("orders", "replicas", "2")
		w.awaitDeployments("orders-db=2")
		is := w.deployment("orders-db")
		if is.Labels["team"] != "shop" || is.Annotations["note"] != "hands off" || is.Spec.MinReadySeconds != 7 || len(is.Spec.Template.Spec.Containers) != 2 {
			t.Errorf("somebody else's fields are gone: %v %v %v", is.Labels, is.Annotations, is.Spec)
		}
	})
}

func TestDeploymentOfSomebodyElseIsLeftAlone(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	settle := w.foreign("taken")
	await(t, "the Deployment controller to be done with it", func() bool {
		settle = w.deployment("taken")
		return settle.Status.ObservedGeneration == settle.Generation
	})
	r := start(t, config, w.namespace, func(s *settings) { s.slowRetry = 100 * time.Millisecond })
	w.ask("orders", "deploymentName", "taken")
	const told = `NameConflict: Deployment "taken" exists and is not this ConfigMap's: delete it, or ask for another deploymentName`
	w.awaitEvents("orders", told)
	r.out.await(t, "STUCK", w.namespace+"/orders", told)

	// It is retried ten times a second now, and must say nothing more.
	w.ask("witness", "deploymentName", "witness")
	w.awaitDeployments("taken=0", "witness=1")
	w.awaitEvents("orders", told)
	if diff := cmp.Diff(settle, w.deployment("taken")); diff != "" {
		t.Errorf("somebody else's Deployment was changed (-before +after):\n%s", diff)
	}

	// Both ways out.
	w.change("orders", "deploymentName", "free")
	w.awaitDeployments("free=1", "taken=0", "witness=1")
	w.change("orders", "deploymentName", "taken")
	w.awaitEvents("orders", told, told,
		"Created: Deployment free: mysql, 1 replica(s)")
	if w.deployment("free") == nil {
		t.Error("the old Deployment is gone although the new one can't be made")
	}
	if err := w.client.AppsV1().Deployments(w.namespace).Delete(t.Context(), "taken", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.awaitDeployments("taken=1", "witness=1")
}

// Other controllers may let ConfigMaps own Deployments, too, even a ConfigMap that asks us for a database.
func TestDeploymentThatAnotherControllerMadeForAConfigMap(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	r := start(t, config, w.namespace, nil)
	asking := w.ask("asking", "deploymentName", "asked")
	unlabelled := must(w.client.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{}))(t)
	for name, owner := range map[string]*corev1.ConfigMap{"of-asking": asking, "of-other": unlabelled} {
		w.foreign(name)
		w.patchDeployment(name, fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":%q,"controller":true}]}}`, owner.Name, owner.UID))
	}
	w.awaitDeployments("asked=1", "of-asking=0", "of-other=0")
	w.change("asking", "deploymentName", "of-asking")
	r.out.await(t, "STUCK", w.namespace+"/asking", "NameConflict")
	w.change("asking", "deploymentName", "asked-again")
	r.out.await(t, "DELETED")
	w.awaitDeployments("asked-again=1", "of-asking=0", "of-other=0")
	if r.out.count("DELETED") > 1 {
		t.Error("it has deleted another controller's Deployment")
	}
}

func TestTwoConfigMapsForOneDeployment(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	first := w.ask("first", "deploymentName", "db")
	start(t, config, w.namespace, nil)
	w.awaitDeployments("db=1")
	w.ask("second", "deploymentName", "db", "replicas", "3")
	w.awaitEvents("second", `NameConflict: Deployment "db" exists and is not this ConfigMap's: delete it, or ask for another deploymentName`)
	if db := w.deployment("db"); !metav1.IsControlledBy(db, first) || *db.Spec.Replicas != 1 {
		t.Errorf("the second has taken it: %v", db)
	}
}

func TestBadInputWritesNothing(t *testing.T) {
	config := testcluster.Config(t)
	for name, test := range map[string]struct {
		data []string
		want string
	}{
		"no number":          {[]string{"replicas", "two"}, `replicas "two" is not a number from 0 to 5`},
		"negative":           {[]string{"replicas", "-1"}, `replicas "-1" is not a number from 0 to 5`},
		"too many":           {[]string{"replicas", "6"}, `replicas "6" is not a number from 0 to 5`},
		"huge":               {[]string{"replicas", "99999999999999999999"}, `replicas "99999999999999999999" is not a number from 0 to 5`},
		"empty":              {[]string{"replicas", ""}, `replicas "" is not a number from 0 to 5`},
		"unknown type":       {[]string{"dbtype", "oracle"}, `dbtype "oracle" is not one of: mariadb, mysql`},
		"no type":            {[]string{"dbtype", ""}, `dbtype "" is not one of: mariadb, mysql`},
		"no name":            {[]string{"deploymentName", ""}, `deploymentName "": a lowercase RFC 1123 label`},
		"a name that isn't":  {[]string{"deploymentName", "My_DB"}, `deploymentName "My_DB": a lowercase RFC 1123 label`},
		"a name with a path": {[]string{"deploymentName", "../pods"}, `deploymentName "../pods": a lowercase RFC 1123 label`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, config)
			r := start(t, config, w.namespace, nil)
			w.ask("good", "deploymentName", "good-db")
			w.awaitDeployments("good-db=1")

			w.change("good", test.data[0], test.data[1])
			r.out.await(t, "STUCK", w.namespace+"/good", "Invalid: "+test.want)
			w.ask("bad", append([]string{"deploymentName", "bad-db"}, test.data...)...)
			r.out.await(t, "STUCK", w.namespace+"/bad", "Invalid: "+test.want)
			w.awaitDeployments("good-db=1") // as it was, and none for bad
			if r.out.count("STUCK") != 2 || r.out.count("RETRY") != 0 {
				t.Errorf("want one line for each:\n%q", r.out.lines())
			}

			w.patchConfigMap("bad", `{"data":{"dbtype":"mysql","deploymentName":"bad-db","replicas":"2"}}`)
			w.awaitDeployments("bad-db=2", "good-db=1")
			await(t, "the events", func() bool { return len(w.events("bad")) == 2 })
		})
	}
}

// brokenTransport answers requests in place of the server, where its function returns an error or an answer.
type brokenTransport func(*http.Request) (*http.Response, error)

func (f brokenTransport) wrap(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if response, err := f(request); response != nil || err != nil {
				return response, err
			}
			return transport.RoundTrip(request)
		})
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// isWrite tells whether a request changes a Deployment.
func isWrite(request *http.Request) bool {
	return strings.Contains(request.URL.Path, "/deployments") && (request.Method == http.MethodPatch || request.Method == http.MethodDelete)
}

// A process that dies between two writes has made the first and not the second. It can't tell anybody: no event, no
// note to itself. The next process finds the world so.
func TestKilledBetweenTwoWrites(t *testing.T) {
	config := testcluster.Config(t)
	for writes := range 3 { // a change of the name makes two: the new Deployment, then the old one's end
		t.Run(fmt.Sprintf("after %d", writes), func(t *testing.T) {
			w := newWorld(t, config)
			orders := w.ask("orders", "deploymentName", "old-db")
			first := start(t, config, w.namespace, nil)
			w.awaitDeployments("old-db=1")
			if err := first.stop(); err != nil {
				t.Fatal(err)
			}
			w.change("orders", "deploymentName", "new-db")

			killed := errors.New("killed")
			var mu sync.Mutex
			made := 0
			dead := make(chan struct{})
			dying := start(t, brokenTransport(func(request *http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				if isWrite(request) {
					made++
				}
				if made > writes || made == writes && request.Method == http.MethodPost {
					if made > writes {
						select {
						case <-dead:
						default:
							close(dead)
						}
					}
					return nil, killed
				}
				return nil, nil
			}).wrap(config), w.namespace, func(s *settings) { s.drainFor = 0 })
			if writes < 2 {
				<-dead
			} else {
				dying.out.await(t, "DELETED")
			}
			if err := dying.stop(); err != nil {
				t.Fatal(err)
			}

			start(t, config, w.namespace, nil)
			w.awaitDeployments("new-db=1")
			if !metav1.IsControlledBy(w.deployment("new-db"), orders) {
				t.Error("the Deployment has another owner")
			}
		})
	}
}

// The store is behind in this test: the controller does not know yet of the Deployment that it has made itself.
func TestStaleStoreMakesNoSecondChild(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	w.ask("orders", "deploymentName", "orders-db")
	r, answer := io.Pipe()
	go io.WriteString(answer, `{"type":"BOOKMARK","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
	var mu sync.Mutex
	writes, watches := 0, 0
	blind := brokenTransport(func(request *http.Request) (*http.Response, error) {
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
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	url := "http://" + listener.Addr().String()
	controller := start(t, blind, w.namespace, func(s *settings) { s.listener = listener })
	controller.out.await(t, "CREATED")
	retries := metric(t, url, "workqueue_retries_total")
	w.change("orders", "replicas", "2")
	await(t, "three looks at a store that is behind", func() bool { return metric(t, url, "workqueue_retries_total") >= retries+3 })
	w.awaitDeployments("orders-db=1")
	mu.Lock()
	if writes != 1 {
		t.Errorf("%d writes, want 1", writes)
	}
	mu.Unlock()

	answer.Close() // the watch ends, and the next one is the server's
	w.awaitDeployments("orders-db=2")
	if got := controller.out.count("CREATED"); got != 1 {
		t.Errorf("created %d times", got)
	}
}

// The Deployment that an apply is meant for is deleted while the apply is on its way.
func TestConflictIsReadAgain(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	first := true
	r := start(t, brokenTransport(func(request *http.Request) (*http.Response, error) {
		if isWrite(request) && w.deployment("orders-db") != nil && first {
			first = false
			if err := w.client.AppsV1().Deployments(w.namespace).Delete(request.Context(), "orders-db", metav1.DeleteOptions{}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}).wrap(config), w.namespace, nil)
	w.ask("orders", "deploymentName", "orders-db")
	w.awaitDeployments("orders-db=1")
	made := w.deployment("orders-db").UID
	w.change("orders", "replicas", "2")
	r.out.await(t, "AGAIN", w.namespace+"/orders", "uid mismatch")
	w.awaitDeployments("orders-db=2")
	if w.deployment("orders-db").UID == made {
		t.Error("the Deployment was not deleted")
	}
	if r.out.count("RETRY") > 0 {
		t.Error("a conflict was told as a failure")
	}
}

// While an apply is on its way, the ConfigMap is deleted with --cascade=orphan, and the garbage collector takes the owner
// reference off the Deployment. The apply must not put it back: the Deployment would be deleted, too.
func TestOrphanStaysOrphan(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	configMaps := w.client.CoreV1().ConfigMaps(w.namespace)
	armed := make(chan bool, 1)
	r := start(t, brokenTransport(func(request *http.Request) (*http.Response, error) {
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
		await(t, "the ConfigMap to be gone", func() bool {
			_, err := configMaps.Get(context.Background(), "orders", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
		return nil, nil
	}).wrap(config), w.namespace, nil)
	orders := w.ask("orders", "deploymentName", "orders-db")
	w.awaitDeployments("orders-db=1")
	made := w.deployment("orders-db").UID
	armed <- true
	w.change("orders", "replicas", "2")
	r.out.await(t, "AGAIN", w.namespace+"/orders")

	// Another child of the ConfigMap shows when the garbage collector has looked at them.
	must(configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "child", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(orders, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
	}}, metav1.CreateOptions{}))(t)
	await(t, "the garbage collector", func() bool {
		_, err := configMaps.Get(t.Context(), "child", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if is := w.deployment("orders-db"); is == nil || is.UID != made || len(is.OwnerReferences) > 0 || is.DeletionTimestamp != nil {
		t.Errorf("want the Deployment to stay, without an owner: %+v", is)
	}
}

func TestNamespaceThatGoes(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	r := start(t, config, w.namespace, nil)
	for i := range 10 {
		w.ask(fmt.Sprintf("c%d", i), "deploymentName", fmt.Sprintf("d%d", i))
	}
	await(t, "all Deployments", func() bool { return r.out.count("CREATED") == 10 })
	if err := w.client.CoreV1().Namespaces().Delete(t.Context(), w.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the namespace's end", func() bool {
		_, err := w.client.CoreV1().Namespaces().Get(t.Context(), w.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if r.out.count("RETRY") > 0 {
		t.Error("it tried to make Deployments in a namespace that is being deleted")
	}
}
