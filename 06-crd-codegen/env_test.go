package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/election"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// env is a namespace of a test's own on a real API server, with the CRD.
type env struct {
	*testing.T
	config    *rest.Config // of the controller: its ServiceAccount has the permissions of rbac.yaml
	admin     *rest.Config // of the test, as are the clients
	namespace string
	client    kubernetes.Interface

	// The clients of the namespace.
	databases   dbclient.DatabaseManagerInterface
	deployments typedappsv1.DeploymentInterface
	services    typedcorev1.ServiceInterface
	secrets     typedcorev1.SecretInterface
	claims      typedcorev1.PersistentVolumeClaimInterface
	pods        typedcorev1.PodInterface
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := newEnvOn(t, testcluster.Config(t))
	audited.Store(e.namespace, true)
	return e
}

func newEnvOn(t *testing.T, config *rest.Config) *env {
	t.Helper()
	testcluster.InstallDatabaseManagers(t, config)
	e := envIn(t, config, testcluster.Namespace(t, config))
	t.Cleanup(e.removeFinalizers)
	if !strings.Contains(t.Name(), "Kind") { // those are about what runs in the containers
		testcluster.IdleContainers(t, config, e.namespace)
	}
	e.config = testcluster.AsServiceAccount(t, config, e.namespace, database.FieldManager, testkit.Must(testcluster.Rules(rbacFile))(t))
	return e
}

// removeFinalizers lets the namespace go: no controller is left that would remove them.
func (e *env) removeFinalizers() {
	ctx := context.Background() // e.Context() has ended
	for _, d := range testkit.Must(e.databases.List(ctx, metav1.ListOptions{}))(e).Items {
		_, err := e.databases.Patch(ctx, d.Name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			e.Error(err)
		}
	}
}

// envIn is an env in a namespace that exists.
func envIn(t *testing.T, config *rest.Config, namespace string) *env {
	client := kubernetes.NewForConfigOrDie(config)
	return &env{
		T: t, config: config, admin: config, namespace: namespace, client: client,
		databases:   versioned.NewForConfigOrDie(config).CoolopsV1alpha1().DatabaseManagers(namespace),
		deployments: client.AppsV1().Deployments(namespace),
		services:    client.CoreV1().Services(namespace),
		secrets:     client.CoreV1().Secrets(namespace),
		claims:      client.CoreV1().PersistentVolumeClaims(namespace),
		pods:        client.CoreV1().Pods(namespace),
	}
}

// in is the same env for a subtest.
func (e env) in(t *testing.T) *env {
	e.T = t
	return &e
}

// kubeconfig returns the path of a kubeconfig for the controller.
func (e *env) kubeconfig() string { return testcluster.KubeconfigOf(e, e.config) }

// options is what the flags say in most tests.
func (e *env) options() options {
	return options{
		namespace: e.namespace,
		workers:   5,
		drainFor:  10 * time.Second,
		election:  election.Options{LeaseDuration: 15 * time.Second},
	}
}

// run runs the controller in the namespace until the test ends or the returned function is called, which waits for it.
// What it prints is in the buffer.
func (e *env) run(config *rest.Config, change ...func(*options)) (output *testkit.Buffer, stop func()) {
	e.Helper()
	o := e.options()
	for _, change := range change {
		change(&o)
	}
	ctx, cancel := context.WithCancel(testkit.Context(context.Background(), e.T)) // e.Context() would end before the Cleanup
	output = &testkit.Buffer{}
	var group sync.WaitGroup
	group.Go(func() {
		if err := run(ctx, config, o, program.NewPrinter(output)); err != nil {
			e.Errorf("run: %v", err)
		}
	})
	stop = func() {
		cancel()
		group.Wait()
	}
	e.Cleanup(stop)
	return output, stop
}

// create creates a DatabaseManager for mysql and a Deployment named db.
func (e *env) create(name string, change ...func(*dbv1alpha1.DatabaseManagerSpec)) *dbv1alpha1.DatabaseManager {
	e.Helper()
	d := &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "db"},
	}
	for _, change := range change {
		change(&d.Spec)
	}
	return testkit.Must(e.databases.Create(e.Context(), d, metav1.CreateOptions{}))(e)
}

// patch patches a DatabaseManager with a JSON merge patch.
func (e *env) patch(name, patch string) *dbv1alpha1.DatabaseManager {
	e.Helper()
	return testkit.Must(e.databases.Patch(e.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(e)
}

// delete deletes a DatabaseManager.
func (e *env) delete(name string) {
	e.Helper()
	if err := e.databases.Delete(e.Context(), name, metav1.DeleteOptions{}); err != nil {
		e.Fatal(err)
	}
}

// until waits until the result of get meets the condition, and returns it.
func until[O any](e *env, what string, get func(ctx context.Context) (O, error), met func(O) bool) O {
	e.Helper()
	var last O
	var err error
	testkit.Await(e, what, func() bool {
		last, err = get(e.Context())
		return err == nil && met(last)
	}, &err, &last)
	return last
}

// get is a Get for until.
func get[O any](get func(context.Context, string, metav1.GetOptions) (O, error), name string) func(context.Context) (O, error) {
	return func(ctx context.Context) (O, error) { return get(ctx, name, metav1.GetOptions{}) }
}

// untilReady waits until the status is about the newest spec, and has this reason.
func (e *env) untilReady(name, reason string) *dbv1alpha1.DatabaseManager {
	e.Helper()
	return until(e, name+" is "+reason, get(e.databases.Get, name), func(d *dbv1alpha1.DatabaseManager) bool {
		ready := readyOf(d)
		return d.Status.ObservedGeneration == d.Generation &&
			ready != nil && ready.Reason == reason && ready.ObservedGeneration == d.Generation
	})
}

// untilUnprocessed waits until the status reports for the newest spec, with this reason, that it has not been processed. It returns
// the message.
func (e *env) untilUnprocessed(name, reason string) string {
	e.Helper()
	d := until(e, name+" is "+reason, get(e.databases.Get, name), func(d *dbv1alpha1.DatabaseManager) bool {
		ready := readyOf(d)
		return d.Status.ObservedGeneration < d.Generation &&
			ready != nil && ready.Reason == reason && ready.ObservedGeneration == d.Generation
	})
	return readyOf(d).Message
}

// readyMessage waits until a DatabaseManager has this reason, and returns the message.
func (e *env) readyMessage(name, reason string) string {
	e.Helper()
	return readyOf(e.untilReady(name, reason)).Message
}

// ownerReference is the one that a child of a DatabaseManager has.
func ownerReference(owner *dbv1alpha1.DatabaseManager) []metav1.OwnerReference {
	kind := schema.FromAPIVersionAndKind(dbv1alpha1.GroupVersion.String(), "DatabaseManager")
	return []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)}
}

// readyOf returns the condition Ready, or nil.
func readyOf(d *dbv1alpha1.DatabaseManager) *metav1.Condition {
	return apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady)
}

// untilGone waits until get finds nothing.
func untilGone[O any](e *env, what string, get func(context.Context, string, metav1.GetOptions) (O, error), name string) {
	e.Helper()
	until(e, what+" is gone", func(ctx context.Context) (error, error) {
		_, err := get(ctx, name, metav1.GetOptions{})
		return err, nil
	}, apierrors.IsNotFound)
}

func (e *env) deployment(name string) *appsv1.Deployment {
	e.Helper()
	return testkit.Must(e.deployments.Get(e.Context(), name, metav1.GetOptions{}))(e)
}

func (e *env) service(name string) *corev1.Service {
	e.Helper()
	return testkit.Must(e.services.Get(e.Context(), name, metav1.GetOptions{}))(e)
}

func (e *env) secret(name string) *corev1.Secret {
	e.Helper()
	return testkit.Must(e.secrets.Get(e.Context(), name, metav1.GetOptions{}))(e)
}

// requests counts the requests of a client, by what they are.
type requests struct {
	mu     sync.Mutex
	counts map[string]int
}

// wrap returns a copy of config whose requests are counted.
func (r *requests) wrap(config *rest.Config) *rest.Config {
	return testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		r.mu.Lock()
		if r.counts == nil {
			r.counts = map[string]int{}
		}
		r.counts[verbAndResource(request)]++
		r.mu.Unlock()
		return next.RoundTrip(request)
	})
}

// take returns what was counted since the last time.
func (r *requests) take() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.counts
	r.counts = map[string]int{}
	return counts
}

// total is the number of requests that are not watches: those begin and end by themselves.
func total(counts map[string]int) (n int) {
	for kind, count := range counts {
		if kind != "WATCH" {
			n += count
		}
	}
	return n
}

// verbAndResource is what a request is, such as PATCH deployments, or WATCH.
func verbAndResource(request *http.Request) string {
	if request.URL.Query().Get("watch") != "" {
		return "WATCH"
	}
	_, path, _ := strings.Cut(request.URL.Path, "/namespaces/")
	parts := strings.Split(path, "/")
	if len(parts) > 3 {
		return fmt.Sprintf("%s %s/%s", request.Method, parts[1], parts[3])
	}
	return fmt.Sprintf("%s %s", request.Method, parts[min(1, len(parts)-1)])
}

// everything returns a line for each object in the namespace that a controller could have created.
func (e *env) everything() (all []string) {
	e.Helper()
	add := func(object metav1.Object, what any) {
		all = append(all, fmt.Sprintf("%T %s owners %d: %v", object, object.GetName(), len(object.GetOwnerReferences()), what))
	}
	list := metav1.ListOptions{}
	for _, o := range testkit.Must(e.deployments.List(e.Context(), list))(e).Items {
		add(&o, o.Spec.Template.Spec.Containers[0].Image)
	}
	for _, o := range testkit.Must(e.services.List(e.Context(), list))(e).Items {
		add(&o, o.Spec.Ports[0].Port)
	}
	for _, o := range testkit.Must(e.secrets.List(e.Context(), list))(e).Items {
		add(&o, len(o.Data["password"]))
	}
	for _, o := range testkit.Must(e.claims.List(e.Context(), list))(e).Items {
		add(&o, o.Spec.Resources.Requests.Storage())
	}
	for _, o := range testkit.Must(e.databases.List(e.Context(), list))(e).Items {
		add(&o, o.Finalizers)
	}
	slices.Sort(all)
	return all
}

// createVolume creates a volume for a claim, if the cluster has nothing that does, such as a default StorageClass. The
// function that it returns deletes it.
func (e *env) createVolume(claim string) (remove func()) {
	e.Helper()
	if classes := testkit.Must(e.client.StorageV1().StorageClasses().List(e.Context(), metav1.ListOptions{}))(e); len(classes.Items) > 0 {
		return func() {}
	}
	volume := testkit.Must(e.client.CoreV1().PersistentVolumes().Create(e.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			ClaimRef:               &corev1.ObjectReference{Namespace: e.namespace, Name: claim},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/" + e.namespace}},
		},
	}, metav1.CreateOptions{}))(e)
	return func() {
		if err := e.client.CoreV1().PersistentVolumes().Delete(context.Background(), volume.Name, metav1.DeleteOptions{}); err != nil {
			e.Error(err)
		}
	}
}
