package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type finalizerAnswer = func(
	ctx context.Context,
	configMaps typedcorev1.ConfigMapInterface,
	name string,
	create, remove func(ctx context.Context, bucket string) error,
) error

// Finalizer grades the answers to "A finalizer".
var Finalizer = grade.Exercise[finalizerAnswer]{
	Cluster: true,
	Timeout: time.Minute, // it sends more requests than other graders
	Grade: func(t *grade.T, sync finalizerAnswer) {
		config := testcluster.Config(t)
		g := &bucketWorld{
			T:       t,
			config:  config,
			name:    fmt.Sprintf("orders-%d", t.Rand.IntN(1000)),
			sync:    sync,
			buckets: map[string]bool{},
		}

		race := func() { // while the answer's first write is on its way, somebody adds another finalizer
			g.patch(g.name, fmt.Sprintf(`[{"op":"add","path":"/metadata/finalizers/-","value":%q}]`, lateFinalizer))
			g.foreign = append(g.foreign, lateFinalizer)
		}
		raced := testkit.Intercept(config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if race != nil && r.Method != http.MethodGet {
				race()
				race = nil
			}
			return next.RoundTrip(r)
		})
		namespace := testcluster.Namespace(t, config)
		g.configMaps = typedcorev1.NewForConfigOrDie(config).ConfigMaps(namespace)
		g.learners = typedcorev1.NewForConfigOrDie(raced).ConfigMaps(namespace)

		t.Cleanup(g.removeFinalizers)

		g.create(g.name)
		for i, err := range errorsOfBuckets {
			g.fails = err
			when := "the bucket cannot be created: " + errorKind(err)
			if i == 0 { // the race may end the first call before create; in the second one, the finalizer is there
				g.expect(when, true)
				g.expect(when+", again", true)
			}
			err := g.call(when)
			switch {
			case !g.created:
				t.Reject("create is called again after a bucket that could not be created", "it is not called",
					"the finalizer is there, and the bucket is not")
			case err == nil:
				t.Reject("Sync returns an error when "+when, "it returns: <nil>", "the error that create returns")
			}
		}
		g.fails = nil
		g.expect("the bucket can be created now", false)
		if !g.buckets[g.name] {
			t.Reject("there is a bucket "+g.name+", also after a bucket that could not be created",
				"create was not called for it, or not with this name", "the parameter create of Sync")
		}
		g.expect("the bucket is there", false)
		if len(g.ours()) > 1 {
			t.Reject("the finalizer is there once", g.finalizers(), "what does each sync write?")
		}

		g.patch(g.name, fmt.Sprintf(`[{"op":"add","path":"/metadata/finalizers/-","value":%q}]`, lastFinalizer))
		g.foreign = append(g.foreign, lastFinalizer)
		g.delete(g.name)
		for _, err := range errorsOfBuckets {
			g.fails = err
			g.expect("the ConfigMap is being deleted, and the bucket cannot be removed: "+errorKind(err), true)
			if len(g.ours()) == 0 {
				t.Reject("the finalizer stays as long as the bucket is there", g.finalizers(), "the error that remove returns")
			}
		}
		g.fails = nil
		race = func() { // while the write that removes the answer's finalizer is on its way, that of somebody else goes
			index := slices.Index(g.configMap().Finalizers, finalizerOfOthers)
			g.patch(g.name, fmt.Sprintf(`[{"op":"test","path":"/metadata/finalizers/%d","value":%q},
				{"op":"remove","path":"/metadata/finalizers/%[1]d"}]`, index, finalizerOfOthers))
			g.foreign = g.foreign[1:]
		}
		_ = g.call("another one went between your read and your write") // an error is allowed: the key comes back
		g.expect("the ConfigMap is being deleted, and the bucket can be removed", false)
		if g.buckets[g.name] {
			t.Reject("bucket "+g.name+" is removed", "it is still there", "the parameter remove of Sync")
		}
		if ours := g.ours(); len(ours) > 0 {
			t.Reject("the finalizer is gone after the bucket", g.finalizers(), "ObjectMeta.Finalizers, and an update")
		}
		g.expect("the bucket is gone, and the finalizer of somebody else still keeps the ConfigMap", false)
		g.release(g.name)
		g.expect("the ConfigMap is gone", false)
		if _, err := g.configMaps.Get(t.Context(), g.name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Reject("the ConfigMap is gone when its last finalizer is", g.finalizers(), "ObjectMeta.Finalizers")
		}

		g.name += "-late"
		g.create(g.name)
		g.delete(g.name)
		g.expect("the ConfigMap was deleted before the first sync", false)
		g.release(g.name)

		g.name += "r"
		g.create(g.name)
		race = func() {
			g.release(g.name)
			g.delete(g.name)
		}
		_ = g.call("the ConfigMap has gone between your read and your write") // an error is allowed
		if g.configMap() != nil {
			t.Reject("a ConfigMap that has gone between your read and your write is not created again", "it is there",
				"an apply creates what is not there, unless it has a UID")
		}

		for _, deleted := range []bool{false, true} {
			calls := &grade.Calls{
				Name: "Sync", Config: config, Done: "the finalizer is there, and the bucket is there",
				New: func(number int) grade.Case {
					return g.newCase(fmt.Sprintf("%s-%t-%d", g.name, deleted, number), deleted)
				},
				Right: func(_ grade.Request, fault grade.Fault) grade.Outcome {
					if fault == grade.NotFound {
						return grade.Anything // the ConfigMap is gone
					}
					return grade.ErrorOrDone
				},
			}
			if deleted {
				calls.Done = "the ConfigMap is gone, and the bucket is gone"
			}
			calls.FailEachRequest(t)
			calls.EndContext(t)
		}
	},
}

// newCase makes a ConfigMap for a call of Sync in which a request fails: a new one, or one that has a bucket and is being deleted.
func (g *bucketWorld) newCase(name string, deleted bool) grade.Case {
	configMap := testkit.Must(g.configMaps.Create(g.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{}))(g)
	bucket := false
	sync := func(ctx context.Context, config *rest.Config) error {
		called, changed := false, false
		config = testkit.Intercept(config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			changed = changed || err == nil && r.Method != http.MethodGet && response.StatusCode < http.StatusBadRequest
			return response, err
		})
		set := func(there bool) func(context.Context, string) error {
			return func(ctx context.Context, _ string) error {
				called = true
				if ctx.Err() == nil {
					bucket = there
				}
				return ctx.Err()
			}
		}
		configMaps := typedcorev1.NewForConfigOrDie(config).ConfigMaps(configMap.Namespace)
		err := g.sync(ctx, configMaps, name, set(true), set(false))
		if err == nil && !called && changed {
			err = g.sync(ctx, configMaps, name, set(true), set(false)) // as in expect
		}
		return err
	}
	if deleted {
		if err := sync(g.Context(), g.config); err != nil {
			g.Reject("Sync returns nil for a new ConfigMap", fmt.Sprintf("it returns: %v", err), "the error")
		}
		g.delete(name)
	}
	return grade.Case{
		Call: sync,
		State: func() string {
			state := "the ConfigMap is gone"
			if configMap := g.get(name); configMap != nil {
				state = "the finalizer is there"
				if len(configMap.Finalizers) == 0 {
					state = "there is no finalizer"
				}
			}
			if bucket {
				return state + ", and the bucket is there"
			}
			return state + ", and the bucket is gone"
		},
	}
}

// These are the finalizers of somebody else.
const (
	finalizerOfOthers = "workbook.example.com/bucket-of-others"
	lateFinalizer     = "example.com/late"
	lastFinalizer     = "workbook.example.com/z-last"
)

// errorsOfBuckets are errors of create and remove. Where the buckets are, something else can be not found, too. The last one comes
// when ctx ends during the call.
var errorsOfBuckets = []error{
	errors.New("not now"),
	apierrors.NewNotFound(schema.GroupResource{Resource: "accounts"}, "billing"),
	apierrors.NewConflict(schema.GroupResource{Resource: "accounts"}, "billing", errors.New("not now")),
	apierrors.NewAlreadyExists(schema.GroupResource{Resource: "accounts"}, "billing"),
	context.Canceled,
}

// errorKind says which error it is.
func errorKind(err error) string {
	if errors.Is(err, context.Canceled) {
		return "ctx ends"
	}
	return "a " + cmp.Or(string(apierrors.ReasonForError(err)), "plain") + " error"
}

type bucketWorld struct {
	*grade.T
	config     *rest.Config
	configMaps typedcorev1.ConfigMapInterface
	learners   typedcorev1.ConfigMapInterface
	name       string
	sync       finalizerAnswer
	buckets    map[string]bool
	foreign    []string // the finalizers of somebody else that the ConfigMap has
	fails      error    // of create and remove
	end        func()   // ends ctx
	called     bool     // one of them was called
	created    bool     // create was called in the last call
	expected   string   // what was expected when create or remove was called too early or too late
	seen       string
}

// createBucket is the answer's parameter create.
func (g *bucketWorld) createBucket(ctx context.Context, bucket string) error {
	switch configMap := g.configMap(); {
	case configMap == nil || configMap.DeletionTimestamp != nil:
		g.expected, g.seen = "a ConfigMap that is being deleted, or is gone, gets no bucket", "create is called"
	case len(g.ours()) == 0:
		g.expected, g.seen = "the finalizer is on the server before the bucket is created", g.finalizers()
	}
	g.created = true
	return g.set(ctx, bucket, true)
}

// removeBucket is the answer's parameter remove.
func (g *bucketWorld) removeBucket(ctx context.Context, bucket string) error {
	switch configMap := g.configMap(); {
	case configMap != nil && configMap.DeletionTimestamp == nil:
		g.expected, g.seen = "the bucket stays while the ConfigMap is not being deleted", "remove is called"
	case g.buckets[bucket] && len(g.ours()) == 0:
		g.expected, g.seen = "the finalizer is on the server while the bucket is being removed", g.finalizers()
	}
	return g.set(ctx, bucket, false)
}

func (g *bucketWorld) set(ctx context.Context, bucket string, there bool) error {
	g.called = true
	if ctx.Value(contextKey{}) == nil {
		g.expected, g.seen = "create and remove have ctx", "one of them has another context"
	}
	if g.fails == context.Canceled {
		g.end()
		if !g.Within(3*time.Second, ctx.Done()) {
			g.expected = "create and remove have ctx, and end when it ends"
			g.seen = "ctx has ended, and that of " + map[bool]string{true: "create", false: "remove"}[there] + " has not"
		}
	}
	if g.fails != nil {
		return g.fails
	}
	g.buckets[bucket] = there
	return nil
}

// expect calls Sync, which must return an error or must not.
func (g *bucketWorld) expect(when string, wantError bool) {
	if err := g.call(when); wantError != (err != nil) {
		expected := map[bool]string{true: "an error", false: "nil"}[wantError]
		g.Reject(fmt.Sprintf("Sync returns %s when %s", expected, when), fmt.Sprintf("it returns: %v", err), "ObjectMeta.DeletionTimestamp")
	}
}

// call calls Sync, which must not call create or remove at the wrong time, and must keep the finalizers of somebody else.
func (g *bucketWorld) call(when string) error {
	g.Doing("Sync is called, when %s", when)
	g.created = false
	ctx, end := context.WithCancel(context.WithValue(g.Context(), contextKey{}, true))
	defer end()
	g.end = end
	err := g.sync(ctx, g.learners, g.name, g.createBucket, g.removeBucket)
	if configMap := g.configMap(); err == nil && !g.called && configMap != nil && configMap.DeletionTimestamp == nil {
		// It may have added the finalizer only: the event of this update brings the next sync.
		err = g.sync(ctx, g.learners, g.name, g.createBucket, g.removeBucket)
	}
	g.called = false
	if g.expected != "" {
		g.Reject(g.expected, g.seen, "ObjectMeta.DeletionTimestamp, the order and the arguments of your calls")
	}
	if g.created && g.fails != nil && len(g.ours()) == 0 {
		g.Reject("the finalizer stays when "+when+": an error does not say that there is none", g.finalizers(),
			"who removes a bucket that create has made before its error?")
	}
	configMap := g.configMap()
	for _, finalizer := range g.foreign {
		switch {
		case configMap != nil && slices.Contains(configMap.Finalizers, finalizer):
		case finalizer == lateFinalizer:
			g.Reject("the finalizer of somebody else stays, which was added between your read and your write", g.finalizers(),
				"ObjectMeta.ResourceVersion, in an update or in a patch")
		default:
			g.Reject("the finalizer of somebody else stays, when "+when, g.finalizers(),
				"ObjectMeta.Finalizers is a list; an index is that of the version which was read")
		}
	}
	return err
}

// configMap returns what the server holds, or nil.
func (g *bucketWorld) configMap() *corev1.ConfigMap { return g.get(g.name) }

func (g *bucketWorld) get(name string) *corev1.ConfigMap {
	configMap, err := g.configMaps.Get(g.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return testkit.Must(configMap, err)(g)
}

// ours returns the finalizers that are not somebody else's.
func (g *bucketWorld) ours() []string {
	if configMap := g.configMap(); configMap != nil {
		return slices.DeleteFunc(configMap.Finalizers, func(f string) bool {
			return f == finalizerOfOthers || f == lateFinalizer || f == lastFinalizer
		})
	}
	return nil
}

func (g *bucketWorld) finalizers() string {
	if configMap := g.configMap(); configMap != nil {
		return fmt.Sprintf("the ConfigMap's finalizers are %q", configMap.Finalizers)
	}
	return "the ConfigMap is gone"
}

func (g *bucketWorld) create(name string) {
	g.foreign = []string{finalizerOfOthers}
	testkit.Must(g.configMaps.Create(g.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{finalizerOfOthers}},
	}, metav1.CreateOptions{}))(g)
}

// removeFinalizers lets the namespace go, whatever the answer has left there.
func (g *bucketWorld) removeFinalizers() {
	configMaps, err := g.configMaps.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return // the namespace stays
	}
	for _, configMap := range configMaps.Items {
		if len(configMap.Finalizers) > 0 {
			_, _ = g.configMaps.Patch(context.Background(), configMap.Name, types.MergePatchType,
				[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
	}
}

func (g *bucketWorld) delete(name string) {
	if err := g.configMaps.Delete(g.Context(), name, metav1.DeleteOptions{}); err != nil {
		g.Fatal(err)
	}
}

// release removes the finalizers of somebody else, and with them the ConfigMap.
func (g *bucketWorld) release(name string) {
	g.foreign = nil
	g.patch(name, `[{"op":"remove","path":"/metadata/finalizers"}]`)
}

func (g *bucketWorld) patch(name, patch string) {
	testkit.Must(g.configMaps.Patch(g.Context(), name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}))(g)
}
