package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/querylang"
)

var duration = regexp.MustCompile(` in [0-9.]+(ns|µs|ms|s)`)

func TestAnswers(t *testing.T) {
	var out bytes.Buffer
	r := responder{out: program.NewPrinter(&out), pods: newCache(t, somePods...), limit: 2, requests: func() int { return 3 }}
	prompt := querylang.Prompt[query]{Language: language, Answer: r.answer, Out: r.out}
	if err := prompt.Run(t.Context(), strings.NewReader("node=n1\nimage=nginx\nnode=n1 nad\nlabel=none\n")); err != nil {
		t.Errorf("run: %v", err)
	}
	want := `QUERY      node=n1
POD        default/job
POD        default/web-1
FOUND      2 pod(s) by index in TIME; API requests: 0 for queries, 3 for the cache
QUERY      image=nginx
POD        default/web-1
POD        default/web-2
           and 2 more
FOUND      4 pod(s) by index in TIME; API requests: 0 for queries, 3 for the cache
QUERY      node=n1 nad
                   ^^^ expected "and" or "or"
QUERY      label=none
FOUND      0 pod(s) by scan in TIME; API requests: 0 for queries, 3 for the cache
`
	if diff := cmp.Diff(want, duration.ReplaceAllString(out.String(), " in TIME")); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

// TestRequestsAreCounted is about the count itself: a request that a query sends is counted.
func TestRequestsAreCounted(t *testing.T) {
	var out bytes.Buffer
	requests := 1
	r := responder{out: program.NewPrinter(&out), limit: 2, requests: func() int { return requests }}
	err := r.answer(query{list: func(podCache) (podSet, error) {
		requests++
		return nil, nil
	}})
	if err != nil || !strings.Contains(out.String(), "API requests: 1 for queries, 1 for the cache") {
		t.Errorf("printed %q and returned %v", &out, err)
	}
}
