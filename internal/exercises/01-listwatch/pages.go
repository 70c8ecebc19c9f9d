package listwatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/follow"
)

type pagesAnswer = func(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error)

// Pages grades the answers to "List with pages".
var Pages = grade.Exercise[pagesAnswer]{Grade: gradePages}

func gradePages(t *grade.T, podNames pagesAnswer) {
	pageSize, pages := 2+t.Rand.IntN(4), 3+t.Rand.IntN(4)
	gradeAllPages(t, podNames, pageSize, pages)
	gradeAllPages(t, podNames, 1, 101+t.Rand.IntN(30))
	gradeShortPages(t, podNames, pageSize, pages)
	gradeRefused(t, podNames, pageSize, pages, 1, follow.Forbidden)
	for _, refusal := range []error{follow.Forbidden, apierrors.NewNotFound(corev1.Resource("pods"), ""),
		apierrors.NewInternalError(errors.New("the grader refuses this request"))} {
		gradeRefused(t, podNames, pageSize, pages, 2+t.Rand.IntN(pages-1), refusal)
	}
	gradeExpired(t, podNames, pageSize, pages)
	gradeEnd(t, podNames, pageSize, pages, 0)
	gradeEnd(t, podNames, pageSize, pages, 1+t.Rand.IntN(pages-1))
}

// startWithPages starts a server that has pods for so many pages. The last page is full, too.
func startWithPages(t *grade.T, pageSize, pages int) (run *follow.Run, names []string) {
	run = follow.New(t)
	for number := range pageSize * pages {
		names = append(names, fmt.Sprintf("web-%03d-%d", number, t.Rand.IntN(1000)))
		run.Create(follow.Pod(names[number]))
	}
	return run, names
}

func gradeAllPages(t *grade.T, podNames pagesAnswer, pageSize, pages int) {
	run, want := startWithPages(t, pageSize, pages)
	ctx, cancel := context.WithCancel(run.Context())
	defer cancel()
	run.AfterRequest(func(*http.Request) {
		if len(run.Requests("list")) > pages {
			cancel() // or the answer would go on for ever
		}
	})
	t.Doing("PodNames returns")
	names, err := podNames(ctx, run.Client(), int64(pageSize))
	checkRequests(t, run, pageSize)
	if lists := run.Requests("list"); len(lists) > pages {
		for i := range len(lists) - 1 {
			if lists[i].Query.Get("continue") == lists[i+1].Query.Get("continue") {
				t.Reject(fmt.Sprintf("%d requests for %d pods, each for another page", pages, len(want)),
					fmt.Sprintf("requests %d and %d ask for the same page", i+1, i+2),
					"options.Continue before each request, and whether := in the loop declares another page")
			}
		}
		t.Reject(fmt.Sprintf("%d requests for %d pods, in pages of %d", pages, len(want), pageSize),
			"one request more: after the last page, the pages begin again",
			"what page.Continue is on the last page")
	}
	if err != nil {
		t.Reject(fmt.Sprintf("the names of %d pods", len(want)), "the error "+err.Error(),
			"the options of the request that failed")
	}
	slices.Sort(names) // the task asks for no order
	if !slices.Equal(names, want) {
		seen := fmt.Sprintf("%d names", len(names))
		if len(names) > 0 {
			seen += fmt.Sprintf(", the first is %s, the last is %s", names[0], names[len(names)-1])
		}
		t.Reject(fmt.Sprintf("%d names, in pages of %d: from %s to %s", len(want), pageSize, want[0], want[len(want)-1]),
			seen, "Continue in metav1.ListOptions, and page.Continue in an answer")
	}
}

// gradeShortPages sends a page with fewer pods and one with none. Both have a Continue, because other pages come after them.
// No page says how many pods remain: a server may leave that out.
func gradeShortPages(t *grade.T, podNames pagesAnswer, pageSize, pages int) {
	run, want := startWithPages(t, pageSize, pages)
	page := t.Rand.Perm(pages - 1)
	short, empty := page[0]*pageSize, page[1]*pageSize
	absent := slices.Concat(want[short+1:short+pageSize], want[empty:empty+pageSize])
	isAbsent := func(name string) bool { return slices.Contains(absent, name) }
	want = slices.DeleteFunc(want, isAbsent)
	run.Deliver = func(_ *http.Request, body io.ReadCloser) io.ReadCloser {
		defer body.Close()
		var list corev1.PodList
		if err := json.NewDecoder(body).Decode(&list); err != nil {
			panic(err)
		}
		list.RemainingItemCount = nil
		list.Items = slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return isAbsent(pod.Name) })
		text, err := json.Marshal(list)
		if err != nil {
			panic(err)
		}
		return io.NopCloser(bytes.NewReader(text))
	}
	names, err := podNames(run.Context(), run.Client(), int64(pageSize))
	slices.Sort(names)
	if err != nil || !slices.Equal(names, want) {
		t.Reject(fmt.Sprintf("%d names: two pages have fewer pods than %d, and a text in Continue", len(want), pageSize),
			fmt.Sprintf("%d names, and the error %v", len(names), err),
			"what alone says that a page is the last one: page.Continue")
	}
}

// gradeRefused lets the server refuse one of the pages.
func gradeRefused(t *grade.T, podNames pagesAnswer, pageSize, pages, page int, refusal error) {
	run, want := startWithPages(t, pageSize, pages)
	if page == 1 {
		run.Refuse("list", refusal)
	}
	run.AfterRequest(func(*http.Request) {
		if len(run.Requests("list")) == page-1 {
			run.Refuse("list", refusal)
		}
	})
	t.Doing("PodNames returns, when page %d of %d fails", page, pages)
	names, err := podNames(run.Context(), run.Client(), int64(pageSize))
	if err == nil {
		code := refusal.(apierrors.APIStatus).Status().Code
		t.Reject(fmt.Sprintf("an error, because the server answered %d to page %d of %d", code, page, pages),
			fmt.Sprintf("%d names of %d, and no error", len(names), len(want)), "what your code does with err")
	}
}

// gradeEnd ends ctx after so many pages: between two requests, and then during one.
func gradeEnd(t *grade.T, podNames pagesAnswer, pageSize, pages, after int) {
	for _, during := range []bool{false, true} {
		run, want := startWithPages(t, pageSize, pages)
		ctx, cancel := context.WithCancel(run.Context())
		defer cancel()
		var ended atomic.Int64
		end := func() {
			if len(run.Requests("list")) != after {
				return
			}
			if !during {
				cancel()
				return
			}
			run.Refuse("list", follow.ErrHangs)
			time.AfterFunc(10*time.Millisecond, func() {
				ended.Store(int64(t.Given()))
				cancel()
			})
		}
		end()
		run.AfterRequest(func(*http.Request) { end() })
		t.Doing("PodNames returns, when ctx ends after page %d of %d", after, pages)
		names, err := podNames(ctx, run.Client(), int64(pageSize))
		if err == nil {
			t.Reject(fmt.Sprintf("an error, because ctx has ended after page %d of %d", after, pages),
				fmt.Sprintf("%d names of %d, and no error", len(names), len(want)), "what your code returns when ctx has ended")
		}
		// On a busy machine, ctx can end late, shortly before a time limit of the answer's own.
		late := t.Given() - time.Duration(ended.Load())
		seen := fmt.Sprintf("it returned after %.0f seconds", late.Seconds())
		ownLimit := errors.Is(err, context.DeadlineExceeded) // ctx has none
		if ownLimit {
			seen = "it returned when another time limit was over"
		}
		if during && (late > 5*time.Second || ownLimit) {
			t.Reject("PodNames returns at once when ctx ends during a request", seen,
				"the context of the request: is it ended with ctx, or later?")
		}
	}
}

// gradeExpired lets the server forget the state of the first page before it is asked for the second one.
func gradeExpired(t *grade.T, podNames pagesAnswer, pageSize, pages int) {
	run, want := startWithPages(t, pageSize, pages)
	run.AfterRequest(func(*http.Request) {
		if len(run.Requests("list")) == 1 {
			run.Create(follow.Pod("another"))
			run.Compact()
		}
	})
	names, err := podNames(run.Context(), run.Client(), int64(pageSize))
	checkRequests(t, run, pageSize)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "another" })
	slices.Sort(names)
	if err == nil && !slices.Equal(names, want) { // or it has begun again, and has all
		t.Reject("an error, because the server answered 410 to the second page",
			fmt.Sprintf("%d names of %d, and no error", len(names), len(want)), "what your code does with err")
	}
}

// checkRequests looks at the limit and the context of each request.
func checkRequests(t *grade.T, run *follow.Run, pageSize int) {
	expected := fmt.Sprintf("pages of %d pods", pageSize)
	for _, list := range run.Requests("list") {
		switch limit := list.Query.Get("limit"); {
		case limit == "" && list.Query.Get("continue") != "":
			t.Reject(expected, "a request for all other pods, without a limit", "Limit in metav1.ListOptions")
		case limit == "" && len(run.Requests("list")) > 1:
			t.Reject(expected, "after 410, a request without a limit",
				"FullListIfExpired, if client-go's pager sends your requests")
		case limit == "":
			t.Reject(expected, "a request without a limit", "Limit in metav1.ListOptions")
		case limit != fmt.Sprint(pageSize):
			t.Reject(expected, "a request with the limit "+limit, "Limit in metav1.ListOptions")
		}
	}
	run.CheckContext()
}
