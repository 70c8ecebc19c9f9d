package exercise_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	exercise "example.com/client-go-workbook/01-listwatch/exercises/01-pages"
	answers "example.com/client-go-workbook/01-listwatch/exercises/answers/01-pages"
	"example.com/client-go-workbook/01-listwatch/exercises/internal/follow"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error)

var grader = grade.Exercise[answer]{
	Learner:  exercise.PodNames,
	Accepted: []answer{answers.PodNames, answers.LeavesThePagesToThePager},
	Rejected: []grade.Rejected[answer]{
		{Name: "asks for all at once", Answer: answers.AsksForAllAtOnce, Says: "a request without a limit"},
		{Name: "asks for the first page again", Answer: answers.AsksForTheFirstPageAgain, Says: "requests 1 and 2 ask for the same page"},
		{Name: "shadows the page", Answer: answers.ShadowsThePage, Says: "requests 2 and 3 ask for the same page"},
		{Name: "keeps the last page", Answer: answers.KeepsTheLastPage, Says: "names, the first is"},
		{Name: "stops at a short page", Answer: answers.StopsAtAShortPage, Says: "begin again"},
		{Name: "ignores the error of a page", Answer: answers.IgnoresTheErrorOfAPage, Says: "and no error"},
	},
	Grade: gradePodNames,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

func gradePodNames(t *grade.T, podNames answer) {
	run := follow.New(t)
	pageSize, pages := 2+t.Rand.IntN(4), 3+t.Rand.IntN(4)
	var want []string
	for number := range pageSize * pages { // the last page is full, too
		want = append(want, fmt.Sprintf("web-%03d-%d", number, t.Rand.IntN(1000)))
		run.Create(follow.Pod(want[number]))
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run.Requested = func(*http.Request) {
		if len(run.Requests("list")) > pages {
			cancel() // or the answer would go on for ever
		}
	}
	t.Doing("PodNames returns")
	names, err := podNames(ctx, run.Client(), int64(pageSize))
	lists := run.Requests("list")
	for _, list := range lists {
		switch limit := list.Query.Get("limit"); {
		case limit == "":
			t.Reject(fmt.Sprintf("pages of %d pods", pageSize), "a request without a limit", "Limit in metav1.ListOptions")
		case limit != fmt.Sprint(pageSize):
			t.Reject(fmt.Sprintf("pages of %d pods", pageSize), "a request with the limit "+limit, "Limit in metav1.ListOptions")
		}
	}
	if len(lists) > pages {
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
		t.Reject(fmt.Sprintf("the names of %d pods", len(want)), "the error "+err.Error(), "the options of the request that failed")
	}
	if !slices.Equal(names, want) {
		seen := fmt.Sprintf("%d names", len(names))
		if len(names) > 0 {
			seen += fmt.Sprintf(", the first is %s, the last is %s", names[0], names[len(names)-1])
		}
		t.Reject(fmt.Sprintf("%d names, in pages of %d: from %s to %s", len(want), pageSize, want[0], want[len(want)-1]),
			seen, "Continue in metav1.ListOptions, and page.Continue in an answer")
	}

	// The server forgets the state of the first page before it is asked for the second one.
	run = follow.New(t)
	for _, name := range want {
		run.Create(follow.Pod(name))
	}
	run.Requested = func(*http.Request) {
		if len(run.Requests("list")) == 1 {
			run.Create(follow.Pod("another"))
			run.Compact()
		}
	}
	names, err = podNames(t.Context(), run.Client(), int64(pageSize))
	if err == nil && len(names) < len(want) {
		t.Reject("an error, because the server answered 410 to the second page",
			fmt.Sprintf("%d names of %d, and no error", len(names), len(want)), "what your code does with err")
	}
}
