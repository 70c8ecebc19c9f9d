package lister

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testkit"
)

type metadataAnswer = func(ctx context.Context, config *rest.Config, ask func(count func(owner types.UID) (int, error))) error

// Metadata grades the answers to "Count pods, receive metadata only".
var Metadata = grade.Exercise[metadataAnswer]{
	Timeout: 15 * time.Second,
	Grade: func(t *grade.T, countByOwner metadataAnswer) {
		t.Bubble(func(t *grade.T) { gradeCount(t, countByOwner) })
	},
}

func gradeCount(t *grade.T, countByOwner metadataAnswer) {
	c := newPodServer(t)
	gradeAnswers(t, c, countByOwner)
	gradeEnds(t, c, countByOwner)
}

// gradeAnswers asks for counts, and changes the pods.
func gradeAnswers(t *grade.T, c *podServer, countByOwner metadataAnswer) {
	traffic := traffic{opens: time.Now().Add(randomMinutes(t))}
	config := traffic.see(c.server.Config())
	calls, returned := 0, false
	ask := func(count func(types.UID) (int, error)) {
		calls++
		if requests, answered, _ := traffic.seen(); requests > 0 && !answered {
			t.Reject("CountByOwner calls ask once its store is full", "it calls ask while the server has not answered yet",
				"WaitFor in k8s.io/client-go/tools/cache")
		}
		check := func(owner types.UID, explanation string) {
			t.Helper()
			if got, err := count(owner); err != nil || got != c.want[owner] {
				synctest.Wait() // if the index function has panicked, the program ends here
				seen := fmt.Sprintf("%d, error: %v", got, err)
				if later, _ := count(owner); later != got {
					seen += fmt.Sprintf("; %d a moment later, so what counts was not ready", later)
				}
				t.Reject(fmt.Sprintf("%d pods of owner %q%s", c.want[owner], owner, explanation), seen,
					"the index function, and GetControllerOf in k8s.io/apimachinery/pkg/apis/meta/v1")
			}
		}
		for _, owner := range c.owners {
			check(owner, "")
		}
		check("uid-of-nobody", "")
		check("", ", which no owner has")
		before, _, whole := traffic.seen()
		if whole != "" {
			t.Reject("requests for metadata only", whole, `"Metadata-only informers" in the chapter's README`)
		}
		for range 50 {
			check(c.owners[t.Rand.IntN(len(c.owners))], "")
			check("uid-of-nobody", "")
		}
		if after, _, _ := traffic.seen(); after-before > 5 { // an informer's own
			t.Reject("no request for a question: the store has the answer",
				fmt.Sprintf("%d requests more after 100 questions", after-before),
				`"Metadata-only informers" in the chapter's README`)
		}
		check(observer, ", an owner of each pod, but the controller of none")
		check(former, ", an owner of each pod, but the controller of none")
		c.follow(t, count)
		// The informer asks the server again, and waits for the answer while CountByOwner stops it.
		traffic.closeUntil(time.Now().Add(24 * time.Hour))
		c.server.CloseWatches()
		time.Sleep(10 * time.Second)
		returned = true
	}
	err := c.call(t, countByOwner, context.WithoutCancel(t.Context()), config, ask, 48*time.Hour)
	if err != nil || calls != 1 {
		t.Reject("CountByOwner calls ask once, and returns no error",
			fmt.Sprintf("ask was called %d times, error: %v", calls, err),
			"WaitFor in k8s.io/client-go/tools/cache")
	}
	if !returned {
		t.Reject("CountByOwner returns when ask has returned", "ask still runs", "who calls ask?")
	}
	if traffic.holds() {
		t.Reject("the informer has ended when CountByOwner returns", "it still waits for an answer of the server",
			"what stops the informer, and what waits for its end?")
	}
}

// follow changes the pods, and asks for the counts after each change.
func (c *podServer) follow(t *grade.T, count func(types.UID) (int, error)) {
	t.Helper()
	first, second := c.owners[0], c.owners[1]
	check := func(change, look string) {
		t.Helper()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for _, owner := range c.owners[:2] {
			if got, err := count(owner); err != nil || got != c.want[owner] {
				t.Reject(fmt.Sprintf("%d pods of owner %q after %s", c.want[owner], owner, change),
					fmt.Sprintf("%d, error: %v", got, err),
					look)
			}
		}
	}
	const look = "is the count computed from the informer's store each time?"
	later := c.create("shop", "later", first)
	missed := c.create("bank", "later", first)
	check("one was created in each namespace", look)

	later.OwnerReferences = c.references(second)
	c.server.Update(later)
	c.want[first]--
	c.want[second]++
	check("a pod got another controller", look)

	c.server.Delete(later)
	c.want[second]--
	check("a pod was deleted", look)

	// The informer learns of this deletion from a new list only: the connection is silent, and the server forgets the event.
	c.server.Silence()
	c.server.Delete(missed)
	c.server.Compact()
	c.want[first]--
	time.Sleep(3 * time.Minute)
	check("a pod was deleted while the connection was broken",
		"a handler gets a DeletedFinalStateUnknown then; a store needs nothing")
}

// gradeEnds lets ctx end before the server answers, and gives the answer a config of which no client can be made.
func gradeEnds(t *grade.T, c *podServer, countByOwner metadataAnswer) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ends := randomMinutes(t)
	time.AfterFunc(ends, cancel)
	traffic := traffic{opens: time.Now().Add(ends + 24*time.Hour)}
	ask := func(func(types.UID) (int, error)) {
		t.Reject("CountByOwner does not call ask if ctx ends before its store is full", "it calls ask",
			"WaitFor in k8s.io/client-go/tools/cache")
	}
	if c.call(t, countByOwner, ctx, traffic.see(c.server.Config()), ask, ends+2*time.Minute) == nil {
		t.Reject("an error if ctx ends before the store is full", "CountByOwner returns no error", "what WaitFor returns")
	}
	if traffic.holds() {
		t.Reject("the informer has ended when CountByOwner returns, also with an error", "it still waits for an answer of the server",
			"each return of CountByOwner: what waits there for the informer's end?")
	}

	wrong := c.server.Config()
	wrong.Host = "%"
	const expected, look = "an error if the config is wrong: its Host is %", "the error of NewForConfig"
	// An informer without a client panics in a goroutine of its own.
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, panicked any) {
		t.Reject(expected, fmt.Sprintf("CountByOwner starts an informer, which panics: %v", panicked), look)
	})
	if c.call(t, countByOwner, t.Context(), wrong, ask, time.Hour) == nil {
		t.Reject(expected, "CountByOwner returns no error", look)
	}
}

// call calls the answer, which must return within some time.
func (c *podServer) call(
	t *grade.T, countByOwner metadataAnswer,
	ctx context.Context, config *rest.Config, ask func(func(types.UID) (int, error)), within time.Duration,
) error {
	t.Helper()
	t.Doing("CountByOwner calls ask")
	returned := make(chan error, 1)
	go func() { returned <- countByOwner(ctx, config, ask) }()
	select {
	case err := <-returned:
		return err
	case <-time.After(within):
		t.Reject("CountByOwner returns when ask has returned, or when ctx has ended",
			fmt.Sprintf("it still runs %s after the call", within),
			"the calls that wait: does each have a ctx that ends?")
		return nil
	}
}

func randomMinutes(t *grade.T) time.Duration { return time.Duration(1+t.Rand.IntN(60)) * time.Minute }

// Each pod has three owners. Two of them are the controller of none.
const observer, former types.UID = "uid-of-an-observer", "uid-of-a-former-controller"

// podServer is a server with pods.
type podServer struct {
	t      *grade.T
	server *fakeserver.Server
	owners []types.UID
	want   map[types.UID]int
}

func newPodServer(t *grade.T) *podServer {
	c := &podServer{t: t, server: fakeserver.Start(t), want: map[types.UID]int{}}
	for i := range 5 {
		c.owners = append(c.owners, types.UID(fmt.Sprintf("uid-%d-%d", t.Rand.IntN(1000), i)))
	}
	for i := range 20 + t.Rand.IntN(20) {
		for _, namespace := range []string{"shop", "bank"} {
			c.create(namespace, fmt.Sprintf("web-%d", i), c.owners[t.Rand.IntN(len(c.owners))])
		}
	}
	c.server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "alone"}})
	for _, other := range []metav1.OwnerReference{ // the only owner, and no controller
		{APIVersion: "v1", Kind: "ConfigMap", Name: "observer", UID: observer},
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "former", UID: former, Controller: new(false)},
	} {
		c.server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "of-" + string(other.UID), OwnerReferences: []metav1.OwnerReference{other},
		}})
	}
	return c
}

func (c *podServer) create(namespace, name string, owner types.UID) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	pod.OwnerReferences = c.references(owner)
	pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "nginx:1.28.0"}}
	c.server.Create(pod)
	c.want[owner]++
	return pod
}

// references are in no order, and the controller can be of any kind.
func (c *podServer) references(controller types.UID) []metav1.OwnerReference {
	kind := []string{"ReplicaSet", "StatefulSet", "DaemonSet"}[c.t.Rand.IntN(3)]
	references := []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "observer", UID: observer},
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "former", UID: former, Controller: new(false)},
		{APIVersion: "apps/v1", Kind: kind, Name: "web", UID: controller, Controller: new(true)},
	}
	c.t.Rand.Shuffle(len(references), func(i, j int) { references[i], references[j] = references[j], references[i] })
	return references
}

// traffic is between an answer and the server. It holds the requests until a time comes.
type traffic struct {
	mu       sync.Mutex
	opens    time.Time
	requests int
	answered bool
	whole    string // a request for whole pods
	held     int
}

func (r *traffic) see(config *rest.Config) *rest.Config {
	return testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if err := r.hold(request); err != nil {
			return nil, err
		}
		response, err := next.RoundTrip(request)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.answered = r.answered || err == nil
		return response, err
	})
}

// hold returns when the time has come. If the request's context ends before, that takes a minute more.
func (r *traffic) hold(request *http.Request) error {
	r.mu.Lock()
	r.requests++
	accept := request.Header.Get("Accept")
	if strings.HasSuffix(request.URL.Path, "/pods") && !strings.Contains(accept, "as=PartialObjectMetadata") {
		r.whole = fmt.Sprintf("GET %s asks for whole pods: Accept: %s", request.URL.Path, accept)
	}
	r.held++
	opens := r.opens
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.held--
	}()
	select {
	case <-time.After(time.Until(opens)):
		return nil
	case <-request.Context().Done():
		time.Sleep(time.Minute)
		return request.Context().Err()
	}
}

// closeUntil holds the requests from now on.
func (r *traffic) closeUntil(opens time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opens = opens
}

// seen returns how many requests there were, whether one was answered, and a request for whole pods.
func (r *traffic) seen() (requests int, answered bool, whole string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests, r.answered, r.whole
}

// holds says whether a request is held.
func (r *traffic) holds() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held > 0
}
