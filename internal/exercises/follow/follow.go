// Package follow runs an answer that follows the pods of a scripted server, and compares what it reports with what happened.
package follow

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testkit"
)

// Answer reports events until ctx ends.
type Answer = func(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error

// Run is an answer that runs. Its exported fields must not change while it does.
type Run struct {
	*fakeserver.Server
	// MaxLimit is how many objects a page of a list has at most: a server may send fewer than the limit. 0: as many as the limit.
	MaxLimit int
	// Deliver changes the body of each answer of the server.
	Deliver func(request *http.Request, body io.ReadCloser) io.ReadCloser
	// Check is called while an Await waits. It can reject the answer.
	Check func()

	t       *grade.T
	cancel  context.CancelFunc
	ended   chan struct{}
	network sync.RWMutex // locked while requests are held back

	unended atomic.Int64 // watches of Refuse that the answer has not ended

	mu      sync.Mutex
	after   func(request *http.Request) // what AfterRequest was told
	sent    int                         // how many requests
	foreign string                      // a request whose context is not made from the answer's
	refused map[string]error            // what Refuse was told
	reports []string                    // not yet awaited
	slow    time.Duration               // how long a report takes
	err     error
}

// New starts a server for an answer that is started later. It is stopped when the grader returns.
func New(t *grade.T) *Run {
	return &Run{Server: fakeserver.Start(t), t: t, ended: make(chan struct{}), refused: map[string]error{}}
}

// Pod returns a pod of the namespace that answers follow.
func Pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// Changed is [Pod] with something that differs each time.
func (r *Run) Changed(name string) *corev1.Pod {
	pod := Pod(name)
	pod.Labels = map[string]string{"version": fmt.Sprint(r.t.Rand.Uint64())}
	return pod
}

// Names returns that many names of pods, in the order of a list.
func (r *Run) Names(count int) []string {
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("web-%c%d", 'a'+i, 10+r.t.Rand.IntN(90)))
	}
	return names
}

// Client returns a client whose requests Hold holds back, and Refuse refuses.
func (r *Run) Client() typedcorev1.PodInterface {
	client, err := typedcorev1.NewForConfig(testkit.Intercept(r.Config(), r.send))
	if err != nil {
		r.t.Fatal(err)
	}
	return client.Pods("default")
}

func (r *Run) send(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	// The time of a bubble stands still while anybody works: without this, also while an answer asks again and again.
	time.Sleep(time.Millisecond)
	r.network.RLock()
	//lint:ignore SA2001 it waits for the end of Hold
	r.network.RUnlock()
	verb := verbOf(request)
	r.mu.Lock()
	r.sent++
	if request.Context().Value(contextKey{}) == nil {
		r.foreign = verb
	}
	refusal := r.refused[verb]
	r.mu.Unlock()
	if refusal != nil {
		return r.refuse(request, refusal)
	}
	if query := request.URL.Query(); verb == "list" && query.Has("limit") && r.MaxLimit > 0 {
		limit, _ := strconv.Atoi(query.Get("limit"))
		query.Set("limit", strconv.Itoa(min(limit, r.MaxLimit)))
		request = request.Clone(request.Context())
		request.URL.RawQuery = query.Encode()
	}
	response, err := next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusOK && r.Deliver != nil {
		response.Body = r.Deliver(request, response.Body)
	}
	r.mu.Lock()
	after := r.after
	r.mu.Unlock()
	if after != nil {
		after(request)
	}
	return response, err
}

// AfterRequest lets a function be called after the answer to each request has arrived, before the learner's code gets it. It can be
// called, with nil, too, while the answer runs.
func (r *Run) AfterRequest(after func(request *http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.after = after
}

// contextKey is the key of a value in the context that an answer gets.
type contextKey struct{}

// Context returns a context for an answer that the grader calls by itself. It ends when the time is over.
func (r *Run) Context() context.Context { return context.WithValue(r.t.Context(), contextKey{}, true) }

// CheckContext rejects an answer that has sent a request with a context that is not made from the one that it got.
func (r *Run) CheckContext() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.foreign != "" {
		r.t.Reject("each request has the ctx that your function gets", "the "+r.foreign+" request has another one",
			"the first argument of List and Watch")
	}
}

// Start starts the answer.
func (r *Run) Start(answer Answer) {
	// At the deadline, it goes on: or what it does when ctx ends would be taken for what it did wrong.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	r.cancel = cancel
	pods := r.Client()
	go func() {
		defer close(r.ended)
		err := answer(ctx, pods, func(event, name string) {
			r.mu.Lock()
			slow := r.slow
			r.mu.Unlock()
			time.Sleep(slow) // without the lock: the clock of a bubble stands still while somebody waits for one
			r.mu.Lock()
			defer r.mu.Unlock()
			r.reports = append(r.reports, event+" "+name)
		})
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = err
	}()
}

// ReportsTake lets each report take so long from now on.
func (r *Run) ReportsTake(slow time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow = slow
}

// Hold holds back the requests that come after it, until release is called. So no list or watch begins meanwhile.
func (r *Run) Hold() (release func()) {
	r.network.Lock()
	return r.network.Unlock
}

// AwaitWatch waits until the answer has a watch open.
func (r *Run) AwaitWatch(look string) {
	r.eventually("a watch that is open", look, func() (bool, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.Watches() == 0 && r.isEnded() {
			r.t.Reject("a watch that is open", r.returned(), r.lookReturned(look))
		}
		return r.Watches() > 0, "none"
	})
}

// Await waits for these reports, and rejects any other.
func (r *Run) Await(look string, want ...string) {
	r.eventually(expected(want), look, func() (bool, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i, got := range r.reports {
			if i == len(want) {
				break
			}
			if got != want[i] {
				r.t.Reject(expected(want), seen(r.reports[:i+1]), look)
			}
		}
		if len(r.reports) >= len(want) {
			r.reports = r.reports[len(want):]
			return true, ""
		}
		if r.isEnded() {
			r.t.Reject(expected(want), r.returned(), r.lookReturned(look))
		}
		return false, seen(r.reports)
	})
}

// AwaitAll is Await for reports in any order. It returns them in the order in which they came.
func (r *Run) AwaitAll(look string, want ...string) (got []string) {
	r.eventually(expected(want), look, func() (bool, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		missing := map[string]int{}
		for _, report := range want {
			missing[report]++
		}
		for i, report := range r.reports {
			if i == len(want) {
				break
			}
			if missing[report]--; missing[report] < 0 {
				r.t.Reject(expected(want), seen(r.reports[:i+1]), look)
			}
		}
		if len(r.reports) >= len(want) {
			got, r.reports = r.reports[:len(want)], r.reports[len(want):]
			return true, ""
		}
		if r.isEnded() {
			r.t.Reject(expected(want), r.returned(), r.lookReturned(look))
		}
		return false, seen(r.reports)
	})
	return got
}

// End ends ctx. The answer must return nil, and must have reported nothing more.
func (r *Run) End(look string) {
	r.cancel()
	r.AwaitReturn("return when ctx has ended", look)
}

// AwaitReturn waits until the answer returns nil. By then, it must have reported these last ones, and nothing more.
func (r *Run) AwaitReturn(doing, look string, last ...string) {
	r.awaitEnd(doing, look, last...)
	if r.err != nil {
		r.t.Reject(doing+", without an error", r.returned(), look)
	}
}

// AwaitError waits until the answer returns an error. It must have reported nothing more.
func (r *Run) AwaitError(doing, look string) {
	r.awaitEnd(doing, look)
	if r.err == nil {
		r.t.Reject(doing, r.returned(), look)
	}
}

// AwaitErrorOrPauses waits for an error, for a minute of a bubble. An answer that tries again instead must make pauses.
func (r *Run) AwaitErrorOrPauses(when, look string) (ended bool) {
	expected := when + ": return the error, or try again with pauses"
	before := r.requests()
	for range 60 {
		time.Sleep(time.Second)
		if r.isEnded() {
			r.AwaitError(expected, look)
			return true
		}
		if sent := r.requests() - before; sent > 200 {
			r.t.Reject(expected, fmt.Sprintf("it asks again and again: %d requests", sent), look)
		}
	}
	return false
}

func (r *Run) awaitEnd(doing, look string, last ...string) {
	r.eventually(doing, look, func() (bool, string) { return r.isEnded(), "it goes on" })
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(last) > 0 && !slices.Equal(r.reports, last) {
		r.t.Reject(expected(last)+" before your function returns", seen(r.reports), look)
	}
	if len(last) == 0 && len(r.reports) > 0 {
		r.t.Reject("no report more", seen(r.reports), look)
	}
}

// eventually checks until the result is ok. It rejects an answer that takes too long, or sends requests without end.
func (r *Run) eventually(doing, look string, check func() (ok bool, seen string)) {
	r.t.Doing("%s", doing)
	begin, late := time.Now(), time.After(10*time.Minute) // in a bubble, where t.Context does not end
	before := r.requests()
	for {
		r.CheckContext()
		if r.Check != nil {
			r.Check()
		}
		ok, seen := check()
		if ok {
			return
		}
		if sent := r.requests() - before; sent > 200 {
			r.t.Reject(doing, fmt.Sprintf("it asks again and again: %d requests", sent), look)
		}
		select {
		case <-time.After(5*time.Millisecond + time.Since(begin)/20): // seldom, if it takes minutes
			continue
		case <-late:
		case <-r.t.Context().Done():
		}
		r.t.Reject(doing, seen, look)
	}
}

// requests returns how many requests were sent, with those that were refused.
func (r *Run) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

func (r *Run) isEnded() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

func (r *Run) returned() string {
	if apierrors.IsResourceExpired(r.err) { // for apierrors.IsGone, this is another error
		return fmt.Sprintf("your function returned the error: %v; its reason is Expired", r.err)
	}
	if r.err != nil {
		return fmt.Sprintf("your function returned the error: %v", r.err)
	}
	return "your function returned nil"
}

// lookReturned is where to look when the answer has returned too early: at the error, or at the return.
func (r *Run) lookReturned(look string) string {
	if r.err != nil {
		return look
	}
	return "which return your function comes to, and why so early"
}

func expected(reports []string) string { return "the reports " + strings.Join(reports, ", ") }

func seen(reports []string) string {
	switch {
	case len(reports) == 0:
		return "none of them"
	case len(reports) > 8:
		return fmt.Sprintf("%s, and %d more", strings.Join(reports[:8], ", "), len(reports)-8)
	}
	return strings.Join(reports, ", ")
}
