package picture

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/yaml"

	"example.com/client-go-workbook/internal/controller/retryqueue"
	"example.com/client-go-workbook/internal/fielddiff"
	"example.com/client-go-workbook/internal/informertrace"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testkit"
)

// newPicture returns a picture that is on, without a program. Nobody serves it.
func newPicture() *Picture {
	p := &Picture{token: "the-token", run: "run", ended: make(chan struct{}), config: &rest.Config{Host: "http://127.0.0.1:1"},
		program: program.New("test")}
	p.listener = &net.TCPListener{}
	p.end = sync.OnceFunc(func() { close(p.ended) })
	p.log.start(time.Now())
	return p
}

func newQueue(limiter workqueue.TypedRateLimiter[cache.ObjectName]) *retryqueue.Queue {
	return retryqueue.New(limiter, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{})
}

func key(name string) cache.ObjectName { return cache.NewObjectName("default", name) }

// seen returns what was reported, such as "queue queued a".
func seen(p *Picture) (events []string) {
	all, _ := p.log.after(0, kept)
	for _, e := range all {
		events = append(events, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Part, e.What, e.Key.Name)))
	}
	return events
}

func TestQueueReportsWhatBecomesOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPicture()
		queue := newQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](time.Second, time.Minute))
		failing := errors.New("failing")
		sync := p.Controller(queue, "", func(_ context.Context, key cache.ObjectName) error {
			queue.Add(key) // it changes while a worker holds it
			queue.Add(key)
			return failing
		})
		queue.Add(key("a"))
		queue.Add(key("a"))
		got, _ := queue.Get()
		if err := sync(t.Context(), got); !errors.Is(err, failing) {
			t.Errorf("the sync returns %v, want the controller's own error", err)
		}
		queue.AddRateLimited(got)
		if w := p.whole(); len(w.Hands) != 1 || !w.Hands[0].Dirty || len(w.Waiting) != 1 || len(w.Order) != 0 {
			t.Errorf("while the key is processed, is dirty and waits, the state is %+v", w)
		}
		queue.Done(got)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want := []string{
			"queue queued a", "queue merged a", "worker got a", "queue dirty a", "queue merged a", "worker failed a",
			"queue waits a", "worker done a", "queue queued a", "queue due a", "queue merged a",
		}
		if got := seen(p); !slices.Equal(got, want) {
			t.Errorf("reported\n%q, want\n%q", got, want)
		}
		if w := p.whole(); len(w.Order) != 1 || len(w.Waiting) != 0 || w.Hands[0].Key != "" {
			t.Errorf("in the end the state is %+v", w)
		}
		queue.ShutDown()
		queue.Add(key("b"))
		queue.AddAfter(key("b"), time.Second)
		if w := p.whole(); len(w.Order) != 1 || len(w.Waiting) != 0 {
			t.Errorf("a queue that is shut down takes a key: %+v", w)
		}
	})
}

// TestKeyThatIsNotRetried has a controller that gives a key up.
func TestKeyThatIsNotRetried(t *testing.T) {
	p := newPicture()
	queue := newQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	defer queue.ShutDown()
	sync := p.Controller(queue, "", func(context.Context, cache.ObjectName) error { return errors.New("failing") })
	queue.Add(key("a"))
	got, _ := queue.Get()
	_ = sync(t.Context(), got)
	queue.Done(got)
	want := []string{"queue queued a", "worker got a", "worker failed a", "worker not retried a", "worker done a"}
	if got := seen(p); !slices.Equal(got, want) {
		t.Errorf("reported\n%q, want\n%q", got, want)
	}
}

// TestAppliesAreKept sends applies of a Deployment and of a Secret.
func TestAppliesAreKept(t *testing.T) {
	p := newPicture()
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	p.informers = []*informer{{kind: "Deployment", store: store}}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	deployment.Spec.Replicas, deployment.Spec.Paused = new(int32(2)), true
	if err := store.Add(deployment); err != nil {
		t.Fatal(err)
	}
	for seq, body := range map[int64]string{
		1: `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "default"}, "stringData": {"password": "hidden"}}`,
		2: `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "default"}, 
			"spec": {"replicas": 2, "paused": false}}`,
	} {
		request := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://server/", strings.NewReader(body)))(t)
		if bodyOf(request) != nil {
			t.Error("a request of another type is taken for an apply")
		}
		request.Header.Set("Content-Type", string(types.ApplyPatchType))
		desired := bodyOf(request)
		if (desired == nil) != (seq == 1) {
			t.Errorf("apply %d: %v, want all but the Secret", seq, desired)
		}
		if desired != nil {
			p.objects.want(seq, desired, p.stored(desired))
		}
	}
	got := testkit.Must(p.objects.wanted(2))(t)
	want := []fielddiff.Field{
		{Path: "spec.paused", Desired: false, Actual: true}, // what differs comes first
		{Path: "spec.replicas", Desired: int64(2), Actual: int64(2)},
	}
	if got == nil || !got.Exists || !slices.Equal(got.Fields, want) {
		t.Errorf("the apply is shown as %+v, want %+v", got, want)
	}
}

// TestQueueAgreesWithTheQueue lets goroutines use a queue, and compares what was reported with what client-go's queue has.
func TestQueueAgreesWithTheQueue(t *testing.T) {
	p := newPicture()
	queue := newQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](time.Microsecond, time.Millisecond))
	sync_ := p.Controller(queue, "", func(_ context.Context, key cache.ObjectName) error {
		if key.Name == "3" {
			return errors.New("failing")
		}
		return nil
	})
	var adders, workers sync.WaitGroup
	for range 4 {
		adders.Go(func() {
			for i := range 5000 {
				queue.Add(key(fmt.Sprint(i % 7)))
			}
		})
		workers.Go(func() {
			for {
				key, shutdown := queue.Get()
				if shutdown {
					return
				}
				if sync_(t.Context(), key) != nil {
					queue.AddRateLimited(key)
				}
				queue.Done(key)
			}
		})
	}
	adders.Wait()
	queue.ShutDown()
	workers.Wait()
	w := p.whole()
	if len(w.Order) != queue.Len() || queue.Len() != 0 {
		t.Errorf("queued: %q, and client-go's queue has %d", w.Order, queue.Len())
	}
	held := map[string]int64{}
	events, _ := p.log.after(0, kept)
	for _, e := range events {
		switch e.Part + " " + e.What {
		case "worker got":
			if held[e.Name] != 0 {
				t.Fatalf("event %d: %s is with two workers", e.Seq, e.Name)
			}
			held[e.Name] = e.Seq
		case "worker done":
			delete(held, e.Name)
		}
	}
	if len(held) > 0 || slices.ContainsFunc(w.Hands, func(h shownHand) bool { return h.Key != "" }) {
		t.Errorf("in the end workers hold %v, %+v", held, w.Hands)
	}
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPicture()
		var group sync.WaitGroup
		var passed testkit.Buffer
		hop := func(name string) {
			group.Go(func() {
				p.wait()
				fmt.Fprint(&passed, name)
			})
			synctest.Wait()
		}
		hop("a")
		p.pace.set(0, true)
		hop("b")
		hop("c")
		p.pace.step()
		synctest.Wait()
		if got := passed.String(); got != "ab" {
			t.Errorf("passed %q after one step, want ab", got)
		}
		p.pace.set(time.Second, false) // c waits once more
		time.Sleep(2 * time.Second)
		synctest.Wait()
		p.pace.set(0, true)
		hop("d")
		p.end()
		group.Wait()
		if got := passed.String(); got != "abcd" {
			t.Errorf("passed %q, want abcd: all end with the program", got)
		}
		if p.pace.set(0, false); p.pace.step() {
			t.Error("a step without a pause")
		}
	})
}

// serve serves a picture of a chapter with one part, and returns its address.
func serve(t *testing.T) (*Picture, string) {
	t.Helper()
	p := newPicture()
	return p, start(t, p, io.Discard)
}

func start(t *testing.T, p *Picture, out io.Writer) (address string) {
	t.Helper()
	p.listener = testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	files := fstest.MapFS{
		"README.md": {Data: []byte("# A\n\n## The <b> picture\n")},
		"main.go":   {Data: []byte("package main\n\nfunc main() {}\n")},
		"picture.yaml": {Data: []byte(`{number: 1, parts: [{id: store, section: The <b> picture, file: main.go, declaration: func main}],
			sample: {resource: pods, object: {apiVersion: v1, kind: Pod, metadata: {name: sample}}}}`)},
	}
	printer := program.NewPrinter(out)
	stop := testkit.Must(p.Start(t.Context(), files, "", printer))(t)
	t.Cleanup(stop)
	printer.Line("ADDED", "later")
	return "http://" + p.listener.Addr().String()
}

// TestTheTerminal prints the address, and then nothing, or with --wire what the chapter prints.
func TestTheTerminal(t *testing.T) {
	for _, wire := range []bool{false, true} {
		p, out := newPicture(), &testkit.Buffer{}
		if wire {
			p.program.Wire.Line = func(string, string, ...any) {}
		}
		p.taken = errors.New("address already in use")
		address := start(t, p, out)
		if !strings.Contains(out.String(), "PICTURE    "+address+"/#the-token\n") || !strings.Contains(out.String(), "already in use") {
			t.Errorf("printed %q, want the address, and why it has another port", out)
		}
		if got := strings.Contains(out.String(), "later"); got != wire {
			t.Errorf("with --wire %t, it has printed a line of the chapter: %t", wire, got)
		}
	}
}

// TestWithoutTheTokenNothingIsOfTheCluster asks as another user of the machine does, who can reach the address, too.
func TestWithoutTheTokenNothingIsOfTheCluster(t *testing.T) {
	p, address := serve(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "telltale"}}
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Pod{}, 0, cache.Indexers{})
	p.Informer("Pod", informer)
	p.Hop(informertrace.Hop{Place: "STORE", Kind: "Pod", Name: key("telltale"), Event: watch.Added, Object: pod})
	const events, object = "GET /events", "GET /object?kind=Pod&key=default/telltale&seq=1"
	ask := func(request, token string) (status int, answer string) {
		method, path, _ := strings.Cut(request, " ")
		r := testkit.Must(http.NewRequestWithContext(t.Context(), method, address+path, nil))(t)
		if token != "" {
			r.Header.Set("X-Token", token)
		}
		response := testkit.Must(http.DefaultClient.Do(r))(t)
		defer response.Body.Close()
		if response.StatusCode == 200 && strings.HasPrefix(request, events) {
			line, _ := bufio.NewReader(response.Body).ReadString('\n') // it has no end
			return 200, line
		}
		return response.StatusCode, string(testkit.Must(io.ReadAll(response.Body))(t))
	}
	for _, request := range []string{events, object} {
		if _, answer := ask(request, "the-token"); !strings.Contains(answer, "telltale") {
			t.Errorf("with the token %s answers %q, want the pod", request, answer)
		}
	}
	public := []string{"GET /", "GET /chapter/README.md", "GET /chapter/main.go", "GET /chapter/picture.yaml"}
	for _, file := range testkit.Must(fs.Glob(page, "page/*"))(t) {
		public = append(public, "GET "+strings.TrimPrefix(file, "page"))
	}
	secret := []string{events, object, "GET /events?token=the-token", "GET /object?seq=1", "POST /do/full", "POST /do/create",
		"POST /do/nothing"}
	for _, token := range []string{"", "the-tokem", "the-token2", "the-toke"} {
		for _, request := range slices.Concat(public, secret) {
			status, answer := ask(request, token)
			if strings.Contains(answer, "telltale") || slices.Contains(secret, request) && status != 403 {
				t.Errorf("%s with the token %q: %d %q", request, token, status, answer)
			}
		}
	}
}

// TestWithoutTheObject presses what needs the sample before it is created.
func TestWithoutTheObject(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		status := apierrors.NewNotFound(corev1.Resource("pods"), "sample").Status()
		status.Kind, status.APIVersion = "Status", "v1"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(&status)
	}))
	defer server.Close()
	p := newPicture()
	p.config.Host = server.URL
	p.chapter.Sample.Changes = []map[string]any{{}}
	address := start(t, p, io.Discard)
	for _, name := range []string{"change", "updates", "delete"} {
		request := testkit.Must(http.NewRequestWithContext(t.Context(), "POST", address+"/do/"+name, nil))(t)
		request.Header.Set("X-Token", p.token)
		response := testkit.Must(http.DefaultClient.Do(request))(t)
		text := testkit.Must(io.ReadAll(response.Body))(t)
		response.Body.Close()
		if want := "there is no Pod sample: press Create first\n"; string(text) != want {
			t.Errorf("%s: %q, want %q", name, text, want)
		}
	}
}

// TestTheSamePortAgain starts a picture at a port, another one beside it, and the first once more.
func TestTheSamePortAgain(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	free := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	free.Close()
	address := free.Addr().String()
	open := func() *Picture {
		program := program.New("test")
		p := New(program)
		if err := program.Flags.Parse([]string{"--picture", address}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.listener.Close() })
		return p
	}
	first := open()
	second := open()
	if first.taken != nil || second.taken == nil || second.token == first.token || second.listener.Addr().String() == address {
		t.Errorf("the port is taken: %v; the second has %s, and the first's token: %t", second.taken, second.listener.Addr(),
			second.token == first.token)
	}
	first.listener.Close()
	again := open()
	if again.token != first.token || again.listener.Addr().String() != address {
		t.Errorf("started again it has %s, want %s, and the first's token: %t", again.listener.Addr(), address, again.token == first.token)
	}
	folder := testkit.Must(os.UserCacheDir())(t)
	file := filepath.Join(folder, "client-go-workbook", "picture-token")
	if mode := testkit.Must(os.Stat(file))(t).Mode(); mode != 0o600 {
		t.Errorf("the token's file has the mode %s", mode)
	}
	again.listener.Close()
	if err := os.Chmod(file, 0o644); err != nil { // others may have read it
		t.Fatal(err)
	}
	if open().token == first.token || testkit.Must(os.Stat(file))(t).Mode() != 0o600 {
		t.Error("a token that others can read is used once more")
	}
}

func TestForeignersAreRefused(t *testing.T) {
	_, address := serve(t)
	host := strings.TrimPrefix(address, "http://")
	_, port, _ := net.SplitHostPort(host)
	for name, test := range map[string]struct {
		method, path, host, origin, token string
		want                              int
	}{
		"the page":                        {"GET", "/", host, "", "", 200},
		"by another name of this machine": {"GET", "/", "localhost:" + port, "", "", 200},
		"a name that leads here":          {"GET", "/", "evil.example:" + port, "", "", 403},
		"such a name, by a forward":       {"GET", "/", "evil.example:9000", "", "", 403},
		"a name that begins alike":        {"GET", "/", "localhost.evil.example", "", "", 403},
		"a forward":                       {"GET", "/", "localhost:9000", "", "", 200},
		"a forward, IPv6":                 {"GET", "/", "[::1]:9000", "", "", 200},
		"a forward from port 80":          {"GET", "/", "127.0.0.1", "", "", 200},
		"a button, by a forward":          {"POST", "/do/full", "localhost:9000", "http://localhost:9000", "the-token", 200},
		"a forward, for another one":      {"POST", "/do/full", "localhost:9000", "http://localhost:9001", "the-token", 403},
		"events":                          {"GET", "/events", host, "", "the-token", 200},
		"events for another site":         {"GET", "/events", host, "http://evil.example", "the-token", 403},
		"a sandboxed page":                {"POST", "/do/full", host, "null", "the-token", 403},
		"another port":                    {"POST", "/do/full", host, "http://127.0.0.1:1", "the-token", 403},
		"no token":                        {"POST", "/do/full", host, address, "", 403},
		"a wrong token":                   {"POST", "/do/full", host, address, "the-tokem", 403},
		"the token":                       {"POST", "/do/full", host, address, "the-token", 200},
		"no such button":                  {"POST", "/do/shutdown", host, "", "the-token", 404},
		"a link to a button":              {"GET", "/do/full", host, "", "the-token", 404},
		"a file of the chapter":           {"GET", "/chapter/main.go", host, "", "", 200},
		"a file elsewhere":                {"GET", "/chapter/..%2f..%2fgo.mod", host, "", "", 404},
	} {
		t.Run(name, func(t *testing.T) {
			request := testkit.Must(http.NewRequestWithContext(t.Context(), test.method, address+test.path, nil))(t)
			request.Host = test.host
			request.Header.Set("X-Token", test.token)
			if test.origin != "" {
				request.Header.Set("Origin", test.origin)
			}
			response := testkit.Must(http.DefaultClient.Do(request))(t)
			response.Body.Close()
			if response.StatusCode != test.want {
				t.Errorf("%s %s: %s, want %d", test.method, test.path, response.Status, test.want)
			}
			policy := response.Header.Get("Content-Security-Policy")
			if test.want == 200 && !strings.Contains(policy, "default-src 'none'") {
				t.Errorf("the policy is %q", policy)
			}
		})
	}
}

func TestTheFlagTakesAnAddressOfThisMachine(t *testing.T) {
	for value, ok := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "[::1]:0": true,
		":0": false, "0.0.0.0:0": false, "192.0.2.1:0": false, "127.0.0.1": false, "example.com:80": false, "": false,
	} {
		program := program.New("test")
		p := New(program)
		err := program.Flags.Parse([]string{"--picture", value})
		if p.On() {
			p.listener.Close()
		}
		noIPv6 := err != nil && strings.Contains(err.Error(), "cannot assign")
		if (err == nil) != ok && !noIPv6 || p.On() != (err == nil) {
			t.Errorf("--picture %q: %v", value, err)
		}
	}
	if program := program.New("test"); New(program).On() || (*Picture)(nil).On() {
		t.Error("a picture is on without the flag")
	}
}

// TestSlowPage adds far more events than there is room for, while a page reads nothing. Nothing waits for it; and what it gets
// in the end is the state, and how many events it has missed.
func TestSlowPage(t *testing.T) {
	p, address := serve(t)
	request := testkit.Must(http.NewRequestWithContext(t.Context(), "GET", address+"/events", nil))(t)
	request.Header.Set("X-Token", p.token)
	response := testkit.Must(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	messages := json.NewDecoder(response.Body)
	next := func() (m message) {
		if err := messages.Decode(&m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	if next().State == nil {
		t.Error("the first message has no state")
	}
	const many = 40 * kept
	for range many {
		p.log.add(Event{Part: "queue", What: "merged", Key: key(strings.Repeat("long", 20))})
	}
	var seq, left, got int64
	for seq < many {
		m := next()
		left += m.Left
		if m.Left > 0 && m.State == nil {
			t.Error("events were left out, and there is no state")
		}
		for i, e := range m.Events {
			if i == 0 && m.Left > 0 {
				seq = e.Seq - 1
			}
			if e.Seq != seq+1 {
				t.Fatalf("event %d comes after %d, and %d were left out", e.Seq, seq, m.Left)
			}
			seq = e.Seq
			got++
		}
	}
	if left == 0 || left+got != many {
		t.Errorf("%d events came, %d were left out: want %d in all", got, left, many)
	}
}

func TestValuesOfSecretsAreHidden(t *testing.T) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s", Annotations: map[string]string{
			corev1.LastAppliedConfigAnnotation: `{"data":{"password":"aHVudGVyMg=="}}`, "note": "hunter2"}},
		Data:       map[string][]byte{"password": []byte("hunter2")},
		StringData: map[string]string{"other": "hunter2"},
	}
	var o objects
	o.add(1, informertrace.Hop{Kind: "Secret", Name: key("s"), Event: watch.Added, Object: secret})
	changed := secret.DeepCopy()
	changed.Data["password"] = []byte("hunter3")
	o.add(2, informertrace.Hop{Kind: "Secret", Name: key("s"), Event: watch.Modified, Object: changed})
	for _, seq := range []int64{1, 2} {
		lines, _ := o.diff("Secret", "default/s", seq, false)
		text := strings.Join(lines, "\n")
		for _, value := range []string{"hunter", "aHVudGVy"} {
			if strings.Contains(text, value) {
				t.Errorf("the value is shown:\n%s", text)
			}
		}
		if !strings.Contains(text, "password: (hidden)") || !strings.Contains(text, "note: (hidden)") {
			t.Errorf("the names are not shown:\n%s", text)
		}
	}
	if string(secret.Data["password"]) != "hunter2" {
		t.Error("the Secret in the store was changed")
	}
}

func TestDiff(t *testing.T) {
	var o objects
	for i, image := range []string{"nginx:1", "nginx:2", "nginx:3", "nginx:3"} { // the last is a relist's, where nothing has changed
		o.add(int64(10*i+10), informertrace.Hop{Kind: "Pod", Name: key("a"), Object: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: image}}},
		}})
	}
	for _, test := range []struct {
		seq      int64
		ahead    bool
		compared bool
		change   string
	}{{10, false, false, ""}, {20, false, true, "-nginx:1+nginx:2"}, {25, false, true, "-nginx:1+nginx:2"},
		{15, true, true, "-nginx:1+nginx:2"}, {30, false, true, "-nginx:2+nginx:3"}, {25, true, true, "-nginx:2+nginx:3"},
		{40, false, true, ""}, {99, false, true, ""}, {99, true, true, ""}, {1, true, false, ""}} {
		var change strings.Builder
		lines, compared := o.diff("", "default/a", test.seq, test.ahead)
		if compared != test.compared {
			t.Errorf("at %d, ahead %t: compared %t, want %t", test.seq, test.ahead, compared, test.compared)
		}
		for _, line := range lines {
			if _, image, ok := strings.Cut(line, "image: "); ok && line[0] != ' ' {
				change.WriteString(line[:1] + image)
			} else if line[0] != ' ' || strings.Contains(line, "manager") {
				t.Errorf("%d: the line %q", test.seq, line)
			}
		}
		if change.String() != test.change {
			t.Errorf("at %d, ahead %t: %q, want %q", test.seq, test.ahead, change.String(), test.change)
		}
	}
	if lines, _ := o.diff("Pod", "default/b", 1, false); lines != nil {
		t.Errorf("an unknown object has lines: %q", lines)
	}
}

// TestPageIsSmall holds the page, which a browser loads, to 200 kB.
func TestPageIsSmall(t *testing.T) {
	total := int64(0)
	err := fs.WalkDir(page, ".", func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		total += info.Size()
		return err
	})
	if err != nil || total > 200_000 || total == 0 {
		t.Errorf("the page has %d bytes: %v", total, err)
	}
}

// TestPagesLeadIntoTheChapters makes each chapter's page. That fails for a declaration or a heading which the chapter does not have.
func TestPagesLeadIntoTheChapters(t *testing.T) {
	folders := testkit.Must(filepath.Glob("../../0*/picture.yaml"))(t)
	if len(folders) != 4 {
		t.Errorf("%d chapters have a picture, want 4", len(folders))
	}
	for _, file := range folders {
		var p Picture
		if err := yaml.UnmarshalStrict(testkit.Must(os.ReadFile(file))(t), &p.chapter); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		p.chapter.files = os.DirFS(filepath.Dir(file))
		if _, err := p.index(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestSourcesAreOfClientGo compares the links to client-go with the version that go.mod names.
func TestSourcesAreOfClientGo(t *testing.T) {
	output := testkit.Must(exec.Command("go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", "k8s.io/client-go").Output())(t)
	version, folder, _ := strings.Cut(strings.TrimSpace(string(output)), " ")
	if !strings.HasSuffix(clientGo, "/"+version+"/") {
		t.Errorf("the links are to %s, and go.mod has %s", clientGo, version)
	}
	for _, part := range parts {
		if _, err := os.Stat(filepath.Join(folder, part.source)); err != nil {
			t.Errorf("%s: %v", part.id, err)
		}
	}
}

// TestAnApplyMeetsAnEventOfTheStore reads a store for an apply while the store, which holds its lock, reports a hop.
func TestAnApplyMeetsAnEventOfTheStore(t *testing.T) {
	p := newPicture()
	trace := func(object any) ([]string, error) {
		p.Hop(informertrace.Hop{Place: "STORE", Kind: "Pod", Name: key("a"), Object: object})
		return nil, nil
	}
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Pod{}, 0, cache.Indexers{"trace": trace})
	p.Informer("Pod", informer)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	desired := &unstructured.Unstructured{Object: map[string]any{
		"kind": "Pod", "metadata": map[string]any{"namespace": "default", "name": "a"},
	}}
	var group sync.WaitGroup
	for _, do := range []func(){
		func() { _ = informer.GetStore().Update(pod) },
		func() { p.stored(desired) },
	} {
		group.Go(func() {
			for range 10_000 {
				do()
			}
		})
	}
	ended := make(chan struct{})
	go func() { group.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("they wait for each other")
	}
	if p.stored(desired) != pod {
		t.Error("the pod is not found")
	}
}

// TestShutDownEndsEachWait holds a worker, and shuts its queue down, as when a Lease is lost.
func TestShutDownEndsEachWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPicture()
		queue := newQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
		sync := p.Controller(queue, "held", func(context.Context, cache.ObjectName) error { return nil })
		p.faults.toggle(&p.faults.hold)
		p.pace.set(0, true)
		queue.AddAfter(key("a"), time.Millisecond)
		synced := make(chan error, 1)
		go func() {
			held, _ := queue.Get()
			synced <- sync(t.Context(), held)
			queue.Done(held)
		}()
		time.Sleep(time.Hour)
		select {
		case <-synced:
			t.Fatal("it was not held")
		default:
		}
		queue.ShutDown()
		if err := <-synced; err != nil {
			t.Error(err)
		}
	})
}

// TestStretch has no retry come much later than without slow motion.
func TestStretch(t *testing.T) {
	var p pace
	if got := p.stretch(time.Second); got != time.Second {
		t.Errorf("at full speed: %s", got)
	}
	p.set(slow, false)
	for delay, want := range map[time.Duration]time.Duration{
		5 * time.Millisecond: 500 * time.Millisecond, time.Second: stretchedTo, time.Minute: time.Minute,
	} {
		if got := p.stretch(delay); got != want {
			t.Errorf("%s becomes %s, want %s", delay, got, want)
		}
	}
}
