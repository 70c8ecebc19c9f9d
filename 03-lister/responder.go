// responder.go: answering a query, and counting the requests that it took.
// Before: query.go. Next: mutate.go.

package main

import (
	"time"

	"example.com/client-go-workbook/internal/program"
)

// responder answers queries from the cache.
type responder struct {
	out      *program.Printer
	pods     podCache
	limit    int        // how many names to print of an answer
	requests func() int // the number of requests that the program has sent so far

	queryRequests int // how many of them were sent during queries
}

// answer prints what a query finds, and what it took.
func (r *responder) answer(q query) error {
	requests, start := r.requests(), time.Now()
	found, err := q.list(r.pods)
	took := time.Since(start)
	r.queryRequests += r.requests() - requests
	if err != nil {
		return err
	}
	names := found.names()
	for _, name := range names[:min(r.limit, len(names))] {
		r.out.Line("POD", "%s", name)
	}
	if more := len(names) - r.limit; more > 0 {
		r.out.Line("", "and %d more", more)
	}
	r.out.Line("FOUND", "%d pod(s) by %s in %s; API requests: %d for queries, %d for the cache",
		len(names), q.path, took, r.queryRequests, r.requests()-r.queryRequests)
	return nil
}
