// Package follow runs an answer that follows the pods of a scripted server, and compares what it reports with what happened.
package follow

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
)

// Answer reports events until ctx ends.
type Answer func(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error

// Run is an answer that runs.
type Run struct {
	*fakeserver.Server
	// Requested is called after the answer to a request has arrived, before the learner's code gets it.
	Requested func(request *http.Request)
	// Check is called while an Await waits. It can reject the answer.
	Check func()

	t       *grade.T
	cancel  context.CancelFunc
	ended   chan struct{}
	network sync.RWMutex // locked while requests are held back

	mu      sync.Mutex
	reports []string // not yet awaited
	err     error
}

// New starts a server for an answer that is started later. It is stopped when the grader returns.
func New(t *grade.T) *Run {
	return &Run{Server: fakeserver.Start(t), t: t, ended: make(chan struct{})}
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

// Client returns a client whose requests Hold holds back.
func (r *Run) Client() typedcorev1.PodInterface {
	config := r.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			r.network.RLock()
			//lint:ignore SA2001 it waits for the end of Hold
			r.network.RUnlock()
			response, err := next.RoundTrip(request)
			if r.Requested != nil {
				r.Requested(request)
			}
			return response, err
		})
	})
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		r.t.Fatal(err)
	}
	return client.Pods("default")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Start starts the answer.
func (r *Run) Start(answer Answer) {
	// At the deadline, it goes on: or what it does when ctx ends would be taken for what it did wrong.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	r.cancel = cancel
	pods := r.Client()
	go func() {
		defer close(r.ended)
		err := answer(ctx, pods, func(event, name string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.reports = append(r.reports, event+" "+name)
		})
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = err
	}()
}

// Hold holds back the requests that come after it, until release is called. So no list or watch begins meanwhile.
func (r *Run) Hold() (release func()) {
	r.network.Lock()
	return r.network.Unlock
}

// AwaitWatch waits until the answer has a watch open.
func (r *Run) AwaitWatch(look string) {
	r.t.Eventually("a watch that is open", look, func() (bool, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.Watches() == 0 && r.isEnded() {
			r.t.Reject("a watch that is open", r.returned(), look)
		}
		return r.Watches() > 0, "none"
	})
}

// Await waits for these reports, and rejects any other.
func (r *Run) Await(look string, want ...string) {
	r.t.Eventually(expected(want), look, func() (bool, string) {
		if r.Check != nil {
			r.Check()
		}
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
			r.t.Reject(expected(want), r.returned(), look)
		}
		return false, seen(r.reports)
	})
}

// AwaitAll is Await for reports in any order. It returns them in the order in which they came.
func (r *Run) AwaitAll(look string, want ...string) (got []string) {
	r.t.Eventually(expected(want), look, func() (bool, string) {
		if r.Check != nil {
			r.Check()
		}
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
			r.t.Reject(expected(want), r.returned(), look)
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

// AwaitReturn waits until the answer returns nil. It must have reported nothing more.
func (r *Run) AwaitReturn(doing, look string) {
	r.t.Doing("%s", doing)
	select {
	case <-r.ended:
	case <-r.t.Context().Done():
		r.t.Reject(doing, "it goes on", look)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.reports) > 0 {
		r.t.Reject("no report more", seen(r.reports), look)
	}
	if r.err != nil {
		r.t.Reject(doing+", without an error", r.returned(), look)
	}
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
